#include "qw/ops/feature_norm.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "ops/feature_norm_parts.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

// `text`, which says "on cpu", for the device under test.
std::string here(std::string text) {
  const std::string cpu = "on cpu";
  for (size_t at = text.find(cpu); at != std::string::npos; at = text.find(cpu, at + 1))
    text.replace(at, cpu.size(), "on " + test::device_name());
  return text;
}

constexpr double kMomentum = 0.1, kEps = 1e-5;

// What a normalisation is given, and its running moments before and after.
struct Norm {
  at::Tensor x, weight, bias, running_mean, running_var;

  Norm(int64_t rows, int64_t width, at::ScalarType type) {
    at::manual_seed(rows * 1000 + width);
    x = (3 * at::randn({rows, width}, type) + at::randn({width}, type)).requires_grad_();
    weight = at::randn({width}, type).requires_grad_();
    bias = at::randn({width}, type).requires_grad_();
    running_mean = at::randn({width}, type);
    running_var = at::rand({width}, type) + 0.5;
  }

  at::Tensor batch(bool training) const {
    return batch_norm(x, weight, bias, running_mean, running_var, training, kMomentum, kEps);
  }
  at::Tensor torch_batch(bool training) const {
    return at::batch_norm(x, weight, bias, running_mean, running_var, training, kMomentum, kEps, false);
  }
  at::Tensor layer() const { return layer_norm(x, weight, bias, kEps); }
  at::Tensor torch_layer() const { return at::layer_norm(x, {x.size(1)}, weight, bias, kEps); }

  std::vector<at::Tensor> gradients(const at::Tensor& result, const at::Tensor& incoming) const {
    return torch::autograd::grad({result}, {x, weight, bias}, {incoming});
  }
};

void expect_close(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected,
                  double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k) {
    EXPECT_TRUE(at::allclose(found[k], expected[k], tolerance, tolerance)) << k;
  }
}

// 9000 rows are several blocks, also where the number of blocks is what bounds them.
template <class Body>
void for_shapes(std::initializer_list<int64_t> rows, const Body& body) {
  for (const int64_t count : rows) {
    for (const int64_t width : {1, 3, 7, 8, 64, 65}) {
      SCOPED_TRACE(testing::Message() << count << " x " << width);
      body(count, width);
    }
  }
}

TEST(BatchNorm, TrainsAsTorchDoes) {
  for_shapes({2, 3, 300, 9000}, [](int64_t rows, int64_t width) {
    const Norm ours(rows, width, at::kDouble), torchs(rows, width, at::kDouble);
    const at::Tensor found = ours.batch(true), expected = torchs.torch_batch(true);
    EXPECT_TRUE(at::allclose(found, expected, 1e-11, 1e-11));
    EXPECT_TRUE(at::allclose(ours.running_mean, torchs.running_mean, 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(ours.running_var, torchs.running_var, 1e-12, 1e-12));
    const at::Tensor incoming = at::randn({rows, width}, at::kDouble);
    expect_close(ours.gradients(found, incoming), torchs.gradients(expected, incoming), 1e-10);
  });
}

TEST(BatchNorm, UsesAndKeepsTheRunningMomentsOtherwise) {
  for_shapes({0, 1, 5, 300, 9000}, [](int64_t rows, int64_t width) {
    const Norm norm(rows, width, at::kDouble);
    const at::Tensor mean = norm.running_mean.clone(), var = norm.running_var.clone();
    const at::Tensor found = norm.batch(false);
    const at::Tensor expected = norm.weight * (norm.x - mean) / (var + kEps).sqrt() + norm.bias;
    EXPECT_TRUE(at::allclose(found, expected, 1e-12, 1e-12));
    EXPECT_TRUE(at::equal(norm.running_mean, mean));
    EXPECT_TRUE(at::equal(norm.running_var, var));
    const at::Tensor incoming = at::randn({rows, width}, at::kDouble);
    expect_close(norm.gradients(found, incoming), norm.gradients(expected, incoming), 1e-11);
  });
}

TEST(BatchNorm, RunningMomentsAfterSomeStepsAreTorchs) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    Norm ours(50, 6, type), torchs(50, 6, type);
    for (int step = 0; step < 20; ++step) {
      ours.x = torchs.x = step + at::randn({50 + step, 6}, type) * (1 + step);
      ours.batch(true);
      torchs.torch_batch(true);
    }
    const double tolerance = type == at::kFloat ? 1e-5 : 1e-13;
    expect_close({ours.running_mean, ours.running_var}, {torchs.running_mean, torchs.running_var}, tolerance);
    EXPECT_TRUE(at::allclose(ours.batch(false), torchs.torch_batch(false), tolerance, tolerance));
  }
}

