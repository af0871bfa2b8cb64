#include "qw/ops/dense_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "qw/core/work.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

// Small whole numbers: every product and sum below is exact in float32, in whatever order it is taken.
at::Tensor whole_numbers(int64_t rows, int64_t columns, at::ScalarType type) {
  return at::randint(-3, 4, {rows, columns}, type);
}

at::Tensor row_major(const at::Tensor& matrix) { return matrix.contiguous(); }
at::Tensor column_major(const at::Tensor& matrix) { return matrix.t().contiguous().t(); }
at::Tensor with_gaps(const at::Tensor& matrix) {
  return at::cat({matrix, matrix, matrix}, 1).slice(1, 0, matrix.size(1));
}

struct Shape {
  int64_t rows, in, out;
};
// One block of rows and several; one block of columns and several; nothing at all; so many rows that the
// gradient of the weight is summed in chunks; and for a GPU enough of everything for each size of its tiles.
const Shape kShapes[] = {{1, 1, 1},       {7, 5, 3},       {0, 5, 3},      {7, 0, 3},       {7, 5, 0},
                         {0, 0, 0},       {300, 17, 4},    {600, 100, 50}, {1, 300, 7},     {20, 300, 70},
                         {65536, 2, 3},   {140001, 3, 2},  {3000, 200, 1}, {33000, 70, 12}, {33000, 20, 40},
                         {33000, 70, 66}, {33000, 70, 33}, {1500, 70, 7},  {1500, 7, 66},   {1500, 66, 40}};

class DenseLinearOf : public testing::TestWithParam<at::ScalarType> {};

TEST_P(DenseLinearOf, ValuesAndGradientsAreThoseOfProducts) {
  at::manual_seed(1);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.in << " x " << shape.out);
    const at::Tensor x = whole_numbers(shape.rows, shape.in, GetParam()).requires_grad_();
    const at::Tensor weight = whole_numbers(shape.out, shape.in, GetParam()).requires_grad_();
    const at::Tensor upstream = whole_numbers(shape.rows, shape.out, GetParam());
    const at::Tensor y = dense_linear(x, weight);
    EXPECT_EQ(y.scalar_type(), GetParam());
    EXPECT_TRUE(y.is_contiguous());
    const auto in_double = [](const at::Tensor& tensor) { return tensor.detach().to(at::kDouble); };
    EXPECT_TRUE(at::equal(in_double(y), in_double(x).mm(in_double(weight).t())));
    const auto gradients = torch::autograd::grad({y}, {x, weight}, {upstream});
    EXPECT_TRUE(at::equal(in_double(gradients[0]), in_double(upstream).mm(in_double(weight))));
    EXPECT_TRUE(at::equal(in_double(gradients[1]), in_double(upstream).t().mm(in_double(x))));
  }
}

TEST_P(DenseLinearOf, EveryMemoryOrderGivesTheSame) {
  at::manual_seed(2);
  const at::Tensor x = whole_numbers(1200, 150, GetParam());
  const at::Tensor weight = whole_numbers(40, 150, GetParam());
  const at::Tensor upstream = whole_numbers(1200, 40, GetParam());
  for (const auto& lay_x : {row_major, column_major, with_gaps}) {
    for (const auto& lay_weight : {row_major, column_major, with_gaps}) {
      for (const auto& lay_upstream : {row_major, column_major}) {
        const at::Tensor laid_x = lay_x(x).requires_grad_();
        const at::Tensor laid_weight = lay_weight(weight).requires_grad_();
        const at::Tensor y = dense_linear(laid_x, laid_weight);
        EXPECT_TRUE(at::equal(y, x.mm(weight.t())));
        const auto gradients = torch::autograd::grad({y}, {laid_x, laid_weight}, {lay_upstream(upstream)});
        EXPECT_TRUE(at::equal(gradients[0], upstream.mm(weight)));
        EXPECT_TRUE(at::equal(gradients[1], upstream.t().mm(x)));
      }
    }
  }
}

TEST_P(DenseLinearOf, TakesViewsThatRepeatTheirMemory) {
  const at::Tensor row = whole_numbers(1, 6, GetParam());
  const at::Tensor weight = whole_numbers(4, 6, GetParam()).requires_grad_();
  const at::Tensor y = dense_linear(row.expand({70000, 6}), weight);
  EXPECT_TRUE(at::equal(y.detach(), row.mm(weight.detach().t()).expand({70000, 4})));
  // The gradient of a sum is one number in all places.
  const at::Tensor gradient = torch::autograd::grad({y.sum()}, {weight})[0];
  EXPECT_TRUE(at::equal(gradient, (70000 * row).expand({4, 6})));
}

