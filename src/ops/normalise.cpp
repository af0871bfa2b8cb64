#include "qw/ops/normalise.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <string>

#include "kernels/normalise.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/normalise_parts.h"
#include "ops/work.h"

namespace qw {
namespace ops {

using at::Tensor;

constexpr std::array<const char*, 3> kKinds{"symmetric", "rows", "softmax"};  // as Normalisation

Normalisation normalisation(const char* op, const std::string& kind) {
  return static_cast<Normalisation>(choice(op, "kind", kind, kKinds));
}

std::string name_of(Normalisation kind) { return choice_name(kKinds, static_cast<int64_t>(kind)); }

namespace {

using kernels::CsrView;

void check_like(const char* op, const char* name, const Tensor& tensor, int64_t size, const Tensor& values) {
  TORCH_CHECK(tensor.dim() == 1 && tensor.size(0) == size && tensor.scalar_type() == values.scalar_type() &&
                  tensor.device() == values.device(),
              op, ": ", name, " must be [", size, "] of ", values.scalar_type(), " on ", values.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

// `name` is what the operator calls the values.
void check_normalise(const char* op, const SparsePattern& pattern, const char* name, const Tensor& values) {
  check_square_pattern(op, pattern, values);
  const int64_t entries = pattern.columns.size(0);
  TORCH_CHECK(pattern.order.size(0) == entries || pattern.order.size(0) == 0, op,
              ": order must have an entry for each of ", entries, " entries, or none, got ",
              pattern.order.size(0));
  TORCH_CHECK(values.dim() == 1 && values.size(0) == entries &&
                  (values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble),
              op, ": ", name, " must be [", entries, "] of float32 or float64, got ", values.sizes(), " of ",
              values.scalar_type());
  check_pattern_entries(op, pattern);
}

void check_normalise_backward(const SparsePattern& pattern, const Tensor& normalised, const Tensor& scales,
                              const Tensor& gradient, Normalisation kind) {
  constexpr const char* kOp = "qw::_normalise_backward";
  check_normalise(kOp, pattern, "normalised", normalised);
  check_like(kOp, "scales", scales, kind == Normalisation::kSoftmax ? 0 : pattern.offsets.size(0) - 1,
             normalised);
  check_like(kOp, "gradient", gradient, pattern.columns.size(0), normalised);
  TORCH_CHECK(kind != Normalisation::kSymmetric || pattern.order.size(0) == pattern.columns.size(0),
              "qw::normalise: the gradient of the symmetric kind needs the pattern's order, which "
              "SparsePattern::symmetric does not have");
}

template <class T>
CsrView<T> matrix_of(const Tensor& offsets, const Tensor& columns, const Tensor& values) {
  return {offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(), values.data_ptr<T>(), nullptr,
          offsets.size(0) - 1};
}

// The normalised values, and by kind: symmetric, [N] 1 / sqrt(d); rows, [N] 1 / d; softmax, [0]. A d that
// counts as 0 has the scale 0.
std::tuple<Tensor, Tensor> normalise_forward_backend(at::TensorList pattern_tensors, const Tensor& values,
                                                     std::string kind_name) {
  const Normalisation kind = normalisation("qw::normalise", kind_name);
  const SparsePattern pattern = pattern_of(pattern_tensors);
  check_normalise("qw::normalise", pattern, "values", values);
  const Tensor &offsets = pattern.offsets, &columns = pattern.columns;
  const Tensor given = values.contiguous();
  const int64_t entries = given.size(0);
  Tensor result = at::empty({entries}, given.options());
  record_work(3 * entries, offsets, columns, given, result);
  Tensor scales = at::empty({kind == Normalisation::kSoftmax ? 0 : offsets.size(0) - 1}, given.options());
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "qw::_normalise_forward", [&] {
    const CsrView<scalar_t> matrix = matrix_of<scalar_t>(offsets, columns, given);
    scalar_t* scale = scales.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    switch (kind) {
      case Normalisation::kSymmetric:
        return run_on(
            given, [&] { kernels::normalise_symmetric_cpu(matrix, scale, to); },
            [&](auto stream) { kernels::normalise_symmetric_cuda(matrix, entries, scale, to, stream); });
      case Normalisation::kRows:
        return run_on(
            given, [&] { kernels::normalise_rows_cpu(matrix, scale, to); },
            [&](auto stream) { kernels::normalise_rows_cuda(matrix, entries, scale, to, stream); });
      case Normalisation::kSoftmax:
        return run_on(
            given, [&] { kernels::normalise_softmax_cpu(matrix, to); },
            [&](auto stream) { kernels::normalise_softmax_cuda(matrix, entries, to, stream); });
    }
  });
  return {result, scales};
}

Tensor normalise_backward_backend(at::TensorList pattern_tensors, const Tensor& normalised,
                                  const Tensor& scales, const Tensor& gradient, std::string kind_name) {
  const Normalisation kind = normalisation("qw::_normalise_backward", kind_name);
  const SparsePattern pattern = pattern_of(pattern_tensors);
  check_normalise_backward(pattern, normalised, scales, gradient, kind);
  const Tensor &offsets = pattern.offsets, &columns = pattern.columns;
  const Tensor forward_result = normalised.contiguous();
  const Tensor forward_scales = scales.contiguous();
  const Tensor incoming = gradient.contiguous();
  const int64_t entries = incoming.size(0);
  Tensor result = at::empty({entries}, incoming.options());
  record_work(6 * entries, offsets, columns, incoming, result);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::_normalise_backward", [&] {
    const CsrView<scalar_t> matrix = matrix_of<scalar_t>(offsets, columns, forward_result);
    const scalar_t* scale = forward_scales.data_ptr<scalar_t>();
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    switch (kind) {
      case Normalisation::kSymmetric: {
        const Tensor sums_gradient = at::empty({offsets.size(0) - 1}, incoming.options());
        scalar_t* sums = sums_gradient.data_ptr<scalar_t>();
        const kernels::ColumnsView by_column{pattern.transposed_offsets.data_ptr<int64_t>(),
                                             pattern.order.data_ptr<int64_t>()};
        return run_on(
            incoming,
            [&] { kernels::normalise_symmetric_backward_cpu(matrix, by_column, scale, from, sums, to); },
            [&](auto stream) {
              kernels::normalise_symmetric_backward_cuda(matrix, entries, by_column, scale, from, sums, to,
                                                         stream);
            });
      }
      case Normalisation::kRows:
        return run_on(
            incoming, [&] { kernels::normalise_rows_backward_cpu(matrix, scale, from, to); },
            [&](auto stream) {
              kernels::normalise_rows_backward_cuda(matrix, entries, scale, from, to, stream);
            });
      case Normalisation::kSoftmax:
        return run_on(
            incoming, [&] { kernels::normalise_softmax_backward_cpu(matrix, from, to); },
            [&](auto stream) {
              kernels::normalise_softmax_backward_cuda(matrix, entries, from, to, stream);
            });
    }
  });
  return result;
}

std::tuple<Tensor, Tensor> normalise_forward_meta(at::TensorList pattern, const Tensor& values,
                                                  std::string kind) {
  const Tensor& offsets = pattern_of(pattern).offsets;
  if (have_numbers(pattern, values)) check_normalise("qw::normalise", pattern_of(pattern), "values", values);
  return {at::empty_symint(values.sym_sizes(), values.options()),
          normalisation("qw::normalise", kind) == Normalisation::kSoftmax
              ? at::empty({0}, values.options())
              : at::empty_symint({offsets.sym_size(0) - 1}, values.options())};
}

Tensor normalise_backward_meta(at::TensorList, const Tensor&, const Tensor&, const Tensor& gradient,
                               std::string) {
  return at::empty_symint(gradient.sym_sizes(), gradient.options());
}

std::tuple<Tensor, Tensor> normalise_forward(at::TensorList pattern, const Tensor& values,
                                             const std::string& kind) {
  return call_without_gradient<normalise_forward_backend>("qw::_normalise_forward", pattern, values, kind);
}

Tensor normalise_backend(at::TensorList pattern, const Tensor& values, std::string kind) {
  return std::get<0>(normalise_forward(pattern, values, kind));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Values v on a fixed pattern, d_i the sum of row i, a the normalised values, G = dL/da. For an entry at (i,
// j):
//   symmetric  s = d^-1/2, a_ij = v_ij s_i s_j. With ds_i/dd_i = -1/2 s_i / d_i, and d_i in all of row and
//              column i,
//                dL/dd_i  = -1/2 s_i^2 (sum_k G_ik a_ik + sum_k G_ki a_ki)
//                dL/dv_ij = G_ij s_i s_j + dL/dd_i
//   rows       a_ij = v_ij / d_i:                dL/dv_ij = (G_ij - sum_k G_ik a_ik) / d_i
//   softmax    da_ik/dv_ij = a_ik ([j = k] - a_ij):  dL/dv_ij = a_ij (G_ij - sum_k G_ik a_ik)
// The values themselves are in none of these; the result is kept, which the product that follows keeps too.
// The backward pass is not differentiable again.
class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern, const at::Tensor& values,
                            const std::string& kind) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [result, scales] = normalise_forward(tensors_of(pattern), values, kind);
    context->saved_data["kind"] = kind;
    context->save_for_backward({pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                pattern.transposed_columns, pattern.order, result, scales});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::normalise: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor values_gradient = call_without_gradient<normalise_backward_backend>(
        "qw::_normalise_backward", at::TensorList(saved).slice(0, 5), saved[5], saved[6], gradients[0],
        context->saved_data["kind"].toStringRef());
    return {at::Tensor(), values_gradient, at::Tensor()};
  }
};

at::Tensor normalise_autograd(at::TensorList pattern, const at::Tensor& values, std::string kind) {
  return Normalise::apply(pattern_of(pattern), values, kind);
}

}  // namespace