TEST(BatchNorm, MomentumIsWhatIsForgotten) {
  const Norm norm(40, 3, at::kDouble);
  const at::Tensor mean = norm.running_mean.clone();
  batch_norm(norm.x, norm.weight, norm.bias, norm.running_mean, norm.running_var, true, 0.0);
  EXPECT_TRUE(at::equal(norm.running_mean, mean));
  batch_norm(norm.x, norm.weight, norm.bias, norm.running_mean, norm.running_var, true, 1.0);
  EXPECT_TRUE(at::allclose(norm.running_mean, norm.x.mean(0), 1e-13, 1e-13));
  EXPECT_TRUE(at::allclose(norm.running_var, norm.x.var(0), 1e-13, 1e-13));
}

TEST(BatchNorm, KeepsItsDigitsFarFromZero) {
  at::manual_seed(1);
  const at::Tensor ones = at::ones({2}, at::kDouble), zeros = at::zeros({2}, at::kDouble);
  const at::Tensor noise = at::randn({30000, 2}, at::kDouble);
  const at::Tensor near = batch_norm(noise, ones, zeros, zeros.clone(), ones.clone(), true);
  const at::Tensor far = batch_norm(noise + 1e8, ones, zeros, zeros.clone(), ones.clone(), true);
  EXPECT_TRUE(at::allclose(far, near, 0, 1e-7));
}

TEST(BatchNorm, AColumnOfOneNumberBecomesTheBias) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    Norm norm(20000, 3, type);
    norm.x = at::full({20000, 3}, 0.1, at::TensorOptions(type));
    EXPECT_TRUE(at::allclose(norm.batch(true), norm.bias.expand({20000, 3}), 1e-4, 1e-4));
  }
}

// Later steps of training change the running moments; a backward pass still to come must not see that.
TEST(BatchNorm, TheBackwardPassUsesTheMomentsOfItsForwardPass) {
  const Norm norm(10, 4, at::kDouble);
  const at::Tensor incoming = at::randn({10, 4}, at::kDouble);
  const auto expected = norm.gradients(norm.batch(false), incoming);
  const at::Tensor result = norm.batch(false);
  norm.running_mean.fill_(5);
  norm.running_var.fill_(100);
  const auto found = norm.gradients(result, incoming);
  for (size_t k = 0; k < found.size(); ++k) EXPECT_TRUE(at::equal(found[k], expected[k])) << k;
}

TEST(BatchNorm, ChangedMomentsAreMarked) {
  const Norm norm(10, 4, at::kFloat);
  const auto versions = [&] { return norm.running_mean._version() + norm.running_var._version(); };
  const auto before = versions();
  norm.batch(false);
  EXPECT_EQ(versions(), before);
  norm.batch(true);
  EXPECT_EQ(versions(), before + 2);
  const at::Tensor leaf = at::ones({4}).requires_grad_();
  const at::Tensor product = leaf * norm.running_mean;
  norm.batch(true);
  EXPECT_THAT(refusal([&] { torch::autograd::grad({product.sum()}, {leaf}); }),
              testing::HasSubstr("modified by an inplace operation"));
}

TEST(LayerNorm, IsTorchs) {
  for_shapes({0, 1, 2, 5, 300, 9000}, [](int64_t rows, int64_t width) {
    const Norm norm(rows, width, at::kDouble);
    const at::Tensor found = norm.layer(), expected = norm.torch_layer();
    // With one column the variance is 0: rounding is divided by sqrt(eps).
    EXPECT_TRUE(at::allclose(found, expected, 1e-11, 1e-11));
    const at::Tensor incoming = at::randn({rows, width}, at::kDouble);
    expect_close(norm.gradients(found, incoming), norm.gradients(expected, incoming), 1e-10);
  });
}

