#include "ops/part_products.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <utility>

#include "kernels/combination.h"
#include "kernels/spmm.h"
#include "ops/backend.h"
#include "ops/spmm_parts.h"
#include "ops/work.h"
#include "qw/ops/feature_norm.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_part(const char* op, const SparsePattern& pattern, const Tensor& values, const Tensor& own) {
  TORCH_CHECK(!values.requires_grad(), op, ": values beside those of a transpose are constants");
  TORCH_CHECK(own.dim() == 2, op, ": own rows must be [R, C], got ", own.sizes());
  const int64_t rows = pattern.offsets.size(0) - 1;
  TORCH_CHECK(own.size(0) == rows && pattern.transposed_offsets.size(0) == rows + 1, op, ": the part has ",
              rows, " rows, its transpose ", pattern.transposed_offsets.size(0) - 1, ", and ", own.size(0),
              " were given");
  TORCH_CHECK(pattern.transposed_values.dim() == 1 &&
                  pattern.transposed_values.size(0) == pattern.transposed_columns.size(0),
              op, ": every entry of the transpose needs a value");
}

// One of the two matrices of a part.
struct PartMatrix {
  Tensor offsets, columns, values;
};
PartMatrix matrix_of(const SparsePattern& pattern, const Tensor& values) {
  return {pattern.offsets, pattern.columns, values};
}
PartMatrix transpose_of(const SparsePattern& pattern) {
  return {pattern.transposed_offsets, pattern.transposed_columns, pattern.transposed_values};
}

// What a backward pass needs of a forward one, as autograd keeps it.
struct Kept : torch::CustomClassHolder {
  Kept(SparsePattern of, bool adds) : pattern(std::move(of)), adds_dense(adds) {}

  SparsePattern pattern;
  bool adds_dense;
};

void keep(AutogradContext* context, const SparsePattern& pattern, bool adds_dense = false) {
  context->saved_data["kept"] = c10::IValue::make_capsule(c10::make_intrusive<Kept>(pattern, adds_dense));
}

c10::intrusive_ptr<Kept> kept_of(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
}

// Y = A X + B: dL/dX = A^T G, own rows of a product too, which needs rows of G of others; dL/dB = G.
class PartProduct : public torch::autograd::Function<PartProduct> {
 public:
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& values,
                        const Tensor& dense, const OptionalTensor& optional_addend) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor addend = optional_addend.value_or(Tensor());
    const bool adds_dense = addend.defined() && addend.is_same(dense);
    keep(context, pattern, adds_dense);
    context->saved_data["dense_needs_gradient"] = dense.requires_grad();
    context->saved_data["addend_needs_gradient"] = !adds_dense && addend.defined() && addend.requires_grad();
    return csr_matmul(pattern.offsets, pattern.columns, at::empty({0}, pattern.offsets.options()), values,
                      pattern.others->beside(dense), addend);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const c10::intrusive_ptr<Kept> kept = kept_of(context);
    Tensor dense_gradient;
    if (context->saved_data["dense_needs_gradient"].toBool()) {
      const PartMatrix transposed = transpose_of(kept->pattern);
      dense_gradient =
          csr_matmul(transposed.offsets, transposed.columns, at::empty({0}, transposed.offsets.options()),
                     transposed.values, kept->pattern.others->beside(gradients[0]),
                     kept->adds_dense ? gradients[0] : Tensor());
    }
    return {Tensor(), Tensor(), dense_gradient,
            context->saved_data["addend_needs_gradient"].toBool() ? gradients[0] : Tensor()};
  }
};

// result = update(matrix * what `others` make of `own`).
template <class T>
void propagate(const RowExchange& others, const PartMatrix& matrix, const Tensor& own, const Tensor& result,
               const kernels::Update<T>& update) {
  const Tensor rows = others.beside(own);
  const kernels::CsrView<T> view{matrix.offsets.data_ptr<int64_t>(), matrix.columns.data_ptr<int32_t>(),
                                 matrix.values.data_ptr<T>(), nullptr, matrix.offsets.size(0) - 1};
  record_work(2 * (matrix.columns.numel() + own.size(0)) * own.size(1), matrix.columns, matrix.values, rows,
              result);
  kernels::spmm_cpu(view, {rows.data_ptr<T>(), rows.size(0), rows.size(1)}, result.data_ptr<T>(), update);
}

