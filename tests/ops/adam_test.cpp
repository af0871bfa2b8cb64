#include "qw/ops/adam.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adam.h>

#include <cmath>

#include "qw/core/work.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

struct Rule {
  double lr = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
};

// Parameters with their moments, and the steps made.
struct Training {
  std::vector<at::Tensor> parameters, first_moments, second_moments;
  int64_t steps = 0;

  Training(const std::vector<std::vector<int64_t>>& shapes, at::ScalarType type) {
    at::manual_seed(3);
    for (const auto& shape : shapes) {
      parameters.push_back(at::randn(shape, type));
      first_moments.push_back(at::zeros(shape, type));
      second_moments.push_back(at::zeros(shape, type));
    }
  }

  void step(const std::vector<at::Tensor>& gradients, const Rule& rule) {
    adam_(parameters, gradients, first_moments, second_moments, rule.lr, rule.beta1, rule.beta2, rule.eps,
          rule.weight_decay, ++steps);
  }

  std::vector<at::Tensor> gradients_now() const {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters) gradients.push_back(at::randn_like(parameter));
    return gradients;
  }
};

const std::vector<std::vector<int64_t>> kShapes{{37, 64}, {64}, {}, {0, 5}, {3, 4, 5}, {1024}, {1025}, {7}};

class AdamOf : public testing::TestWithParam<at::ScalarType> {};

TEST_P(AdamOf, IsTorchsAdam) {
  const double tolerance = GetParam() == at::kDouble ? 1e-12 : 1e-5;
  for (const Rule& rule : {Rule{}, Rule{0.01, 0.9, 0.999, 1e-8, 5e-4}, Rule{0.1, 0.5, 0.9, 1e-3, 0.1},
                           Rule{0.01, 0.0, 0.0, 1e-8, 0.0}}) {
    Training ours(kShapes, GetParam());
    std::vector<at::Tensor> theirs;
    for (const at::Tensor& parameter : ours.parameters) theirs.push_back(parameter.clone().requires_grad_());
    torch::optim::Adam reference(theirs, torch::optim::AdamOptions(rule.lr)
                                             .betas({rule.beta1, rule.beta2})
                                             .eps(rule.eps)
                                             .weight_decay(rule.weight_decay));
    for (int step = 0; step < 20; ++step) {
      const auto gradients = ours.gradients_now();
      for (size_t i = 0; i < theirs.size(); ++i) theirs[i].mutable_grad() = gradients[i];
      reference.step();
      ours.step(gradients, rule);
    }
    for (size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_TRUE(at::allclose(ours.parameters[i], theirs[i].detach(), tolerance, tolerance)) << i;
    }
  }
}

// From zero moments the first step is lr * sign(gradient) when eps is 0.
TEST_P(AdamOf, FirstStepHasTheLengthOfTheRate) {
  Training training({{200}}, GetParam());
  const at::Tensor before = training.parameters[0].clone();
  const auto gradients = training.gradients_now();
  training.step(gradients, {0.25, 0.9, 0.999, 0.0, 0.0});
  EXPECT_TRUE(at::allclose(training.parameters[0], before - 0.25 * gradients[0].sign(), 1e-5, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Types, AdamOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(Adam, SameBitsForAnyNumberOfThreads) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    std::vector<at::Tensor> first;
    for (const int threads : {1, 2, 5}) {
      const test::ScopedThreads scope(threads);
      Training training({{301, 333}, {17}, {5000, 3}, {64}}, type);
      for (int step = 0; step < 3; ++step) training.step(training.gradients_now(), {});
      if (first.empty()) first = training.parameters;
      for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(at::equal(training.parameters[i], first[i])) << threads << " " << i;
      }
    }
  }
}

TEST(Adam, SkipsAParameterWithoutGradient) {
  Training training({{5}, {6}, {7}}, at::kFloat);
  Training alone({{5}, {6}, {7}}, at::kFloat);
  auto gradients = training.gradients_now();
  alone.step(gradients, {});
  gradients[1] = at::Tensor();
  const at::Tensor before = training.parameters[1].clone();
  training.first_moments[1] = at::Tensor();
  training.step(gradients, {});
  EXPECT_TRUE(at::equal(training.parameters[1], before));
  EXPECT_TRUE(at::equal(training.parameters[0], alone.parameters[0]));
  EXPECT_TRUE(at::equal(training.parameters[2], alone.parameters[2]));
  training.step({at::Tensor(), at::Tensor(), at::Tensor()}, {});
  EXPECT_TRUE(at::equal(training.parameters[0], alone.parameters[0]));
}

TEST(Adam, TakesLeavesThatRequireAGradient) {
  Training training({{5}}, at::kDouble);
  const at::Tensor leaf = training.parameters[0].requires_grad_();
  for (int step = 0; step < 500; ++step) {
    training.step(torch::autograd::grad({leaf.square().sum()}, {leaf}), {.lr = 0.1});
  }
  EXPECT_TRUE(leaf.is_leaf());
  EXPECT_TRUE(leaf.requires_grad());
  EXPECT_LT(leaf.abs().max().item<double>(), 1e-3);
}

TEST(Adam, ABackwardPassNoticesTheStep) {
  Training training({{5}}, at::kDouble);
  const at::Tensor leaf = training.parameters[0].requires_grad_();
  const at::Tensor loss = leaf.square().sum();
  training.step({at::ones({5}, at::kDouble)}, {});
  EXPECT_THROW(torch::autograd::grad({loss}, {leaf}), c10::Error);
}

