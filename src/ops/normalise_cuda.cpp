#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/normalise.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/normalise_parts.h"

namespace qw::ops {
namespace {

using at::Tensor;
using kernels::CsrView;

template <class T>
CsrView<T> view(const Tensor& offsets, const Tensor& columns, const Tensor& values) {
  return {offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(), values.data_ptr<T>(), nullptr,
          offsets.size(0) - 1};
}

std::tuple<Tensor, Tensor> forward_cuda(const Tensor& offsets, const Tensor& columns,
                                        const Tensor& transposed_offsets, const Tensor& transposed_columns,
                                        const Tensor& order, const Tensor& values, int64_t kind_number) {
  const Normalisation kind = checked_normalisation("qw::normalise_forward", kind_number);
  check_normalise("qw::normalise_forward", {offsets, columns, transposed_offsets, transposed_columns, order},
                  "values", values);
  const c10::DeviceGuard device(values.device());
  const Tensor given = values.contiguous();
  const int64_t entries = given.size(0);
  Tensor result = at::empty({entries}, given.options());
  count(3 * entries, offsets, columns, given, result);
  Tensor scales = at::empty({kind == Normalisation::kSoftmax ? 0 : offsets.size(0) - 1}, given.options());
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "qw::normalise_forward", [&] {
    const CsrView<scalar_t> matrix = view<scalar_t>(offsets, columns, given);
    auto* scale = scales.data_ptr<scalar_t>();
    auto* to = result.data_ptr<scalar_t>();
    switch (kind) {
      case Normalisation::kSymmetric:
        return kernels::normalise_symmetric_cuda(matrix, entries, scale, to, current_stream());
      case Normalisation::kRows:
        return kernels::normalise_rows_cuda(matrix, entries, scale, to, current_stream());
      case Normalisation::kSoftmax:
        return kernels::normalise_softmax_cuda(matrix, entries, to, current_stream());
    }
  });
  return {result, scales};
}

Tensor backward_cuda(const Tensor& offsets, const Tensor& columns, const Tensor& transposed_offsets,
                     const Tensor& transposed_columns, const Tensor& order, const Tensor& normalised,
                     const Tensor& scales, const Tensor& gradient, int64_t kind_number) {
  const Normalisation kind = checked_normalisation("qw::normalise_backward", kind_number);
  check_normalise_backward({offsets, columns, transposed_offsets, transposed_columns, order}, normalised,
                           scales, gradient, kind);
  const c10::DeviceGuard device(gradient.device());
  const Tensor forward_result = normalised.contiguous();
  const Tensor forward_scales = scales.contiguous();
  const Tensor incoming = gradient.contiguous();
  const int64_t entries = incoming.size(0);
  Tensor result = at::empty({entries}, incoming.options());
  count(6 * entries, offsets, columns, incoming, result);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::normalise_backward", [&] {
    const CsrView<scalar_t> matrix = view<scalar_t>(offsets, columns, forward_result);
    const auto* scale = forward_scales.data_ptr<scalar_t>();
    const auto* from = incoming.data_ptr<scalar_t>();
    auto* to = result.data_ptr<scalar_t>();
    switch (kind) {
      case Normalisation::kSymmetric: {
        const Tensor sums_gradient = at::empty({offsets.size(0) - 1}, incoming.options());
        return kernels::normalise_symmetric_backward_cuda(
            matrix, entries, {transposed_offsets.data_ptr<int64_t>(), order.data_ptr<int64_t>()}, scale, from,
            sums_gradient.data_ptr<scalar_t>(), to, current_stream());
      }
      case Normalisation::kRows:
        return kernels::normalise_rows_backward_cuda(matrix, entries, scale, from, to, current_stream());
      case Normalisation::kSoftmax:
        return kernels::normalise_softmax_backward_cuda(matrix, entries, from, to, current_stream());
    }
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("normalise_forward", forward_cuda);
  library.impl("normalise_backward", backward_cuda);
}

}  // namespace qw::ops
