#include "qw/ops/chebyshev_filter.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/combination.h"
#include "kernels/spmm.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/part_products.h"
#include "ops/spmm_parts.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;
using kernels::CsrView;
using kernels::DeviceUpdate;
using kernels::Update;

void check_chebyshev_filter(const SparsePattern& pattern, const Tensor& values, const Tensor& coefficients,
                            const Tensor& x) {
  constexpr const char* kOp = "qw::chebyshev_filter";
  check_spmm(pattern, values, x);
  TORCH_CHECK(pattern.offsets.size(0) == pattern.transposed_offsets.size(0), kOp,
              ": the matrix must be square, got ", pattern.offsets.size(0) - 1, " rows and ",
              pattern.transposed_offsets.size(0) - 1, " columns");
  TORCH_CHECK(coefficients.dim() == 1 && coefficients.size(0) >= 1 &&
                  coefficients.scalar_type() == x.scalar_type() && coefficients.device() == x.device(),
              kOp, ": coefficients must be [K + 1] of ", x.scalar_type(), " on ", x.device(), ", got ",
              coefficients.sizes(), " of ", coefficients.scalar_type(), " on ", coefficients.device());
}

void check_terms(const Tensor& terms, const Tensor& coefficients, const Tensor& gradient) {
  const std::array<int64_t, 3> shape{coefficients.size(0), gradient.size(0), gradient.size(1)};
  TORCH_CHECK(terms.sizes() == at::IntArrayRef(shape) && terms.is_contiguous() &&
                  terms.scalar_type() == gradient.scalar_type() && terms.device() == gradient.device(),
              "qw::_chebyshev_backward: terms must be contiguous ", at::IntArrayRef(shape), " of ",
              gradient.scalar_type(), " on ", gradient.device(), ", got ", terms.sizes(), " of ",
              terms.scalar_type(), " on ", terms.device());
}

template <class T>
CsrView<T> matrix_of(const SparsePattern& pattern, const Tensor& values) {
  return {pattern.offsets.data_ptr<int64_t>(), pattern.columns.data_ptr<int32_t>(), values.data_ptr<T>(),
          nullptr, pattern.offsets.size(0) - 1};
}

template <class T>
CsrView<T> transpose_of(const SparsePattern& pattern, const Tensor& values) {
  return {pattern.transposed_offsets.data_ptr<int64_t>(), pattern.transposed_columns.data_ptr<int32_t>(),
          values.data_ptr<T>(), data_or_null<int64_t>(pattern.order), pattern.transposed_offsets.size(0) - 1};
}

void count_forward(const Tensor& columns, const Tensor& entries, const Tensor& x, const Tensor& terms,
                   const Tensor& result) {
  const int64_t width = x.size(1);
  for (int64_t k = 1; k < terms.size(0); ++k) {
    if (on_gpu(x)) {
      record_work(2 * (columns.numel() + 2 * x.size(0)) * width, columns, entries, x, x, result, result);
    } else {
      record_work(2 * (columns.numel() + x.size(0)) * width, columns, entries, x, x);
    }
  }
  if (!on_gpu(x)) record_work(2 * terms.numel(), terms, result);
}

template <class T>
void forward_on_cpu(const CsrView<T>& matrix, const Tensor& coefficients, const Tensor& x,
                    const Tensor& terms, T* result) {
  terms[0].copy_(x);
  auto* term = terms.data_ptr<T>();
  const int64_t size = x.numel();
  for (int64_t k = 1; k < terms.size(0); ++k) {
    Update<T> update;
    if (k > 1) update = {2, term + (k - 2) * size, -1};
    kernels::spmm_cpu(matrix, {term + (k - 1) * size, x.size(0), x.size(1)}, term + k * size, update);
  }
  kernels::linear_combination_cpu(term, coefficients.data_ptr<T>(), terms.size(0), size, result);
}