TEST(LayerNorm, NormalisesWideRows) {
  const Norm norm(3, 5000, at::kDouble);
  const at::Tensor found = norm.layer(), expected = norm.torch_layer();
  expect_close({found}, {expected}, 1e-11);
  const at::Tensor incoming = at::randn({3, 5000}, at::kDouble);
  expect_close(norm.gradients(found, incoming), norm.gradients(expected, incoming), 1e-10);
  const at::Tensor plain = layer_norm(norm.x, at::ones({5000}, at::kDouble), at::zeros({5000}, at::kDouble));
  EXPECT_TRUE(at::allclose(plain.mean(1), at::zeros({3}, at::kDouble), 0, 1e-13));
  EXPECT_TRUE(at::allclose(plain.square().mean(1), at::ones({3}, at::kDouble), 0, 1e-5));
}

TEST(LayerNorm, ARowOfOneNumberBecomesTheBias) {
  const Norm norm(4, 37, at::kFloat);
  const at::Tensor x = at::full({4, 37}, 0.1);
  EXPECT_TRUE(at::equal(layer_norm(x, norm.weight, norm.bias), norm.bias.expand({4, 37})));
}

// A row alone in its deviations' worst place: all but the first entry are the same.
TEST(LayerNorm, AnOutlierInFrontCostsNoDigits) {
  const Norm norm(1, 1000, at::kDouble);
  const at::Tensor x = at::full({1, 1000}, 1.0 / 3, at::kDouble);
  x[0][0] = 1e6;
  EXPECT_TRUE(at::allclose(layer_norm(x, norm.weight, norm.bias),
                           at::layer_norm(x, {1000}, norm.weight, norm.bias), 1e-10, 1e-10));
}

TEST(FeatureNorm, WhatIsNotFiniteShows) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    for (const int64_t column : {0, 2}) {
      Norm norm(4, 5, at::kFloat);
      norm.x = norm.x.detach();
      norm.x[1][column] = bad;
      EXPECT_TRUE(at::isnan(norm.layer()[1]).all().item<bool>());
      EXPECT_FALSE(at::isnan(norm.layer()[0]).any().item<bool>());
      EXPECT_TRUE(at::isnan(norm.batch(true).select(1, column)).all().item<bool>());
      EXPECT_FALSE(at::isnan(norm.batch(true).select(1, 1)).any().item<bool>());
    }
  }
}

TEST(FeatureNorm, SameBitsWhereverRowsLie) {
  const Norm norm(50, 19, at::kFloat);
  const at::Tensor incoming = at::randn({50, 19});
  const auto found_at = [&](int64_t offset) {
    Norm moved = norm;
    moved.x = at::empty({50 * 19 + offset}).slice(0, offset).view({50, 19});
    moved.x.copy_(norm.x.detach()).requires_grad_();
    std::vector<at::Tensor> found{
        moved.layer(), batch_norm(moved.x, norm.weight, norm.bias, at::zeros({19}), at::zeros({19}), true)};
    for (const at::Tensor& result : {found[0], found[1]}) {
      for (const at::Tensor& gradient : moved.gradients(result, incoming)) found.push_back(gradient);
    }
    return found;
  };
  const auto first = found_at(0);
  for (const int64_t offset : {1, 2, 3, 5}) {
    const auto now = found_at(offset);
    for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << offset << " " << k;
  }
}

TEST(FeatureNorm, NothingIsNormalisedWithoutColumns) {
  const Norm norm(4, 0, at::kFloat);
  EXPECT_EQ(norm.batch(true).sizes(), (std::vector<int64_t>{4, 0}));
  const at::Tensor result = norm.layer();
  EXPECT_EQ(result.sizes(), (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(norm.gradients(result, at::empty({4, 0}))[1].sizes(), (std::vector<int64_t>{0}));
}

TEST(FeatureNorm, FloatAgreesWithDouble) {
  const Norm exact(3000, 13, at::kDouble);
  Norm rough = exact;
  for (at::Tensor* tensor : {&rough.x, &rough.weight, &rough.bias}) {
    *tensor = tensor->detach().to(at::kFloat).requires_grad_();
  }
  rough.running_mean = exact.running_mean.to(at::kFloat);
  rough.running_var = exact.running_var.to(at::kFloat);
  const at::Tensor incoming = at::randn({3000, 13}, at::kDouble);
  const auto compare = [&](const at::Tensor& found, const at::Tensor& expected) {
    EXPECT_EQ(found.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), expected, 1e-5, 2e-6));
    const auto gradients = rough.gradients(found, incoming.to(at::kFloat));
    const auto wanted = exact.gradients(expected, incoming);
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_TRUE(at::allclose(gradients[k].to(at::kDouble), wanted[k], 1e-5, k == 0 ? 2e-6 : 2e-5)) << k;
    }
  };
  compare(rough.batch(true), exact.batch(true));
  compare(rough.batch(false), exact.batch(false));
  compare(rough.layer(), exact.layer());
}