TEST(Adam, AnEmptyListIsNoWork) {
  const Work before = work_done();
  Training({}, at::kFloat).step({}, {});
  EXPECT_EQ(work_done().flops, before.flops);
  EXPECT_EQ(work_done().bytes, before.bytes);
}

TEST(Adam, RefusesRulesThatAreNone) {
  const auto with = [](const Rule& rule) {
    return refusal([&] { Training({{2}}, at::kFloat).step({at::ones({2})}, rule); });
  };
  EXPECT_EQ(with({.lr = -1.0}), "qw::adam_: lr must be finite and not negative, got -1");
  EXPECT_EQ(with({.lr = std::nan("")}), "qw::adam_: lr must be finite and not negative, got nan");
  EXPECT_EQ(with({.beta1 = 1.0}), "qw::adam_: beta1 must be in [0, 1), got 1");
  EXPECT_EQ(with({.beta2 = -0.5}), "qw::adam_: beta2 must be in [0, 1), got -0.5");
  EXPECT_EQ(with({.eps = -1.0}), "qw::adam_: eps must be finite and not negative, got -1");
  EXPECT_EQ(with({.weight_decay = -1.0}), "qw::adam_: weight_decay must be finite and not negative, got -1");
  EXPECT_EQ(refusal([] {
              Training training({{2}}, at::kFloat);
              training.steps = -1;
              training.step({at::ones({2})}, {});
            }),
            "qw::adam_: step counts from 1, got 0");
  EXPECT_EQ(refusal([] { Training({}, at::kFloat).step({}, {.lr = -1.0}); }),
            "qw::adam_: lr must be finite and not negative, got -1");
}

TEST(Adam, RefusesTensorsThatDoNotFit) {
  const std::string on = " on " + test::device_name();
  const auto with = [](const std::function<void(Training&, std::vector<at::Tensor>&)>& spoil) {
    Training training({{2}, {3, 4}}, at::kFloat);
    auto gradients = training.gradients_now();
    spoil(training, gradients);
    const at::Tensor before = training.parameters[0].clone();
    const std::string text = refusal([&] { training.step(gradients, {}); });
    EXPECT_TRUE(at::equal(training.parameters[0], before));
    return text;
  };
  EXPECT_EQ(with([](Training&, auto& gradients) { gradients.pop_back(); }),
            "qw::adam_: 2 parameters need as many gradients, first and second moments, got 1, 2 and 2");
  EXPECT_EQ(with([](Training& training, auto&) {
              training.parameters[1] = at::zeros({3, 4}, at::kInt);
            }),
            "qw::adam_: parameter 1 must be float32 or float64, got Int");
  EXPECT_EQ(with([](Training& training, auto&) {
              training.parameters[1] = at::zeros({3, 8}).slice(1, 0, 4);
            }),
            "qw::adam_: parameter 1 must fill its memory without holes");
  EXPECT_EQ(with([](Training& training, auto&) {
              training.parameters[1] = at::zeros({3, 4}, at::kDouble);
            }),
            "qw::adam_: parameter 1 is Double, those before it are Float; give each type a call of its own");
  EXPECT_EQ(
      with([](Training&, auto& gradients) {
        gradients[1] = at::zeros({4, 3});
      }),
      "qw::adam_: the gradient of parameter 1 must be [3, 4] of Float" + on + ", got [4, 3] of Float" + on);
  EXPECT_EQ(with([](Training&, auto& gradients) {
              gradients[1] = at::zeros({4, 3}).t();
            }),
            "qw::adam_: the gradient of parameter 1 must have its strides [4, 1], got [1, 3]");
  EXPECT_EQ(with([](Training& training, auto&) { training.first_moments[1] = at::Tensor(); }),
            "qw::adam_: the first moment of parameter 1 is undefined");
  EXPECT_EQ(with([](Training& training, auto&) {
              training.second_moments[1] = training.second_moments[1].to(at::kDouble);
            }),
            "qw::adam_: the second moment of parameter 1 must be [3, 4] of Float" + on +
                ", got [3, 4] of Double" + on);
}

TEST(Adam, TakesTransposedMatricesAsTheyLie) {
  const at::Tensor start = at::randn({3, 4}, at::kDouble);
  const at::Tensor gradient = at::randn({3, 4}, at::kDouble);
  const auto stepped = [&](bool transposed) {
    const auto laid = [&](const at::Tensor& matrix) {
      return transposed ? matrix.t().contiguous().t() : matrix.clone();
    };
    std::vector<at::Tensor> parameter{laid(start)}, slope{laid(gradient)};
    std::vector<at::Tensor> first{laid(at::zeros_like(start))}, second{laid(at::zeros_like(start))};
    adam_(parameter, slope, first, second, 0.1, 0.9, 0.999, 1e-8, 0.01, 1);
    return parameter[0];
  };
  EXPECT_TRUE(at::equal(stepped(true), stepped(false)));
}

TEST(Adam, ChecksAlsoUnderInferenceMode) {
  Training outside({{5}}, at::kFloat), inside({{5}}, at::kFloat);
  const at::Tensor gradient = at::ones({5});
  outside.step({gradient}, {});
  const c10::InferenceMode mode;
  inside.step({gradient}, {});
  EXPECT_TRUE(at::equal(inside.parameters[0], outside.parameters[0]));
  EXPECT_NE(refusal([&] { inside.step({at::ones({6})}, {}); }), "not refused");
}

}  // namespace
}  // namespace qw