// A launch per propagation, which also adds its term to the result.
template <class T>
void forward_on_gpu(const CsrView<T>& matrix, int64_t entries, const Tensor& coefficients, const Tensor& x,
                    const Tensor& terms, T* result, kernels::Stream stream) {
  const Tensor start = x.contiguous();
  const auto* weight = coefficients.data_ptr<T>();
  auto* term = terms.data_ptr<T>();
  const int64_t size = x.numel();
  for (int64_t k = 1; k < terms.size(0); ++k) {
    DeviceUpdate<T> update;
    update.total = result;
    update.coefficients = weight + k - 1;
    const T* from = term + (k - 1) * size;
    if (k == 1) {
      from = update.start = start.data_ptr<T>();
      update.copy = term;
    } else {
      update.scale.factor = 2;
      update.first = term + (k - 2) * size;
      update.first_scale.factor = -1;
    }
    kernels::spmm_cuda(matrix, entries, from, x.size(1), term + k * size, update, stream);
  }
  if (terms.size(0) > 1) return;
  terms[0].copy_(start);
  kernels::linear_combination_cuda(start.data_ptr<T>(), weight, 1, size, result, stream);
}

// The terms T_k(M) x, stacked [K + 1, N, C], and their combination [N, C].
std::tuple<Tensor, Tensor> chebyshev_forward_backend(at::TensorList pattern_tensors, const Tensor& values,
                                                     const Tensor& coefficients, const Tensor& x) {
  const SparsePattern pattern = pattern_of(pattern_tensors);
  check_chebyshev_filter(pattern, values, coefficients, x);
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  Tensor terms = at::empty({coefficients.size(0), x.size(0), x.size(1)}, x.options());
  Tensor result = at::empty({x.size(0), x.size(1)}, x.options());
  count_forward(pattern.columns, entries, x, terms, result);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "qw::_chebyshev_forward", [&] {
    const CsrView<scalar_t> matrix = matrix_of<scalar_t>(pattern, entries);
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        x, [&] { forward_on_cpu(matrix, weights, x, terms, to); },
        [&](auto stream) { forward_on_gpu(matrix, pattern.columns.numel(), weights, x, terms, to, stream); });
  });
  return {terms, result};
}

// Adjoints a_k of the terms, from the last to the first (see ChebyshevFilter), in three buffers that take
// turns.
template <class T>
class CpuSweep {
 public:
  CpuSweep(const Tensor& gradient, const Tensor& coefficients)
      : gradient_(gradient.data_ptr<T>()),
        coefficients_(coefficients.data_ptr<T>()),
        last_(coefficients.size(0) - 1) {
    for (Tensor& buffer : buffers_) buffer = at::empty_like(gradient);
  }

  const Tensor& adjoint(int64_t k) const { return buffers_[k % 3]; }

  void step(const CsrView<T>& transposed, int64_t width, int64_t k) {
    if (k == last_) {
      kernels::linear_combination_cpu(gradient_, coefficients_ + k, 1, adjoint(k).numel(), pointer(k));
      return;
    }
    Update<T> update{static_cast<T>(k == 0 ? 1 : 2), gradient_, coefficients_[k]};
    if (k + 2 <= last_) {
      update.second = pointer(k + 2);
      update.second_scale = -1;
    }
    kernels::spmm_cpu<T>(transposed, {pointer(k + 1), transposed.rows, width}, pointer(k), update);
  }

 private:
  T* pointer(int64_t k) const { return buffers_[k % 3].template data_ptr<T>(); }

  const T* gradient_;
  const T* coefficients_;
  int64_t last_;
  std::array<Tensor, 3> buffers_;
};

// dL/dx, with dL/dM added to `values_gradient` unless that is null.
template <class T>
Tensor sweep_back_on_cpu(const CsrView<T>& matrix, const CsrView<T>& transposed, const Tensor& coefficients,
                         const Tensor& terms, const Tensor& gradient, T* values_gradient) {
  const int64_t width = gradient.size(1);
  CpuSweep<T> sweep(gradient, coefficients);
  for (int64_t k = coefficients.size(0) - 1; k >= 0; --k) {
    sweep.step(transposed, width, k);
    if (values_gradient == nullptr || k == 0) continue;
    const T* previous = terms.data_ptr<T>() + (k - 1) * gradient.numel();
    kernels::sampled_products_cpu(matrix, sweep.adjoint(k).template data_ptr<T>(), previous, width,
                                  values_gradient, static_cast<T>(k == 1 ? 1 : 2), true);
  }
  return sweep.adjoint(0);
}

