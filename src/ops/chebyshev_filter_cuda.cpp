#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/combination.h"
#include "kernels/spmm.h"
#include "ops/chebyshev_filter_parts.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"

namespace qw::ops {
namespace {

using at::Tensor;
using kernels::CsrView;
using kernels::DeviceUpdate;

template <class T>
CsrView<T> view(const Tensor& offsets, const Tensor& columns, const int64_t* order, const Tensor& values) {
  return {offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(), values.data_ptr<T>(), order,
          offsets.size(0) - 1};
}

// A launch per propagation, which also adds its term to the result.
std::tuple<Tensor, Tensor> forward_cuda(const Tensor& offsets, const Tensor& columns,
                                        const Tensor& transposed_offsets, const Tensor& transposed_columns,
                                        const Tensor& order, const Tensor& values, const Tensor& coefficients,
                                        const Tensor& x) {
  check_chebyshev_filter({offsets, columns, transposed_offsets, transposed_columns, order}, values,
                         coefficients, x);
  const c10::DeviceGuard device(x.device());
  const int64_t count_of_terms = coefficients.size(0);
  const int64_t width = x.size(1);
  const Tensor start = x.contiguous();
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  Tensor terms = at::empty({count_of_terms, x.size(0), width}, x.options());
  Tensor result = at::empty({x.size(0), width}, x.options());
  for (int64_t k = 1; k < count_of_terms; ++k)
    count(2 * (columns.numel() + 2 * x.size(0)) * width, columns, entries, x, x, result, result);
  if (count_of_terms == 1) terms[0].copy_(start);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "qw::chebyshev_forward", [&] {
    const CsrView<scalar_t> matrix = view<scalar_t>(offsets, columns, nullptr, entries);
    const auto* weight = weights.data_ptr<scalar_t>();
    auto* term = terms.data_ptr<scalar_t>();
    auto* total = result.data_ptr<scalar_t>();
    const int64_t size = x.numel();
    for (int64_t k = 1; k < count_of_terms; ++k) {
      DeviceUpdate<scalar_t> update;
      update.total = total;
      update.coefficients = weight + k - 1;
      const scalar_t* from = term + (k - 1) * size;
      if (k == 1) {
        from = update.start = start.data_ptr<scalar_t>();
        update.copy = term;
      } else {
        update.scale.factor = 2;
        update.first = term + (k - 2) * size;
        update.first_scale.factor = -1;
      }
      kernels::spmm_cuda(matrix, columns.numel(), from, width, term + k * size, update, current_stream());
    }
    if (count_of_terms == 1)
      kernels::linear_combination_cuda(start.data_ptr<scalar_t>(), weight, 1, size, total, current_stream());
  });
  return {terms, result};
}

// Adjoints a_k of the terms, from the last to the first (see the autograd class). The last is c_K g, which
// nobody writes down: whoever reads it reads g and multiplies. The others are kept in three buffers that take
// turns or, where that is not much, in one each, so that the products with all of them are one launch.
template <class T>
class AdjointSweep {
 public:
  AdjointSweep(const Tensor& gradient, const Tensor& coefficients, bool keep)
      : gradient_(gradient.data_ptr<T>()),
        coefficients_(coefficients.data_ptr<T>()),
        last_(coefficients.size(0) - 1),
        size_(gradient.numel()),
        buffers_(keep ? std::max<int64_t>(1, last_ - 1) : 3),
        adjoints_(at::empty({buffers_ * size_}, gradient.options())),
        first_(at::empty_like(gradient)) {}

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
                       update, current_stream());
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
    kernels::sampled_products_cuda(matrix, entries, sum, width, result, current_stream());
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
};

// dL/dx, with dL/dM beside it unless that is null.
template <class T>
Tensor sweep_back(const CsrView<T>& matrix, const CsrView<T>& transposed, int64_t entries,
                  const Tensor& coefficients, const Tensor& terms, const Tensor& gradient,
                  T* values_gradient) {
  constexpr int64_t kNotMuch = int64_t{64} << 20;  // bytes
  const int64_t degree = coefficients.size(0) - 1;
  const int64_t width = gradient.size(1);
  const bool keep = values_gradient != nullptr && degree * gradient.numel() * int64_t{sizeof(T)} <= kNotMuch;
  const AdjointSweep<T> sweep(gradient, coefficients, keep);
  if (degree == 0) {
    kernels::linear_combination_cuda(gradient.data_ptr<T>(), coefficients.data_ptr<T>(), 1, gradient.numel(),
                                     sweep.first().template data_ptr<T>(), current_stream());
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

std::tuple<Tensor, Tensor, Tensor> backward_cuda(const Tensor& offsets, const Tensor& columns,
                                                 const Tensor& transposed_offsets,
                                                 const Tensor& transposed_columns, const Tensor& order,
                                                 const Tensor& values, const Tensor& coefficients,
                                                 const Tensor& terms, const Tensor& gradient,
                                                 bool values_need_gradient) {
  const c10::DeviceGuard device(gradient.device());
  const Tensor incoming = gradient.contiguous();
  check_chebyshev_filter({offsets, columns, transposed_offsets, transposed_columns, order}, values,
                         coefficients, incoming);
  const int64_t count_of_terms = coefficients.size(0);
  const int64_t width = incoming.size(1);
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  Tensor values_gradient = !values_need_gradient ? at::empty({0}, entries.options())
                           : count_of_terms == 1 ? at::zeros_like(entries)
                                                 : at::empty_like(entries);
  Tensor coefficients_gradient = at::empty({count_of_terms}, incoming.options());
  Tensor x_gradient;
  for (int64_t k = 1; k < count_of_terms; ++k) {
    count(2 * (transposed_columns.numel() + incoming.size(0)) * width, transposed_columns, order, entries,
          incoming, incoming);
    if (values_need_gradient)
      count(2 * columns.numel() * width, columns, incoming, incoming, values_gradient);
  }
  count(2 * terms.numel(), terms, incoming);
  const Tensor sums = at::empty({kernels::dot_products_scratch(count_of_terms, incoming.numel())},
                                incoming.options().dtype(at::kDouble));
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::chebyshev_backward", [&] {
    x_gradient = sweep_back(
        view<scalar_t>(offsets, columns, nullptr, entries),
        view<scalar_t>(transposed_offsets, transposed_columns, data_or_null<int64_t>(order), entries),
        columns.numel(), weights, terms, incoming, data_or_null<scalar_t>(values_gradient));
    kernels::dot_products_cuda(terms.data_ptr<scalar_t>(), incoming.data_ptr<scalar_t>(), count_of_terms,
                               incoming.numel(), coefficients_gradient.data_ptr<scalar_t>(),
                               data_or_null<double>(sums), current_stream());
  });
  return {values_gradient, coefficients_gradient, x_gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("chebyshev_forward", forward_cuda);
  library.impl("chebyshev_backward", backward_cuda);
}

}  // namespace qw::ops
