#include "qw/ops/spmm.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "ops/spmm_parts.h"
#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::Sparse;
using test::on_device::sparse_matrix;
using test::on_device::tensor_of;

class SpmmOf : public testing::TestWithParam<at::ScalarType> {};

// Whole numbers: every sum is exact, so results and gradients must be equal to the last bit, at every tail of
// a tile.
TEST_P(SpmmOf, ValueAndGradientsAreThoseOfTheDenseProductExactly) {
  for (const auto& [rows, columns] : {std::pair{9, 13}, std::pair{30, 4}, std::pair{1, 1}}) {
    const Sparse sparse = sparse_matrix(rows, columns, 0.3, GetParam());
    for (const int64_t width : {0, 1, 7, 8, 15, 16, 31, 32, 33, 64, 100}) {
      const at::Tensor x = at::randint(-9, 9, {columns, width}, GetParam());
      const at::Tensor weight = at::randint(-9, 9, {rows, width}, GetParam());
      const at::Tensor values = sparse.values.clone().requires_grad_();
      const at::Tensor input = x.clone().requires_grad_();
      const at::Tensor output = spmm(sparse.pattern, values, input);
      EXPECT_TRUE(at::equal(output, sparse.dense.mm(x)));
      const auto gradients = torch::autograd::grad({(output * weight).sum()}, {values, input});
      EXPECT_TRUE(at::equal(gradients[1], sparse.dense.t().mm(weight)));
      const at::Tensor all = weight.mm(x.t());
      std::vector<at::Tensor> expected;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t begin = sparse.pattern.offsets[i].item<int64_t>();
        const int64_t end = sparse.pattern.offsets[i + 1].item<int64_t>();
        for (int64_t k = begin; k < end; ++k)
          expected.push_back(all[i][sparse.pattern.columns[k].item<int64_t>()]);
      }
      if (!expected.empty()) {
        EXPECT_TRUE(at::equal(gradients[0], at::stack(expected)));
      }
    }
  }
}

TEST_P(SpmmOf, AddsOnTheWay) {
  const Sparse sparse = sparse_matrix(9, 9, 0.3, GetParam());
  for (const int64_t width : {3, 64}) {
    const at::Tensor weight = at::randint(-9, 9, {9, width}, GetParam());
    const at::Tensor x = at::randint(-9, 9, {9, width}, GetParam()).requires_grad_();
    const at::Tensor addend = at::randint(-9, 9, {9, width}, GetParam()).requires_grad_();
    const at::Tensor sum = spmm(sparse.pattern, sparse.values, x, addend);
    EXPECT_TRUE(at::equal(sum, sparse.dense.mm(x) + addend));
    const auto gradients = torch::autograd::grad({(sum * weight).sum()}, {x, addend});
    EXPECT_TRUE(at::equal(gradients[0], sparse.dense.t().mm(weight)));
    EXPECT_TRUE(at::equal(gradients[1], weight));
    const at::Tensor with_itself = spmm(sparse.pattern, sparse.values, x, x);
    EXPECT_TRUE(at::equal(with_itself, sparse.dense.mm(x) + x));
    const auto both = torch::autograd::grad({(with_itself * weight).sum()}, {x});
    EXPECT_TRUE(at::equal(both[0], sparse.dense.t().mm(weight) + weight));
  }
}

TEST_P(SpmmOf, TakesNonContiguousInput) {
  const Sparse sparse = sparse_matrix(9, 13, 0.3, GetParam());
  const at::Tensor x = at::randint(-9, 9, {5, 13}, GetParam()).t();
  EXPECT_TRUE(at::equal(spmm(sparse.pattern, sparse.values, x), sparse.dense.mm(x)));
}

