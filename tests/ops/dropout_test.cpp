#include "qw/ops/dropout.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "kernels/dropout.h"
#include "ops/dropout_parts.h"
#include "qw/core/random.h"
#include "support/sparse.h"
#include "support/support.h"

namespace qw {
namespace {

using test::refusal;

const DropoutKey kKey{7, 11, 2};

bool is_kept(uint64_t element, double p, const DropoutKey& key) {
  const uint64_t block = element / 4;
  const PhiloxBlock bits = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                   static_cast<uint32_t>(key.layer), static_cast<uint32_t>(key.epoch)},
                                  static_cast<uint64_t>(key.seed));
  return static_cast<double>(bits[element % 4]) >= p * 0x1p32;
}

class DropoutOf : public testing::TestWithParam<at::ScalarType> {};

// Whole numbers and p whose 1 / (1 - p) is one: equal to the last bit, at every tail of a batch.
TEST_P(DropoutOf, KeepsWhatPhiloxSaysAndScalesIt) {
  for (const double p : {0.5, 0.75}) {
    for (const int64_t size : {0, 1, 3, 4, 5, 63, 127, 128, 129, 1000}) {
      const at::Tensor values = at::arange(1, size + 1, GetParam());
      at::Tensor expected = at::zeros_like(values);
      for (int64_t i = 0; i < size; ++i) {
        if (is_kept(i, p, kKey)) expected[i] = static_cast<double>(i + 1) / (1.0 - p);
      }
      EXPECT_TRUE(at::equal(dropout(values, p, kKey), expected)) << p << " " << size;
    }
  }
}

TEST_P(DropoutOf, EveryWordOfTheKeyCounts) {
  const at::Tensor ones = at::ones({1000}, GetParam());
  const at::Tensor mask = dropout(ones, 0.5, kKey);
  const int64_t large = int64_t{1} << 31;
  for (const DropoutKey& other :
       {DropoutKey{8, 11, 2}, DropoutKey{7, 12, 2}, DropoutKey{7, 11, 3}, DropoutKey{7, 2, 11},
        DropoutKey{-7, 11, 2}, DropoutKey{7 + (int64_t{1} << 32), 11, 2}, DropoutKey{7, 11 + large, 2},
        DropoutKey{7, 11, 2 + large}}) {
    const at::Tensor now = dropout(ones, 0.5, other);
    const auto different = at::ne(now, mask).sum().item<int64_t>();
    EXPECT_GT(different, 400);
    EXPECT_LT(different, 600);
    for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(now[i].item<double>() != 0.0, is_kept(i, 0.5, other)) << i;
  }
}

// The mean of n ones is 1 +- sqrt(p / (1 - p) / n), their variance p / (1 - p).
TEST_P(DropoutOf, HasTheMeanAndVarianceOfDropout) {
  constexpr int64_t kSize = 1 << 20;
  for (const double p : {0.1, 0.5, 0.9}) {
    const at::Tensor dropped = dropout(at::ones({kSize}, GetParam()), p, kKey).to(at::kDouble);
    const double variance = p / (1.0 - p);
    EXPECT_NEAR(dropped.mean().item<double>(), 1.0, 5.0 * std::sqrt(variance / kSize)) << p;
    EXPECT_NEAR(dropped.var().item<double>(), variance, 0.02 * variance) << p;
  }
}

TEST_P(DropoutOf, GradientHasTheMaskOfTheValue) {
  const at::Tensor values = at::ones({40, 25}, GetParam()).requires_grad_();
  const at::Tensor output = dropout(values, 0.3, kKey);
  const at::Tensor gradient = torch::autograd::grad({output.sum()}, {values})[0];
  EXPECT_TRUE(at::equal(gradient, output.detach()));
}

TEST_P(DropoutOf, ElementsCountInRowMajorOrderHoweverTheyAreStored) {
  const at::Tensor values = at::randn({30, 50}, GetParam());
  const at::Tensor expected = dropout(values, 0.4, kKey);
  EXPECT_TRUE(at::equal(dropout(values.t().contiguous().t(), 0.4, kKey), expected));
  EXPECT_TRUE(at::equal(dropout(values.reshape({5, 6, 50}), 0.4, kKey).reshape({30, 50}), expected));
  EXPECT_TRUE(at::equal(dropout(values.flatten(), 0.4, kKey).reshape({30, 50}), expected));
}

