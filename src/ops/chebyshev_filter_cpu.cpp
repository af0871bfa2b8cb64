#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include <array>

#include "kernels/combination.h"
#include "kernels/spmm.h"
#include "ops/chebyshev_filter_parts.h"
#include "ops/counted.h"

namespace qw::ops {
namespace {

using at::Tensor;
using kernels::CsrView;
using kernels::Update;

template <class T>
CsrView<T> view(const Tensor& offsets, const Tensor& columns, const Tensor& order, const Tensor& values) {
  return {offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(), values.data_ptr<T>(),
          order.numel() == 0 ? nullptr : order.data_ptr<int64_t>(), offsets.size(0) - 1};
}

std::tuple<Tensor, Tensor> forward_cpu(const Tensor& offsets, const Tensor& columns,
                                       const Tensor& transposed_offsets, const Tensor& transposed_columns,
                                       const Tensor& order, const Tensor& values, const Tensor& coefficients,
                                       const Tensor& x) {
  check_chebyshev_filter({offsets, columns, transposed_offsets, transposed_columns, order}, values,
                         coefficients, x);
  const int64_t count_of_terms = coefficients.size(0);
  const int64_t width = x.size(1);
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  Tensor terms = at::empty({count_of_terms, x.size(0), width}, x.options());
  terms[0].copy_(x);
  Tensor result = at::empty({x.size(0), width}, x.options());
  for (int64_t k = 1; k < count_of_terms; ++k)
    count(2 * (columns.numel() + x.size(0)) * width, columns, entries, x, x);
  count(2 * terms.numel(), terms, result);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "qw::chebyshev_forward", [&] {
    const CsrView<scalar_t> matrix =
        view<scalar_t>(offsets, columns, at::empty({0}, offsets.options()), entries);
    auto* term = terms.data_ptr<scalar_t>();
    const int64_t size = x.numel();
    for (int64_t k = 1; k < count_of_terms; ++k) {
      Update<scalar_t> update;
      if (k > 1) update = {2, term + (k - 2) * size, -1};
      kernels::spmm_cpu(matrix, term + (k - 1) * size, width, term + k * size, update);
    }
    kernels::linear_combination_cpu(term, weights.data_ptr<scalar_t>(), count_of_terms, size,
                                    result.data_ptr<scalar_t>());
  });
  return {terms, result};
}

// Adjoints a_k of the terms, from the last to the first (see the autograd class), in three buffers that take
// turns.
template <class T>
class AdjointSweep {
 public:
  AdjointSweep(const Tensor& gradient, const Tensor& coefficients)
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
    kernels::spmm_cpu(transposed, pointer(k + 1), width, pointer(k), update);
  }

 private:
  T* pointer(int64_t k) const { return buffers_[k % 3].template data_ptr<T>(); }

  const T* gradient_;
  const T* coefficients_;
  int64_t last_;
  std::array<Tensor, 3> buffers_;
};

std::tuple<Tensor, Tensor, Tensor> backward_cpu(const Tensor& offsets, const Tensor& columns,
                                                const Tensor& transposed_offsets,
                                                const Tensor& transposed_columns, const Tensor& order,
                                                const Tensor& values, const Tensor& coefficients,
                                                const Tensor& terms, const Tensor& gradient,
                                                bool values_need_gradient) {
  const Tensor incoming = gradient.contiguous();
  check_chebyshev_filter({offsets, columns, transposed_offsets, transposed_columns, order}, values,
                         coefficients, incoming);
  const int64_t count_of_terms = coefficients.size(0);
  const int64_t width = incoming.size(1);
  const Tensor entries = values.contiguous();
  const Tensor weights = coefficients.contiguous();
  Tensor values_gradient = values_need_gradient ? at::zeros_like(entries) : at::empty({0}, entries.options());
  Tensor coefficients_gradient = at::empty({count_of_terms}, incoming.options());
  Tensor x_gradient;
  for (int64_t k = 1; k < count_of_terms; ++k) {
    count(2 * (transposed_columns.numel() + incoming.size(0)) * width, transposed_columns, order, entries,
          incoming, incoming);
    if (values_need_gradient)
      count(2 * columns.numel() * width, columns, incoming, incoming, values_gradient);
  }
  count(2 * terms.numel(), terms, incoming);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::chebyshev_backward", [&] {
    const CsrView<scalar_t> matrix =
        view<scalar_t>(offsets, columns, at::empty({0}, offsets.options()), entries);
    const CsrView<scalar_t> transposed =
        view<scalar_t>(transposed_offsets, transposed_columns, order, entries);
    AdjointSweep<scalar_t> sweep(incoming, weights);
    for (int64_t k = count_of_terms - 1; k >= 0; --k) {
      sweep.step(transposed, width, k);
      if (!values_need_gradient || k == 0) continue;
      const auto* previous = terms.data_ptr<scalar_t>() + (k - 1) * incoming.numel();
      kernels::sampled_products_cpu(matrix, sweep.adjoint(k).template data_ptr<scalar_t>(), previous, width,
                                    values_gradient.data_ptr<scalar_t>(),
                                    static_cast<scalar_t>(k == 1 ? 1 : 2), true);
    }
    x_gradient = sweep.adjoint(0);
    kernels::dot_products_cpu(terms.data_ptr<scalar_t>(), incoming.data_ptr<scalar_t>(), count_of_terms,
                              incoming.numel(), coefficients_gradient.data_ptr<scalar_t>());
  });
  return {values_gradient, coefficients_gradient, x_gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) {
  library.impl("chebyshev_forward", forward_cpu);
  library.impl("chebyshev_backward", backward_cpu);
}

}  // namespace qw::ops