INSTANTIATE_TEST_SUITE_P(Types, SpmmOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(Spmm, SymmetricPatternIsItsOwnTranspose) {
  // A triangle with a tail: 0 - 1 - 2 - 0, 2 - 3, each edge of a weight of its own.
  const std::vector<int64_t> offsets{0, 2, 4, 7, 8};
  const SparsePattern pattern = SparsePattern::symmetric(
      tensor_of(offsets, at::kLong), tensor_of(std::vector<int32_t>{1, 2, 0, 2, 0, 1, 3, 2}, at::kInt));
  const at::Tensor values = tensor_of(std::vector<double>{2, 3, 2, 5, 3, 5, 7, 7}, at::kDouble);
  const at::Tensor x = at::randn({4, 3}, at::kDouble).requires_grad_();
  const at::Tensor weight = at::randn({4, 3}, at::kDouble);
  const at::Tensor gradient = torch::autograd::grad({(spmm(pattern, values, x) * weight).sum()}, {x})[0];
  EXPECT_TRUE(at::allclose(gradient, spmm(pattern, values, weight), 1e-14, 1e-14));
}

TEST(Spmm, EmptyMatrices) {
  const Sparse none = sparse_matrix(3, 4, 0.0, at::kFloat);
  EXPECT_TRUE(at::equal(spmm(none.pattern, none.values, at::ones({4, 2})), at::zeros({3, 2})));
  const Sparse no_rows = sparse_matrix(0, 4, 0.5, at::kFloat);
  EXPECT_EQ(spmm(no_rows.pattern, no_rows.values, at::ones({4, 2})).sizes(), (std::vector<int64_t>{0, 2}));
}

// Rows of the given lengths with entries anywhere in the 50 columns, in whole numbers.
void expect_rows_of(const std::vector<int64_t>& lengths, int64_t width, at::ScalarType type) {
  const at::Tensor counts = tensor_of(lengths, at::kLong);
  const at::Tensor rows = at::repeat_interleave(counts);
  const at::Tensor offsets = at::cat({at::zeros({1}, at::kLong), counts.cumsum(0)});
  const at::Tensor columns = at::randint(0, 50, {rows.size(0)}, at::kInt);
  const at::Tensor values = at::randint(-2, 3, {rows.size(0)}, type);
  const at::Tensor x = at::randint(-2, 3, {50, width}, type);
  const at::Tensor none = at::empty({0}, at::kLong);
  const at::Tensor order = at::arange(rows.size(0) - 1, -1, -1, at::kLong);
  const at::Tensor entries = values.unsqueeze(1) * x.index_select(0, columns);
  const at::Tensor expected = at::zeros({counts.size(0), width}, type).index_add(0, rows, entries);
  EXPECT_TRUE(at::equal(ops::csr_matmul(offsets, columns, none, values, x), expected)) << width;
  EXPECT_TRUE(at::equal(ops::csr_matmul(offsets, columns, order, values.flip(0), x), expected)) << width;
  const at::Tensor left = at::randint(-2, 3, {counts.size(0), width}, type);
  EXPECT_TRUE(at::equal(ops::sampled_products(offsets, columns, left, x),
                        (left.index_select(0, rows) * x.index_select(0, columns)).sum(1)))
      << width;
}

TEST(Spmm, ShortRowsBesideLongOnes) {
  for (const int64_t width : {3, 7, 8, 24, 47, 48, 130, 256, 272, 300, 512, 600}) {
    expect_rows_of({0, 1, 500, 3, 2, 1000, 33, 0, 129, 4, 65, 1, 2, 3}, width, at::kFloat);
    expect_rows_of({0, 1, 500, 3, 2, 1000, 33, 0, 129, 4, 65, 1, 2, 3}, width, at::kDouble);
  }
  std::vector<int64_t> many(3000, 4);
  many[1500] = 700;
  for (const int64_t width : {7, 64}) expect_rows_of(many, width, at::kFloat);
  for (const int64_t width : {1, 7, 64}) expect_rows_of({300, 299, 0, 301, 5000}, width, at::kFloat);
}

// A row of the dense side that is no number reaches those that have it, and no other, also where what is
// added up at once is more than a row has.
TEST(Spmm, OnlyWhatARowHasReachesIt) {
  const Sparse sparse = sparse_matrix(60, 40, 0.4, at::kFloat);
  for (const int64_t width : {7, 64, 256}) {
    at::Tensor x = at::ones({40, width});
    x[0].fill_(std::numeric_limits<float>::quiet_NaN());
    const at::Tensor values = at::ones_like(sparse.values);
    const at::Tensor has_it = spmm(sparse.pattern, values, at::eye(40).slice(1, 0, 1)).select(1, 0) != 0;
    const at::Tensor result = spmm(sparse.pattern, values, x);
    EXPECT_TRUE(at::equal(result.isnan().all(1), has_it)) << width;
    EXPECT_TRUE(at::equal(result.isnan().any(1), has_it)) << width;
  }
}

// Enough entries that few lanes of a GPU have a narrow row, with one number or two at a time.
TEST(Spmm, NarrowRowsOfManyEntries) {
  std::vector<int64_t> lengths(8000, 4);
  lengths[4000] = 1500;
  lengths[7999] = 0;
  for (const int64_t width : {3, 5, 6, 9, 10, 15, 18, 26}) expect_rows_of(lengths, width, at::kFloat);
  for (const int64_t width : {3, 15}) expect_rows_of(lengths, width, at::kDouble);
}

// A dense matrix that no core's cache holds is read by another loop.
TEST(Spmm, RowsOfALargeMatrix) {
  constexpr int64_t kRows = 6000;
  const at::Tensor columns = at::randint(0, kRows, {4 * kRows}, at::kInt);
  const at::Tensor offsets = at::arange(0, 4 * kRows + 1, 4, at::kLong), none = at::empty({0}, at::kLong);
  const at::Tensor values = at::randint(-2, 3, {4 * kRows}, at::kFloat);
  const at::Tensor rows = at::repeat_interleave(at::full({kRows}, 4, at::kLong));
  for (const int64_t width : {45, 61, 64, 67, 129}) {
    const at::Tensor x = at::randint(-2, 3, {kRows, width}, at::kFloat);
    const at::Tensor entries = values.unsqueeze(1) * x.index_select(0, columns);
    const at::Tensor expected = at::zeros({kRows, width}).index_add(0, rows, entries);
    EXPECT_TRUE(at::equal(ops::csr_matmul(offsets, columns, none, values, x), expected)) << width;
  }
}

// Enough entries that rows of more than 4,096 are worth several blocks; two such rows begin in one piece of
// 4,096, one ends at the end of such a piece.
TEST(Spmm, HubsOfLargeMatrices) {
  const std::vector<int64_t> lengths{100, 4097, 5000, 8192, 4996, 3, 20000, 0, 4096, 1 << 21, 9000};
  for (const int64_t width : {1, 4}) expect_rows_of(lengths, width, at::kDouble);
}

TEST(Spmm, SameBitsForAnyNumberOfThreads) {
  const Sparse sparse = sparse_matrix(300, 200, 0.2, at::kFloat);
  const at::Tensor values = at::randn({sparse.values.size(0)}).requires_grad_();
  const at::Tensor x = at::randn({200, 50}).requires_grad_();
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor output = spmm(sparse.pattern, values, x);
    std::vector<at::Tensor> now = torch::autograd::grad({output.square().sum()}, {values, x});
    now.push_back(output.detach());
    if (first.empty()) first = now;
    for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << k;
  }
}