INSTANTIATE_TEST_SUITE_P(Types, DenseLinearOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(DenseLinear, RoundsAsProductsDo) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({700, 400}, at::kDouble).requires_grad_();
  const at::Tensor weight = at::randn({33, 400}, at::kDouble).requires_grad_();
  const at::Tensor upstream = at::randn({700, 33}, at::kDouble);
  const at::Tensor y = dense_linear(x, weight), expected = x.mm(weight.t());
  EXPECT_TRUE(at::allclose(y, expected, 0.0, 1e-12));
  const auto ours = torch::autograd::grad({y}, {x, weight}, {upstream});
  const auto theirs = torch::autograd::grad({expected}, {x, weight}, {upstream});
  EXPECT_TRUE(at::allclose(ours[0], theirs[0], 0.0, 1e-12));
  EXPECT_TRUE(at::allclose(ours[1], theirs[1], 0.0, 1e-12));
}

struct Products {
  at::Tensor y, x_gradient, weight_gradient;
};

Products products(const Shape& shape, at::ScalarType type) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({shape.rows, shape.in}, type).requires_grad_();
  const at::Tensor weight = column_major(at::randn({shape.out, shape.in}, type)).requires_grad_();
  const at::Tensor upstream = at::randn({shape.rows, shape.out}, type);
  const at::Tensor y = dense_linear(x, weight);
  const auto gradients = torch::autograd::grad({y}, {x, weight}, {upstream});
  return {y.detach(), gradients[0], gradients[1]};
}

void expect_same_bits(const Products& actual, const Products& expected) {
  EXPECT_TRUE(at::equal(actual.y, expected.y));
  EXPECT_TRUE(at::equal(actual.x_gradient, expected.x_gradient));
  EXPECT_TRUE(at::equal(actual.weight_gradient, expected.weight_gradient));
}

// Large enough for a BLAS with threads of its own to use them.
const Shape kLarge[] = {{200, 1500, 300}, {1500, 300, 17}, {3000, 700, 64}, {140001, 5, 7}};

TEST(DenseLinear, SameBitsForAnyNumberOfThreads) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const Shape& shape : kLarge) {
      const auto with_threads = [&](int count) {
        const test::ScopedThreads scope(count);
        return products(shape, type);
      };
      const Products expected = with_threads(1);
      expect_same_bits(with_threads(2), expected);
      expect_same_bits(with_threads(5), expected);
    }
  }
}

// OpenBLAS rounds by how many threads it has, which is the user's choice.
class OpenBlas {
 public:
  bool is_here() const { return get_ != nullptr && set_ != nullptr; }
  int threads() const { return get_(); }
  void set_threads(int count) const { set_(count); }

 private:
  int (*get_)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  void (*set_)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
};

TEST(DenseLinear, LeavesTheThreadsOfOthersAloneAndDoesNotHeedThem) {
  const OpenBlas blas;
  if (!blas.is_here()) GTEST_SKIP() << "torch's BLAS is not OpenBLAS";
  const int blas_threads = blas.threads(), torch_threads = at::get_num_threads();
  blas.set_threads(1);
  const Products expected = products(kLarge[0], at::kFloat);
  for (const int count : {1, 2, 3}) {
    blas.set_threads(count);
    at::set_num_threads(count + 1);
    expect_same_bits(products(kLarge[0], at::kFloat), expected);
    EXPECT_EQ(blas.threads(), count);
    EXPECT_EQ(at::get_num_threads(), count + 1);
  }
  at::set_num_threads(torch_threads);
  blas.set_threads(blas_threads);
}

// One call ends while others run.
TEST(DenseLinear, SameBitsWhenSeveralThreadsCall) {
  const at::Tensor x = at::randn({2000, 1433}), weight = at::randn({64, 1433});
  const at::Tensor y = dense_linear(x, weight);
  std::vector<std::thread> callers;
  std::atomic<int> different{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      for (int repeat = 0; repeat < 4 + caller; ++repeat) different += !dense_linear(x, weight).equal(y);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, 0);
}

TEST(DenseLinear, MakesOnlyTheGradientsAskedFor) {
  constexpr int64_t kRows = 30, kIn = 20, kOut = 10;
  const auto flops_of_backward = [&](bool x_asked, bool weight_asked) {
    const at::Tensor x = at::randn({kRows, kIn}).requires_grad_(x_asked);
    const at::Tensor weight = at::randn({kOut, kIn}).requires_grad_(weight_asked);
    const at::Tensor loss = dense_linear(x, weight).sum();
    const Work before = work_done();
    loss.backward();
    EXPECT_EQ(x.grad().defined(), x_asked);
    EXPECT_EQ(weight.grad().defined(), weight_asked);
    return work_done().flops - before.flops;
  };
  constexpr int64_t kProduct = 2 * kRows * kIn * kOut;
  EXPECT_EQ(flops_of_backward(true, false), kProduct);
  EXPECT_EQ(flops_of_backward(false, true), kProduct);
  EXPECT_EQ(flops_of_backward(true, true), 2 * kProduct);
  EXPECT_FALSE(dense_linear(at::ones({2, 3}), at::ones({4, 3})).requires_grad());
  const at::NoGradGuard no_gradient;
  EXPECT_FALSE(dense_linear(at::ones({2, 3}).requires_grad_(), at::ones({4, 3})).requires_grad());
}