// The recurrences of chebyshev_filter.cpp, which see it for their derivation.
template <class T>
Tensor filter_terms(const SparsePattern& pattern, const Tensor& values, const Tensor& coefficients,
                    const Tensor& x, const Tensor& terms) {
  const PartMatrix matrix = matrix_of(pattern, values);
  terms[0].copy_(x);
  for (int64_t k = 1; k < terms.size(0); ++k) {
    kernels::Update<T> update;
    if (k > 1) update = {2, terms[k - 2].data_ptr<T>(), -1};
    propagate<T>(*pattern.others, matrix, terms[k - 1], terms[k], update);
  }
  Tensor result = at::empty(x.sizes(), x.options());
  kernels::linear_combination_cpu(terms.data_ptr<T>(), coefficients.data_ptr<T>(), terms.size(0), x.numel(),
                                  result.data_ptr<T>());
  return result;
}

template <class T>
Tensor filter_adjoint(const SparsePattern& pattern, const Tensor& coefficients, const Tensor& gradient) {
  const PartMatrix transposed = transpose_of(pattern);
  const auto* weight = coefficients.data_ptr<T>();
  const int64_t last = coefficients.size(0) - 1;
  std::array<Tensor, 3> adjoints;
  for (Tensor& each : adjoints) each = at::empty_like(gradient);
  kernels::linear_combination_cpu(gradient.data_ptr<T>(), weight + last, 1, gradient.numel(),
                                  adjoints[last % 3].data_ptr<T>());
  for (int64_t k = last - 1; k >= 0; --k) {
    kernels::Update<T> update{static_cast<T>(k == 0 ? 1 : 2), gradient.data_ptr<T>(), weight[k]};
    if (k + 2 <= last) {
      update.second = adjoints[(k + 2) % 3].data_ptr<T>();
      update.second_scale = -1;
    }
    propagate<T>(*pattern.others, transposed, adjoints[(k + 1) % 3], adjoints[k % 3], update);
  }
  return adjoints[0];
}

class PartFilter : public torch::autograd::Function<PartFilter> {
 public:
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& values,
                        const Tensor& given_coefficients, const Tensor& x) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor coefficients = given_coefficients.contiguous();
    const Tensor terms = at::empty({coefficients.size(0), x.size(0), x.size(1)}, x.options());
    Tensor result;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "qw::chebyshev_filter", [&] {
      result = filter_terms<scalar_t>(pattern, values, coefficients, x, terms);
    });
    keep(context, pattern);
    const bool needed = given_coefficients.requires_grad() || x.requires_grad();
    context->save_for_backward({coefficients, needed ? terms : Tensor()});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::intrusive_ptr<Kept> kept = kept_of(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor coefficients = saved[0].detach(), incoming = gradients[0].contiguous();
    const Tensor& terms = saved[1];
    Tensor for_coefficients = at::empty({coefficients.size(0)}, incoming.options()), for_x;
    AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::chebyshev_filter", [&] {
      for_x = filter_adjoint<scalar_t>(kept->pattern, coefficients, incoming);
      kernels::dot_products_cpu(terms.data_ptr<scalar_t>(), incoming.data_ptr<scalar_t>(),
                                coefficients.size(0), incoming.numel(),
                                for_coefficients.data_ptr<scalar_t>());
    });
    return {Tensor(), Tensor(), for_coefficients, for_x};
  }
};

// Rows of others beside own ones, whose gradients go back to their owners.
class Fetch : public torch::autograd::Function<Fetch> {
 public:
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& own) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    keep(context, pattern);
    return pattern.others->beside(own);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {Tensor(), kept_of(context)->pattern.others->added_back(gradients[0].contiguous())};
  }
};