TEST(FeatureNorm, SameBitsForAnyNumberOfThreads) {
  for (const int64_t width : {7, 64}) {
    const at::Tensor incoming = at::randn({20011, width});
    std::vector<at::Tensor> first;
    for (const int threads : {1, 2, 5}) {
      const test::ScopedThreads scope(threads);
      const Norm norm(20011, width, at::kFloat);
      std::vector<at::Tensor> now;
      for (const at::Tensor& result : {norm.batch(true), norm.batch(false), norm.layer()}) {
        for (const at::Tensor& gradient : norm.gradients(result, incoming)) now.push_back(gradient);
        now.push_back(result.detach());
      }
      now.push_back(norm.running_mean);
      now.push_back(norm.running_var);
      if (first.empty()) first = now;
      for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << k;
    }
  }
}

TEST(FeatureNorm, HowThingsAreStoredDoesNotMatter) {
  const Norm plain(37, 10, at::kFloat);
  Norm stored(37, 10, at::kFloat);
  stored.x = plain.x.detach().t().contiguous().t().requires_grad_();
  stored.weight = at::stack({plain.weight.detach(), plain.bias.detach()}, 1).select(1, 0).requires_grad_();
  stored.bias = at::stack({plain.weight.detach(), plain.bias.detach()}, 1).select(1, 1).requires_grad_();
  const at::Tensor incoming = at::randn({37, 10});
  const auto compare = [&](const at::Tensor& expected, const at::Tensor& found) {
    EXPECT_TRUE(at::equal(found, expected));
    const auto wanted = plain.gradients(expected, incoming);
    const auto got = stored.gradients(found, incoming.t().contiguous().t());
    for (size_t k = 0; k < wanted.size(); ++k) EXPECT_TRUE(at::equal(got[k], wanted[k])) << k;
  };
  compare(plain.batch(true), stored.batch(true));
  compare(plain.batch(false), stored.batch(false));
  compare(plain.layer(), stored.layer());
}

TEST(FeatureNorm, HasNoSecondDerivative) {
  const Norm norm(5, 3, at::kFloat);
  const auto twice = [&](const at::Tensor& result) {
    return refusal([&] { torch::autograd::grad({result.square().sum()}, {norm.x}, {}, true, true); });
  };
  EXPECT_EQ(twice(norm.batch(true)),
            "qw::batch_norm: there is no second derivative; call backward without create_graph");
  EXPECT_EQ(twice(norm.layer()),
            "qw::layer_norm: there is no second derivative; call backward without create_graph");
}

TEST(BatchNorm, Refusals) {
  const auto with = [](const std::function<void(ops::BatchNormInputs&)>& change) {
    const at::Tensor ones = at::ones({2});
    ops::BatchNormInputs in{at::ones({3, 2}), ones, ones, ones.clone(), ones.clone(), true, 0.1, 1e-5};
    change(in);
    return refusal([&] {
      batch_norm(in.x, in.weight, in.bias, in.running_mean, in.running_var, in.training, in.momentum, in.eps);
    });
  };
  EXPECT_EQ(with([](auto& in) { in.x = at::ones({3}); }), "qw::batch_norm: x must be [N, C], got [3]");
  EXPECT_EQ(with([](auto& in) {
              in.x = at::ones({3, 2}, at::kInt);
            }),
            "qw::batch_norm: x must be float32 or float64, got Int");
  EXPECT_EQ(with([](auto& in) {
              in.x = at::ones({1, 2});
            }),
            "qw::batch_norm: training needs at least 2 rows to take a variance of, got 1");
  EXPECT_EQ(with([](auto& in) { in.weight = at::ones({3}); }),
            here("qw::batch_norm: weight must be [2] of Float on cpu, got [3] of Float on cpu"));
  EXPECT_EQ(with([](auto& in) { in.bias = at::ones({2}, at::kDouble); }),
            here("qw::batch_norm: bias must be [2] of Float on cpu, got [2] of Double on cpu"));
  EXPECT_EQ(with([](auto& in) {
              in.running_mean = at::ones({2, 1});
            }),
            here("qw::batch_norm: running_mean must be [2] of Float on cpu, got [2, 1] of Float on cpu"));
  EXPECT_EQ(with([](auto& in) { in.running_var = at::ones({0}); }),
            here("qw::batch_norm: running_var must be [2] of Float on cpu, got [0] of Float on cpu"));
  EXPECT_EQ(with([](auto& in) {
              in.running_mean = at::ones({2, 2}).select(1, 0);
            }),
            "qw::batch_norm: running_mean must be contiguous");
  EXPECT_EQ(with([](auto& in) {
              in.running_var = at::ones({2, 2}).select(1, 0);
            }),
            "qw::batch_norm: running_var must be contiguous");
  EXPECT_EQ(with([](auto& in) { in.momentum = 1.5; }), "qw::batch_norm: momentum must be in [0, 1], got 1.5");
  EXPECT_EQ(with([](auto& in) { in.momentum = std::nan(""); }),
            "qw::batch_norm: momentum must be in [0, 1], got nan");
  EXPECT_EQ(with([](auto& in) { in.eps = 0; }), "qw::batch_norm: eps must be positive and finite, got 0");
}

