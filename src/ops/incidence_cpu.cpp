#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/incidence.h"
#include "ops/counted.h"
#include "ops/incidence_checks.h"

namespace qw::ops {
namespace {

void incidence_into_cpu(const at::Tensor& result, const at::Tensor& flow, const at::Tensor& heads,
                        const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence_into(result, flow, heads, tails, offsets, arcs);
  const at::Tensor rows = flow.contiguous();
  count(arcs.numel() * rows.size(1), offsets, arcs, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence", [&] {
    kernels::incidence_cpu(rows.data_ptr<scalar_t>(), rows.size(1), offsets.data_ptr<int64_t>(),
                           arcs.data_ptr<int64_t>(), offsets.size(0) - 1, result.data_ptr<scalar_t>());
  });
}

at::Tensor incidence_cpu(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                         const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence(flow, heads, tails, offsets, arcs);
  at::Tensor result = at::empty({offsets.size(0) - 1, flow.size(1)}, flow.options());
  incidence_into_cpu(result, flow, heads, tails, offsets, arcs);
  return result;
}

at::Tensor incidence_transpose_cpu(const at::Tensor& potential, const at::Tensor& heads,
                                   const at::Tensor& tails, const at::Tensor& offsets,
                                   const at::Tensor& arcs) {
  check_incidence_transpose(potential, heads, tails, offsets, arcs);
  const at::Tensor rows = potential.contiguous();
  const int64_t edges = heads.size(0);
  at::Tensor result = at::empty({edges, rows.size(1)}, rows.options());
  count(edges * rows.size(1), heads, tails, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence_transpose", [&] {
    kernels::incidence_transpose_cpu(rows.data_ptr<scalar_t>(), rows.size(1), heads.data_ptr<int32_t>(),
                                     tails.data_ptr<int32_t>(), edges, result.data_ptr<scalar_t>());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) {
  library.impl("incidence", incidence_cpu);
  library.impl("incidence_into_", incidence_into_cpu);
  library.impl("incidence_transpose", incidence_transpose_cpu);
}

}  // namespace qw::ops