// Adjoints a_k of the terms, from the last to the first (see ChebyshevFilter). On a GPU the last is c_K g,
// which nobody writes down: whoever reads it reads g and multiplies. The others are kept in three buffers
// that take turns or, where that is not much, in one each, so that the products with all of them are one
// launch.
template <class T>
class GpuSweep {
 public:
  GpuSweep(const Tensor& gradient, const Tensor& coefficients, bool keep, kernels::Stream stream)
      : gradient_(gradient.data_ptr<T>()),
        coefficients_(coefficients.data_ptr<T>()),
        last_(coefficients.size(0) - 1),
        size_(gradient.numel()),
        buffers_(keep ? std::max<int64_t>(1, last_ - 1) : 3),
        adjoints_(at::empty({buffers_ * size_}, gradient.options())),
        first_(at::empty_like(gradient)),
        stream_(stream) {}

  const Tensor& first() const { return first_; }

  void step(const CsrView<T>& transposed, int64_t entries, int64_t width, int64_t k) const {
    const bool before_last = k + 1 == last_;
    DeviceUpdate<T> update;
    update.scale = {static_cast<T>(k == 0 ? 1 : 2), before_last ? last_coefficient() : nullptr};
    update.first = gradient_;
    update.first_scale.times = coefficients_ + k;
    if (k + 2 <= last_) {
      update.second = k + 2 == last_ ? gradient_ : adjoint(k + 2);
      update.second_scale = {-1, k + 2 == last_ ? last_coefficient() : nullptr};
    }
    kernels::spmm_cuda(transposed, entries, before_last ? gradient_ : adjoint(k + 1), width, adjoint(k),
                       update, stream_);
  }

  // The part of dL/dM that the terms from `from` to `to` have, added unless `to` is the last.
  void products(const CsrView<T>& matrix, int64_t entries, int64_t width, const T* terms, int64_t from,
                int64_t to, T* result) const {
    kernels::SampledTerms<T> sum{adjoint(from), terms + (from - 1) * size_, size_, size_};
    sum.terms = to - from + 1;
    sum.first_scale = static_cast<T>(from == 1 ? 1 : 2);
    sum.scale = 2;
    if (to == last_) {
      sum.last_left = gradient_;
      sum.last_times = last_coefficient();
    }
    sum.accumulate = to != last_;
    kernels::sampled_products_cuda(matrix, entries, sum, width, result, stream_);
  }

 private:
  const T* last_coefficient() const { return coefficients_ + last_; }
  T* adjoint(int64_t k) const {
    return k == 0 ? first_.data_ptr<T>() : adjoints_.data_ptr<T>() + (k - 1) % buffers_ * size_;
  }

  const T* gradient_;
  const T* coefficients_;
  int64_t last_;
  int64_t size_;
  int64_t buffers_;
  Tensor adjoints_;
  Tensor first_;
  kernels::Stream stream_;
};

// dL/dx, with dL/dM beside it unless that is null.
template <class T>
Tensor sweep_back_on_gpu(const CsrView<T>& matrix, const CsrView<T>& transposed, int64_t entries,
                         const Tensor& coefficients, const Tensor& terms, const Tensor& gradient,
                         T* values_gradient, kernels::Stream stream) {
  constexpr int64_t kNotMuch = int64_t{64} << 20;  // bytes
  const int64_t degree = coefficients.size(0) - 1;
  const int64_t width = gradient.size(1);
  const bool keep = values_gradient != nullptr && degree * gradient.numel() * int64_t{sizeof(T)} <= kNotMuch;
  const GpuSweep<T> sweep(gradient, coefficients, keep, stream);
  if (degree == 0) {
    kernels::linear_combination_cuda(gradient.data_ptr<T>(), coefficients.data_ptr<T>(), 1, gradient.numel(),
                                     sweep.first().template data_ptr<T>(), stream);
    return sweep.first();
  }
  const auto* term = terms.data_ptr<T>();
  for (int64_t k = degree; k >= 0; --k) {
    if (k < degree) sweep.step(transposed, entries, width, k);
    if (values_gradient == nullptr) continue;
    if (!keep && k >= 1) sweep.products(matrix, entries, width, term, k, k, values_gradient);
    if (keep && k == 1) sweep.products(matrix, entries, width, term, 1, degree, values_gradient);
  }
  return sweep.first();
}