TEST_P(DropoutOf, DroppedIsZeroWhateverItWas) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, std::nan("")}) {
    const at::Tensor dropped = dropout(at::full({500}, bad, at::TensorOptions(GetParam())), 0.5, kKey);
    const at::Tensor mask = dropout(at::ones({500}, GetParam()), 0.5, kKey);
    EXPECT_TRUE(at::equal(dropped == 0, mask == 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DropoutOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(Dropout, RowsOfALargerMatrixHaveItsMask) {
  const at::Tensor whole = at::randn({301, 7}, at::kDouble);
  const at::Tensor dropped = dropout(whole, 0.4, kKey);
  const at::Tensor rows = at::tensor({300, 0, 5, 6, 7, 128, 17}, at::kLong);
  DropoutKey key = kKey;
  key.rows = rows;
  EXPECT_TRUE(dropout(whole.index_select(0, rows), 0.4, key).equal(dropped.index_select(0, rows)));
  EXPECT_TRUE(dropout(whole, 0.0, kKey).is_same(whole));
}

TEST(Dropout, RowsOfALongerListHaveItsMask) {
  const at::Tensor whole = at::randn({1000}, at::kDouble);
  const at::Tensor dropped = dropout(whole, 0.4, kKey);
  const at::Tensor begins = at::tensor({0, 3, 3, 303, 310}, at::kLong);
  const at::Tensor firsts = at::tensor({990, 12, 130, 1}, at::kLong);
  const auto picked = [&](const at::Tensor& from) {
    return at::cat({from.slice(0, 990, 993), from.slice(0, 130, 430), from.slice(0, 1, 8)});
  };
  EXPECT_TRUE(dropout_of_rows(picked(whole), begins, firsts, 0.4, kKey).equal(picked(dropped)));
  EXPECT_EQ(refusal([&] { dropout_of_rows(whole, begins, firsts.to(at::kInt), 0.4, kKey); }),
            "qw::dropout: rows of a longer list need begins [R + 1] and firsts [R] of Long, where they are");
}

TEST(Dropout, IsDifferentiableTwice) {
  const at::Tensor values = at::randn({100}, at::kDouble).requires_grad_();
  const at::Tensor mask = dropout(at::ones({100}, at::kDouble), 0.5, kKey);
  const at::Tensor cube = dropout(values, 0.5, kKey).pow(3).sum();
  const at::Tensor first = torch::autograd::grad({cube}, {values}, {}, true, true)[0];
  const at::Tensor second = torch::autograd::grad({first.sum()}, {values})[0];
  EXPECT_TRUE(at::allclose(first, 3 * mask.pow(3) * values.square(), 1e-14, 1e-14));
  EXPECT_TRUE(at::allclose(second, 6 * mask.pow(3) * values, 1e-14, 1e-14));
}

TEST(Dropout, CountersGoOnPast32Bits) {
  const kernels::DropoutRule rule{0.5, 7, 11, 2};
  for (const uint64_t batch :
       {uint64_t{0}, (uint64_t{1} << 27) - 1, uint64_t{1} << 27, (uint64_t{5} << 31) + 3}) {
    uint32_t bits[kernels::kDropoutBatch];
    kernels::dropout_bits(rule, batch, bits);
    for (uint64_t i = 0; i < kernels::kDropoutBatch; ++i) {
      const uint64_t block = (batch * kernels::kDropoutBatch + i) / 4;
      const PhiloxBlock expected =
          philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 2, 11}, 7);
      ASSERT_EQ(bits[i], expected[i % 4]) << batch << " " << i;
    }
  }
}

TEST(Dropout, NothingIsDroppedAtZeroAndAllJustBelowOne) {
  const at::Tensor values = at::randn({300});
  EXPECT_TRUE(dropout(values, 0.0, kKey).is_same(values));
  const at::Tensor copy = ops::dropout_operator(values, 0.0, kKey);
  EXPECT_TRUE(at::equal(copy, values));
  EXPECT_NE(copy.data_ptr(), values.data_ptr());
  EXPECT_TRUE(at::equal(dropout(values, std::nextafter(1.0, 0.0), kKey), at::zeros({300})));
}

TEST(Dropout, SameBitsForAnyNumberOfThreads) {
  const at::Tensor values = at::randn({100003}).requires_grad_();
  at::Tensor first, first_gradient;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor now = dropout(values, 0.3, kKey);
    const at::Tensor gradient = torch::autograd::grad({now.square().sum()}, {values})[0];
    if (!first.defined()) first = now, first_gradient = gradient;
    EXPECT_TRUE(at::equal(now, first)) << threads;
    EXPECT_TRUE(at::equal(gradient, first_gradient)) << threads;
  }
}

TEST(Dropout, Refusals) {
  const at::Tensor values = at::ones({3});
  EXPECT_EQ(refusal([&] { dropout(at::ones({3}, at::kInt), 0.5, kKey); }),
            "qw::dropout: values must be float32 or float64, got Int");
  EXPECT_EQ(refusal([&] { dropout(at::ones({3}, at::kInt), 0.0, kKey); }),
            "qw::dropout: values must be float32 or float64, got Int");
  EXPECT_EQ(refusal([&] { dropout(values, 1.0, kKey); }), "qw::dropout: p must be in [0, 1), got 1");
  EXPECT_EQ(refusal([&] { dropout(values, -0.5, kKey); }), "qw::dropout: p must be in [0, 1), got -0.5");
  EXPECT_EQ(refusal([&] { dropout(values, std::nan(""), kKey); }),
            "qw::dropout: p must be in [0, 1), got nan");
  EXPECT_EQ(refusal([&] {
              dropout(values, 0.5, {1, -1, 0});
            }),
            "qw::dropout: epoch must be in [0, 2^32), got -1");
  EXPECT_EQ(refusal([&] {
              dropout(values, 0.5, {1, 0, int64_t{1} << 32});
            }),
            "qw::dropout: layer must be in [0, 2^32), got 4294967296");
}

TEST(Dropout, ChecksAlsoUnderInferenceMode) {
  const at::Tensor values = at::ones({30});
  const at::Tensor expected = dropout(values, 0.5, kKey);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(dropout(values, 0.5, kKey), expected));
  EXPECT_NE(refusal([&] { dropout(values, 1.5, kKey); }), "not refused");
}

}  // namespace
}  // namespace qw