TEST(Spmm, HasNoSecondDerivative) {
  const Sparse good = sparse_matrix(3, 3, 1.0, at::kFloat);
  const at::Tensor x = at::ones({3, 2}).requires_grad_();
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad({spmm(good.pattern, good.values, x).square().sum()}, {x}, {}, true, true);
            }),
            "qw::spmm: there is no second derivative; call backward without create_graph");
}

TEST(Spmm, Refusals) {
  const std::string on = " on " + test::device_name();
  const Sparse good = sparse_matrix(3, 4, 1.0, at::kFloat);
  const at::Tensor x = at::zeros({4, 2});
  EXPECT_EQ(refusal([&] {
              spmm(good.pattern, good.values, at::zeros({3, 2}));
            }),
            "qw::spmm: dense must be [4, C], a row for each column of the sparse matrix, got [3, 2]");
  EXPECT_EQ(refusal([&] { spmm(good.pattern, good.values.to(at::kDouble), x); }),
            "qw::spmm: values must be [12] of Float" + on + ", got [12] of Double" + on);
  EXPECT_EQ(refusal([&] { spmm(good.pattern, good.values.slice(0, 0, 5), x); }),
            "qw::spmm: values must be [12] of Float" + on + ", got [5] of Float" + on);
  EXPECT_EQ(refusal([&] { spmm(good.pattern, good.values, x, x); }),
            "qw::spmm: addend must be [3, 2] or [0] of Float on " + test::device_name() +
                ", got [4, 2] of Float on " + test::device_name());
  SparsePattern bad = good.pattern;
  bad.order = good.pattern.order.slice(0, 0, 5);
  EXPECT_EQ(refusal([&] { spmm(bad, good.values, x); }),
            "qw::spmm: order must have an entry for each of 12 entries, or none, got 5");
  bad = good.pattern;
  bad.transposed_columns = good.pattern.transposed_columns.slice(0, 0, 5);
  EXPECT_EQ(refusal([&] { spmm(bad, good.values, x); }),
            "qw::spmm: the matrix has 12 entries, its transpose 5");
  bad = good.pattern;
  bad.columns = good.pattern.columns.to(at::kLong);
  EXPECT_EQ(refusal([&] { spmm(bad, good.values, x); }),
            "qw::spmm: columns must be one contiguous row of Int, got Long [12]");
  bad = good.pattern;
  bad.offsets = good.pattern.offsets.slice(0, 0, 0);
  EXPECT_EQ(refusal([&] { spmm(bad, good.values, x); }),
            "qw::spmm: offsets must have one entry more than there are rows, got none");
}

TEST(Spmm, ChecksAlsoUnderInferenceMode) {
  const Sparse good = sparse_matrix(3, 4, 1.0, at::kFloat);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(spmm(good.pattern, good.values, at::ones({4, 2})), good.dense.mm(at::ones({4, 2}))));
  EXPECT_NE(refusal([&] { spmm(good.pattern, good.values, at::zeros({3, 2})); }), "not refused");
}

}  // namespace
}  // namespace qw