void count_backward(const SparsePattern& pattern, const Tensor& entries, const Tensor& terms,
                    const Tensor& incoming, const Tensor& values_gradient, bool values_need_gradient) {
  const int64_t width = incoming.size(1);
  for (int64_t k = 1; k < terms.size(0); ++k) {
    record_work(2 * (pattern.transposed_columns.numel() + incoming.size(0)) * width,
                pattern.transposed_columns, pattern.order, entries, incoming, incoming);
    if (values_need_gradient)
      record_work(2 * pattern.columns.numel() * width, pattern.columns, incoming, incoming, values_gradient);
  }
  record_work(2 * terms.numel(), terms, incoming);
}

// Gradients for values (empty unless asked for), coefficients and x.
std::tuple<Tensor, Tensor, Tensor> chebyshev_backward_backend(at::TensorList pattern_tensors,
                                                              const Tensor& values,
                                                              const Tensor& coefficients, const Tensor& terms,
                                                              const Tensor& gradient,
                                                              bool values_need_gradient) {
  const SparsePattern pattern = pattern_of(pattern_tensors);
  const Tensor incoming = gradient.contiguous();
  check_chebyshev_filter(pattern, values, coefficients, incoming);
  check_terms(terms, coefficients, incoming);
  const int64_t count_of_terms = coefficients.size(0), size = incoming.numel();
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  const bool overwritten = on_gpu(incoming) && count_of_terms > 1;
  Tensor values_gradient = !values_need_gradient ? at::empty({0}, entries.options())
                           : overwritten         ? at::empty_like(entries)
                                                 : at::zeros_like(entries);
  Tensor coefficients_gradient = at::empty({count_of_terms}, incoming.options());
  Tensor x_gradient;
  count_backward(pattern, entries, terms, incoming, values_gradient, values_need_gradient);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::_chebyshev_backward", [&] {
    const CsrView<scalar_t> matrix = matrix_of<scalar_t>(pattern, entries);
    const CsrView<scalar_t> transposed = transpose_of<scalar_t>(pattern, entries);
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    const scalar_t* term = terms.data_ptr<scalar_t>();
    scalar_t* to_values = data_or_null<scalar_t>(values_gradient);
    scalar_t* to_coefficients = coefficients_gradient.data_ptr<scalar_t>();
    run_on(
        incoming,
        [&] {
          x_gradient = sweep_back_on_cpu(matrix, transposed, weights, terms, incoming, to_values);
          kernels::dot_products_cpu(term, from, count_of_terms, size, to_coefficients);
        },
        [&](auto stream) {
          const Tensor sums = at::empty({kernels::dot_products_scratch(count_of_terms, size)},
                                        incoming.options().dtype(at::kDouble));
          x_gradient = sweep_back_on_gpu(matrix, transposed, pattern.columns.numel(), weights, terms,
                                         incoming, to_values, stream);
          kernels::dot_products_cuda(term, from, count_of_terms, size, to_coefficients,
                                     data_or_null<double>(sums), stream);
        });
  });
  return {values_gradient, coefficients_gradient, x_gradient};
}

std::tuple<Tensor, Tensor> chebyshev_forward_meta(at::TensorList pattern, const Tensor& values,
                                                  const Tensor& coefficients, const Tensor& x) {
  if (have_numbers(pattern, values, coefficients, x)) {
    check_chebyshev_filter(pattern_of(pattern), values, coefficients, x);
  }
  return {at::empty_symint({coefficients.sym_size(0), x.sym_size(0), x.sym_size(1)}, x.options()),
          at::empty_symint(x.sym_sizes(), x.options())};
}

std::tuple<Tensor, Tensor, Tensor> chebyshev_backward_meta(at::TensorList, const Tensor& values,
                                                           const Tensor& coefficients, const Tensor&,
                                                           const Tensor& gradient,
                                                           bool values_need_gradient) {
  return {values_need_gradient ? at::empty_symint(values.sym_sizes(), values.options())
                               : at::empty({0}, values.options()),
          at::empty_symint(coefficients.sym_sizes(), coefficients.options()),
          at::empty_symint(gradient.sym_sizes(), gradient.options())};
}