TEST(DenseLinear, CountsItsWork) {
  const Work before = work_done();
  dense_linear(at::ones({5, 3}), at::ones({2, 3}));
  const Work after = work_done();
  EXPECT_EQ(after.flops - before.flops, 2 * 5 * 3 * 2);
  EXPECT_EQ(after.bytes - before.bytes, 4 * (5 * 3 + 2 * 3 + 5 * 2));
}

// What no gradient needs is not kept, so that it may change; what one needs is watched.
TEST(DenseLinear, KeepsOnlyWhatGradientsNeed) {
  const at::Tensor leaf = at::ones({2, 3}).requires_grad_();
  const at::Tensor x = leaf * 1.0, weight = at::ones({4, 3});
  const at::Tensor loss = dense_linear(x, weight).sum();
  x.add_(1.0);
  EXPECT_TRUE(at::equal(torch::autograd::grad({loss}, {leaf}, {}, true)[0], at::full({2, 3}, 4.0)));
  weight.add_(1.0);
  EXPECT_THROW(torch::autograd::grad({loss}, {leaf}), c10::Error);
}

// Adam needs the gradient in the order of the parameter.
TEST(DenseLinear, TheGradientOfAWeightLiesAsParametersDo) {
  for (const int64_t rows : {9, 70000}) {
    const at::Tensor weight = column_major(at::randn({4, 3})).requires_grad_();
    const at::Tensor loss = dense_linear(at::randn({rows, 3}), weight).square().sum();
    const at::Tensor gradient = torch::autograd::grad({loss}, {weight}, {}, true)[0];
    EXPECT_EQ(gradient.strides(), weight.strides());
    EXPECT_EQ(gradient.storage().nbytes(), 4u * 3u * sizeof(float));  // and keeps no other sums alive
    loss.backward();
    EXPECT_EQ(weight.grad().strides(), weight.strides());
  }
}

TEST(DenseLinear, RefusesASecondDerivative) {
  const at::Tensor x = at::randn({3, 2}).requires_grad_();
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad({dense_linear(x, at::ones({4, 2})).square().sum()}, {x}, {}, true, true);
            }),
            "qw::dense_linear: there is no second derivative; call backward without create_graph");
}

TEST(DenseLinear, Refusals) {
  const std::string on = " on " + test::device_name();
  const auto with = [](const at::Tensor& x, const at::Tensor& weight) {
    return refusal([&] { dense_linear(x, weight); });
  };
  const at::Tensor x = at::ones({3, 2});
  EXPECT_EQ(with(at::ones({3}), x), "qw::dense_linear: x must be [N, in], got [3]");
  EXPECT_EQ(with(at::ones({3, 2}, at::kInt), at::ones({4, 2}, at::kInt)),
            "qw::dense_linear: x must be float32 or float64, got Int");
  EXPECT_EQ(with(x, at::ones({2})),
            "qw::dense_linear: weight must be [out, 2] of Float" + on + ", got [2] of Float" + on);
  EXPECT_EQ(with(x, at::ones({2, 4})),
            "qw::dense_linear: weight must be [out, 2] of Float" + on + ", got [2, 4] of Float" + on);
  EXPECT_EQ(with(x, at::ones({4, 2}, at::kDouble)),
            "qw::dense_linear: weight must be [out, 2] of Float" + on + ", got [4, 2] of Double" + on);
  EXPECT_EQ(with(x, ::at::empty({4, 2}, at::TensorOptions(at::kMeta))),
            "qw::dense_linear: weight must be [out, 2] of Float" + on + ", got [4, 2] of Float on meta");
  EXPECT_EQ(with(at::ones({3, 2}).requires_grad_(), at::ones({2, 4})),
            "qw::dense_linear: weight must be [out, 2] of Float" + on + ", got [2, 4] of Float" + on);
}

TEST(DenseLinear, RunsAndChecksUnderInferenceMode) {
  const at::Tensor x = at::randn({1500, 300}).requires_grad_(), weight = at::randn({17, 300});
  const at::Tensor expected = dense_linear(x, weight).detach();
  const c10::InferenceMode mode;
  for (const int threads : {1, 5}) {
    const test::ScopedThreads scope(threads);
    EXPECT_TRUE(at::equal(dense_linear(x, weight), expected));
    EXPECT_TRUE(at::equal(dense_linear(x.clone(), weight.clone()), expected));
  }
  EXPECT_NE(refusal([&] { dense_linear(x, at::ones({17, 4})); }), "not refused");
}

}  // namespace
}  // namespace qw
