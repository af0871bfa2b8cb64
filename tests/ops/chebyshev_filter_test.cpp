#include "qw/ops/chebyshev_filter.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::Sparse;
using test::on_device::sparse_matrix;
using test::on_device::tensor_of;

// The definition, with dense matrices that torch differentiates.
at::Tensor reference(const at::Tensor& matrix, const at::Tensor& coefficients, const at::Tensor& x) {
  at::Tensor before = x, now = matrix.mm(x);
  at::Tensor result = coefficients[0] * x;
  for (int64_t k = 1; k < coefficients.size(0); ++k) {
    result = result + coefficients[k] * now;
    const at::Tensor next = 2 * matrix.mm(now) - before;
    before = now;
    now = next;
  }
  return result;
}

at::Tensor entries_of(const at::Tensor& dense, const SparsePattern& pattern) {
  std::vector<at::Tensor> entries;
  for (int64_t i = 0; i + 1 < pattern.offsets.size(0); ++i) {
    for (int64_t k = pattern.offsets[i].item<int64_t>(); k < pattern.offsets[i + 1].item<int64_t>(); ++k) {
      entries.push_back(dense[i][pattern.columns[k].item<int64_t>()]);
    }
  }
  return entries.empty() ? at::empty({0}, dense.options()) : at::stack(entries);
}

void expect_definition(int64_t degree, int64_t width) {
  const Sparse sparse = sparse_matrix(12, 12, 0.3, at::kDouble);
  const at::Tensor scaled = sparse.values / 20;
  const at::Tensor matrix = (sparse.dense / 20).requires_grad_();
  const at::Tensor values = scaled.clone().requires_grad_();
  const at::Tensor coefficients = at::randn({degree + 1}, at::kDouble).requires_grad_();
  const at::Tensor x = at::randn({12, width}, at::kDouble).requires_grad_();
  const at::Tensor weight = at::randn({12, width}, at::kDouble);
  const at::Tensor expected = reference(matrix, coefficients, x);
  const at::Tensor found = chebyshev_filter(sparse.pattern, values, coefficients, x);
  EXPECT_TRUE(at::allclose(found, expected, 1e-12, 1e-12));
  const auto wanted =
      torch::autograd::grad({(expected * weight).sum()}, {matrix, coefficients, x}, {}, {}, false, true);
  const auto got = torch::autograd::grad({(found * weight).sum()}, {values, coefficients, x});
  if (degree > 0) {
    EXPECT_TRUE(at::allclose(got[0], entries_of(wanted[0], sparse.pattern), 1e-11, 1e-11));
  } else {
    EXPECT_EQ(got[0].abs().sum().item<double>(), 0.0);
  }
  EXPECT_TRUE(at::allclose(got[1], wanted[1], 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(got[2], wanted[2], 1e-12, 1e-12));
}

TEST(ChebyshevFilter, ValueAndGradientsAreThoseOfTheDefinition) {
  for (const int64_t degree : {0, 1, 2, 3, 10}) {
    for (const int64_t width : {1, 3, 9}) expect_definition(degree, width);
  }
}

// So many columns that nobody keeps an adjoint longer than it is needed.
TEST(ChebyshevFilter, ValueAndGradientsOfManyColumns) { expect_definition(3, 240000); }

// On the path of two nodes M has the eigenvalues 1 and -1, where T_k is 1 and (-1)^k.
TEST(ChebyshevFilter, ClosedFormOnOneEdge) {
  const SparsePattern pattern = SparsePattern::symmetric(tensor_of(std::vector<int64_t>{0, 1, 2}, at::kLong),
                                                         tensor_of(std::vector<int32_t>{1, 0}, at::kInt));
  const at::Tensor coefficients = tensor_of(std::vector<double>{0.5, -2, 3, 0.25}, at::kDouble);
  const at::Tensor x = tensor_of(std::vector<double>{3, 1}, at::kDouble).view({2, 1});
  const double even = 0.5 + 3, odd = -2 + 0.25;  // x = 2 (1, 1) + 1 (1, -1)
  const at::Tensor expected = tensor_of(
      std::vector<double>{2 * (even + odd) + (even - odd), 2 * (even + odd) - (even - odd)}, at::kDouble);
  EXPECT_TRUE(at::allclose(chebyshev_filter(pattern, at::ones({2}, at::kDouble), coefficients, x).view({2}),
                           expected));
}

TEST(ChebyshevFilter, FloatAgreesWithDouble) {
  const Sparse sparse = sparse_matrix(40, 40, 0.1, at::kDouble);
  const at::Tensor coefficients = at::randn({11}, at::kDouble);
  const at::Tensor x = at::randn({40, 7}, at::kDouble);
  const at::Tensor exact = chebyshev_filter(sparse.pattern, sparse.values / 30, coefficients, x);
  const at::Tensor rough = chebyshev_filter(sparse.pattern, (sparse.values / 30).to(at::kFloat),
                                            coefficients.to(at::kFloat), x.to(at::kFloat));
  EXPECT_TRUE(at::allclose(rough.to(at::kDouble), exact, 1e-4, 1e-5));
}

TEST(ChebyshevFilter, SameBitsForAnyNumberOfThreads) {
  const Sparse sparse = sparse_matrix(400, 400, 0.1, at::kFloat);
  const at::Tensor values = (sparse.values / 200).requires_grad_();
  const at::Tensor coefficients = at::randn({11}).requires_grad_();
  const at::Tensor x = at::randn({400, 40}).requires_grad_();
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor output = chebyshev_filter(sparse.pattern, values, coefficients, x);
    std::vector<at::Tensor> now = torch::autograd::grad({output.square().sum()}, {values, coefficients, x});
    now.push_back(output.detach());
    if (first.empty()) first = now;
    for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << k;
  }
}