std::tuple<Tensor, Tensor> chebyshev_forward(at::TensorList pattern, const Tensor& values,
                                             const Tensor& coefficients, const Tensor& x) {
  return call_without_gradient<chebyshev_forward_backend>("qw::_chebyshev_forward", pattern, values,
                                                          coefficients, x);
}

Tensor chebyshev_filter_backend(at::TensorList pattern, const Tensor& values, const Tensor& coefficients,
                                const Tensor& x) {
  return std::get<1>(chebyshev_forward(pattern, values, coefficients, x));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y = sum_k c_k t_k with t_0 = x, t_1 = M t_0, t_k = 2 M t_{k-1} - t_{k-2}. With g = dL/dy the adjoints a_k =
// dL/dt_k run backwards, a_{K+1} = a_{K+2} = 0:
//   a_k = c_k g + 2 M^T a_{k+1} - a_{k+2}  for k >= 1,      a_0 = c_0 g + M^T a_1 - a_2,
//   dL/dx = a_0,      dL/dc_k = <g, t_k>,      dL/dM_ij = <a_1[i], t_0[j]> + 2 sum_{k>=2} <a_k[i],
//   t_{k-1}[j]>.
// The backward pass is not differentiable again.
class ChebyshevFilter : public torch::autograd::Function<ChebyshevFilter> {
 public:
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& values,
                        const Tensor& coefficients, const Tensor& x) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [terms, result] = chebyshev_forward(tensors_of(pattern), values, coefficients, x);
    const bool needed = values.requires_grad() || coefficients.requires_grad() || x.requires_grad();
    context->saved_data["values_need_gradient"] = values.requires_grad();
    variable_list saved = tensors_of(pattern);
    saved.insert(saved.end(), {values, coefficients, needed ? terms : Tensor()});
    context->save_for_backward(std::move(saved));
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::chebyshev_filter: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    const bool values_need_gradient = context->saved_data["values_need_gradient"].toBool();
    const auto [for_values, for_coefficients, for_x] = call_without_gradient<chebyshev_backward_backend>(
        "qw::_chebyshev_backward", at::TensorList(saved).slice(0, 5), saved[5], saved[6], saved[7],
        gradients[0], values_need_gradient);
    return {Tensor(), values_need_gradient ? for_values : Tensor(), for_coefficients, for_x};
  }
};

Tensor chebyshev_filter_autograd(at::TensorList pattern, const Tensor& values, const Tensor& coefficients,
                                 const Tensor& x) {
  return ChebyshevFilter::apply(pattern_of(pattern), values, coefficients, x);
}

}  // namespace

QW_BACKENDS(library) {
  library.impl("_chebyshev_forward", chebyshev_forward_backend);
  library.impl("_chebyshev_backward", chebyshev_backward_backend);
}

QW_META(library) {
  library.impl("_chebyshev_forward", chebyshev_forward_meta);
  library.impl("_chebyshev_backward", chebyshev_backward_meta);
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("chebyshev_filter", chebyshev_filter_backend);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("chebyshev_filter", chebyshev_filter_autograd); }

QW_NO_GRADIENT("_chebyshev_forward", "_chebyshev_backward")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("chebyshev_filter(Tensor[] pattern, Tensor values, Tensor coefficients, Tensor x) -> Tensor");
  library.def(
      "_chebyshev_forward(Tensor[] pattern, Tensor values, Tensor coefficients, Tensor x) -> "
      "(Tensor, Tensor)");
  library.def(
      "_chebyshev_backward(Tensor[] pattern, Tensor values, Tensor coefficients, Tensor terms, "
      "Tensor gradient, bool values_need_gradient) -> (Tensor, Tensor, Tensor)");
}

}  // namespace ops

at::Tensor chebyshev_filter(const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& coefficients, const at::Tensor& x) {
  if (pattern.others != nullptr) return ops::part_filter(pattern, values, coefficients, x);
  return ops::call<ops::chebyshev_filter_backend>("qw::chebyshev_filter", ops::tensors_of(pattern), values,
                                                  coefficients, x);
}

}  // namespace qw