Tensor row_sums(const Tensor& offsets, const Tensor& values) {
  Tensor sums = at::empty({offsets.size(0) - 1}, values.options());
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "qw::row_sums", [&] {
    const CsrView<scalar_t> rows{offsets.data_ptr<int64_t>(), nullptr, values.data_ptr<scalar_t>(), nullptr,
                                 sums.size(0)};
    kernels::row_sums_cpu(rows, sums.data_ptr<scalar_t>());
  });
  return sums;
}

Tensor normalise_backward(const SparsePattern& pattern, const Tensor& normalised, const Tensor& scales,
                          const Tensor& gradient, Normalisation kind) {
  return call_without_gradient<normalise_backward_backend>("qw::_normalise_backward", tensors_of(pattern),
                                                           normalised, scales, gradient, name_of(kind));
}

QW_BACKENDS(library) {
  library.impl("_normalise_forward", normalise_forward_backend);
  library.impl("_normalise_backward", normalise_backward_backend);
}

QW_META(library) {
  library.impl("_normalise_forward", normalise_forward_meta);
  library.impl("_normalise_backward", normalise_backward_meta);
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) { library.impl("normalise", normalise_backend); }

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("normalise", normalise_autograd); }

QW_NO_GRADIENT("_normalise_forward", "_normalise_backward")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("normalise(Tensor[] pattern, Tensor values, str kind='symmetric') -> Tensor");
  library.def("_normalise_forward(Tensor[] pattern, Tensor values, str kind) -> (Tensor, Tensor)");
  library.def(
      "_normalise_backward(Tensor[] pattern, Tensor normalised, Tensor scales, Tensor gradient, str kind) "
      "-> Tensor");
}

}  // namespace ops

at::Tensor normalise(const SparsePattern& pattern, const at::Tensor& values, Normalisation kind) {
  return ops::call<ops::normalise_backend>("qw::normalise", ops::tensors_of(pattern), values,
                                           ops::name_of(kind));
}

}  // namespace qw