TEST(ChebyshevFilter, EmptyGraphAndNonContiguousInput) {
  const Sparse none = sparse_matrix(0, 0, 0.5, at::kFloat);
  EXPECT_EQ(chebyshev_filter(none.pattern, none.values, at::ones({3}), at::ones({0, 2})).sizes(),
            (std::vector<int64_t>{0, 2}));
  const Sparse sparse = sparse_matrix(12, 12, 0.3, at::kDouble);
  const at::Tensor x = at::randn({5, 12}, at::kDouble).t();
  const at::Tensor coefficients = at::randn({8}, at::kDouble).slice(0, 0, 8, 2);
  EXPECT_TRUE(
      at::equal(chebyshev_filter(sparse.pattern, sparse.values, coefficients, x),
                chebyshev_filter(sparse.pattern, sparse.values, coefficients.contiguous(), x.contiguous())));
}

TEST(ChebyshevFilter, HasNoSecondDerivative) {
  const Sparse good = sparse_matrix(3, 3, 1.0, at::kFloat);
  const at::Tensor x = at::ones({3, 2}).requires_grad_();
  const at::Tensor coefficients = at::ones({2});
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad(
                  {chebyshev_filter(good.pattern, good.values, coefficients, x).square().sum()}, {x}, {},
                  true, true);
            }),
            "qw::chebyshev_filter: there is no second derivative; call backward without create_graph");
}

TEST(ChebyshevFilter, Refusals) {
  const std::string on = " on " + test::device_name();
  const Sparse good = sparse_matrix(3, 3, 1.0, at::kFloat);
  const Sparse oblong = sparse_matrix(3, 4, 1.0, at::kFloat);
  const at::Tensor coefficients = at::ones({2});
  EXPECT_EQ(refusal([&] {
              chebyshev_filter(oblong.pattern, oblong.values, coefficients, at::ones({4, 2}));
            }),
            "qw::chebyshev_filter: the matrix must be square, got 3 rows and 4 columns");
  EXPECT_EQ(refusal([&] {
              chebyshev_filter(good.pattern, good.values, at::ones({0}), at::ones({3, 2}));
            }),
            "qw::chebyshev_filter: coefficients must be [K + 1] of Float" + on + ", got [0] of Float" + on);
  EXPECT_EQ(refusal([&] {
              chebyshev_filter(good.pattern, good.values, at::ones({2}, at::kDouble), at::ones({3, 2}));
            }),
            "qw::chebyshev_filter: coefficients must be [K + 1] of Float" + on + ", got [2] of Double" + on);
  const c10::InferenceMode mode;
  EXPECT_NE(refusal([&] {
              chebyshev_filter(good.pattern, good.values, coefficients, at::ones({4, 2}));
            }),
            "not refused");
}

}  // namespace
}  // namespace qw