// Numbers of all parts added; so are their gradients.
class Total : public torch::autograd::Function<Total> {
 public:
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& mine) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    keep(context, pattern);
    return pattern.others->total(mine);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {Tensor(), kept_of(context)->pattern.others->total(gradients[0])};
  }
};

bool has_constant_values(const SparsePattern& pattern) { return pattern.transposed_values.defined(); }

// The square matrix that the part has by itself.
SparsePattern alone(const SparsePattern& pattern) {
  SparsePattern square = pattern;
  square.others = nullptr;
  return square;
}

Tensor learned_product(const SparsePattern& pattern, const Tensor& values, const Tensor& own) {
  return spmm(alone(pattern), values, Fetch::apply(pattern, own)).narrow(0, 0, own.size(0));
}

// The filter, product by product.
Tensor filter_by_products(const SparsePattern& pattern, const Tensor& values, const Tensor& coefficients,
                          const Tensor& x) {
  Tensor before, term = x, result = coefficients[0] * x;
  for (int64_t k = 1; k < coefficients.size(0); ++k) {
    Tensor next = part_product(pattern, values, term, Tensor());
    if (k > 1) next = 2 * next - before;
    result = result + coefficients[k] * next;
    before = std::exchange(term, next);
  }
  return result;
}

}  // namespace

Tensor beside(const SparsePattern& pattern, const Tensor& own) { return Fetch::apply(pattern, own); }

Tensor part_product(const SparsePattern& pattern, const Tensor& values, const Tensor& dense,
                    const Tensor& addend) {
  if (!has_constant_values(pattern)) {
    const Tensor product = learned_product(pattern, values, dense);
    return addend.defined() ? product + addend : product;
  }
  check_part("qw::spmm", pattern, values, dense);
  return PartProduct::apply(pattern, values, dense, or_none(addend));
}

Tensor part_filter(const SparsePattern& pattern, const Tensor& values, const Tensor& coefficients,
                   const Tensor& x) {
  if (!has_constant_values(pattern)) return filter_by_products(pattern, values, coefficients, x);
  check_part("qw::chebyshev_filter", pattern, values, x);
  if (!x.device().is_cpu()) return filter_by_products(pattern, values, coefficients, x);
  return PartFilter::apply(pattern, values, coefficients, x);
}

Tensor part_attention(const SparsePattern& pattern, const Tensor& features, const Tensor& attention_source,
                      const Tensor& attention_target, const Tensor& edge_weights,
                      const GraphAttentionOptions& options) {
  return graph_attention(alone(pattern), Fetch::apply(pattern, features), attention_source, attention_target,
                         edge_weights, options)
      .narrow(0, 0, features.size(0));
}

}  // namespace ops

// In float64, as batch_norm() adds.
at::Tensor batch_norm_of_parts(const std::shared_ptr<const RowExchange>& others, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& running_mean, const at::Tensor& running_var) {
  constexpr double kMomentum = 0.1, kEps = 1e-5;
  SparsePattern all;
  all.others = others;
  const at::Tensor own_rows = at::full({1}, static_cast<double>(x.size(0)), at::kDouble);
  const auto rows = others->total(own_rows).item<double>();
  TORCH_CHECK(rows >= 2, "qw::batch_norm: x must have two rows at least in training, got ", rows);
  const at::Tensor numbers = x.to(at::kDouble);
  const at::Tensor mean = ops::Total::apply(all, numbers.sum(0)) / rows;
  const at::Tensor centred = numbers - mean;
  const at::Tensor variance = ops::Total::apply(all, (centred * centred).sum(0)) / rows;
  running_mean.mul_(1 - kMomentum).add_(mean.detach(), kMomentum);
  running_var.mul_(1 - kMomentum).add_(variance.detach(), kMomentum * rows / (rows - 1));
  return (centred / at::sqrt(variance + kEps)).to(x.scalar_type()) * weight + bias;
}

}  // namespace qw