TEST(LayerNorm, Refusals) {
  const at::Tensor x = at::ones({3, 2}), ones = at::ones({2});
  const auto refused = [](const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias,
                          double eps) { return refusal([&] { layer_norm(values, weight, bias, eps); }); };
  EXPECT_EQ(refused(at::ones({3}), ones, ones, kEps), "qw::layer_norm: x must be [N, C], got [3]");
  EXPECT_EQ(refused(at::ones({3, 2}, at::kInt), ones, ones, kEps),
            "qw::layer_norm: x must be float32 or float64, got Int");
  EXPECT_EQ(refused(x, at::ones({3}), ones, kEps),
            here("qw::layer_norm: weight must be [2] of Float on cpu, got [3] of Float on cpu"));
  EXPECT_EQ(refused(x, ones, at::ones({2}, at::kDouble), kEps),
            here("qw::layer_norm: bias must be [2] of Float on cpu, got [2] of Double on cpu"));
  EXPECT_EQ(refused(x, ones, ones, -1e-5), "qw::layer_norm: eps must be positive and finite, got -1e-05");
}

TEST(FeatureNorm, BackwardRefusals) {
  const at::Tensor x = at::ones({3, 2}), ones = at::ones({2});
  const auto by_column = at::ones({2, 2}, at::kDouble), by_row = at::ones({2, 3}, at::kDouble);
  EXPECT_EQ(refusal([&] { ops::batch_norm_backward(x, ones, by_row, x, true); }),
            here("qw::_batch_norm_backward: statistics must be [2, 2] of Double on cpu, got [2, 3] of Double "
                 "on cpu"));
  EXPECT_EQ(refusal([&] { ops::layer_norm_backward(x, ones, by_column, x); }),
            here("qw::_layer_norm_backward: statistics must be [2, 3] of Double on cpu, got [2, 2] of Double "
                 "on cpu"));
  EXPECT_EQ(
      refusal([&] {
        ops::batch_norm_backward(x, ones, by_column, at::ones({2, 3}), true);
      }),
      here("qw::_batch_norm_backward: gradient must be [3, 2] of Float on cpu, got [2, 3] of Float on cpu"));
  EXPECT_EQ(refusal([&] { ops::layer_norm_backward(x, at::ones({3}), by_row, x); }),
            here("qw::_layer_norm_backward: weight must be [2] of Float on cpu, got [3] of Float on cpu"));
}

TEST(FeatureNorm, ChecksAlsoUnderInferenceMode) {
  const Norm outside(30, 4, at::kFloat), inside(30, 4, at::kFloat);
  const at::Tensor batch = outside.batch(true), layer = outside.layer();
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(inside.batch(true), batch));
  EXPECT_TRUE(at::equal(inside.running_mean, outside.running_mean));
  EXPECT_TRUE(at::equal(inside.running_var, outside.running_var));
  EXPECT_TRUE(at::equal(inside.layer(), layer));
  EXPECT_NE(refusal([&] { layer_norm(inside.x, at::ones({3}), inside.bias); }), "not refused");
  EXPECT_NE(refusal([&] {
              batch_norm(at::ones({1, 4}), inside.weight, inside.bias, inside.running_mean,
                         inside.running_var, true);
            }),
            "not refused");
}

}  // namespace
}  // namespace qw
