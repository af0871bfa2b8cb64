#include "qw/ops/activate.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "ops/activate_parts.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

const DropoutKey kKey{7, 11, 2};
constexpr Activation kAll[] = {Activation::kNone, Activation::kRelu, Activation::kElu};

// The definition, which torch differentiates.
at::Tensor reference(const at::Tensor& x, const at::Tensor& bias, Activation activation, double p) {
  const at::Tensor z = bias.numel() == 0 ? x : x + bias;
  const at::Tensor a = activation == Activation::kRelu  ? at::relu(z)
                       : activation == Activation::kElu ? at::elu(z)
                                                        : z;
  return a * dropout(at::ones_like(a), p, kKey);
}

at::Tensor whole_numbers(at::IntArrayRef shape, at::ScalarType type) {
  return at::randint(-4, 5, shape, at::TensorOptions(type));
}

// Calls body(rows, width) at every tail of a vector, of a batch of random bits and of a task.
template <class Body>
void for_shapes(const Body& body) {
  for (const int64_t rows : {0, 1, 5, 300}) {
    for (const int64_t width : {1, 3, 7, 64, 65, 128, 512}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << width);
      body(rows, width);
    }
  }
}

class ActivateOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(3); }
  at::TensorOptions options() const { return at::TensorOptions(GetParam()); }
  double tolerance() const { return GetParam() == at::kFloat ? 3e-7 : 1e-15; }
};

TEST_P(ActivateOf, ValueIsThatOfTheDefinition) {
  for_shapes([&](int64_t rows, int64_t width) {
    const at::Tensor x = at::randn({rows, width}, options());
    for (const at::Tensor& bias : {at::randn({width}, options()), at::empty({0}, options())}) {
      for (const double p : {0.0, 0.3, 0.5}) {
        for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
          EXPECT_TRUE(at::equal(activate(x, bias, activation, p, kKey), reference(x, bias, activation, p)));
        }
        const at::Tensor elu = activate(x, bias, Activation::kElu, p, kKey);
        const at::Tensor expected = reference(x, bias, Activation::kElu, p);
        EXPECT_TRUE(at::allclose(elu, expected, tolerance(), 2 * tolerance()));
        EXPECT_TRUE(at::equal(elu == 0, expected == 0));
      }
    }
  });
}

// With whole numbers and 1 / (1 - p) = 2 every sum is exact, in whatever order.
TEST_P(ActivateOf, GradientsAreThoseOfTheDefinition) {
  for_shapes([&](int64_t rows, int64_t width) {
    const at::Tensor x = whole_numbers({rows, width}, GetParam()).requires_grad_();
    const at::Tensor bias = whole_numbers({width}, GetParam()).requires_grad_();
    const at::Tensor none = at::empty({0}, options());
    const at::Tensor weight = whole_numbers({rows, width}, GetParam());
    for (const Activation activation : kAll) {
      for (const double p : {0.0, 0.5}) {
        const auto wanted = torch::autograd::grad({reference(x, bias, activation, p)}, {x, bias}, {weight});
        const auto got = torch::autograd::grad({activate(x, bias, activation, p, kKey)}, {x, bias}, {weight});
        const auto alone = torch::autograd::grad({activate(x, none, activation, p, kKey)}, {x}, {weight});
        const auto alone_wanted = torch::autograd::grad({reference(x, none, activation, p)}, {x}, {weight});
        if (activation == Activation::kElu) {
          const double scale = 8 * tolerance();
          EXPECT_TRUE(at::allclose(got[0], wanted[0], scale, scale));
          EXPECT_TRUE(at::allclose(got[1], wanted[1], 100 * scale, 100 * scale));
          EXPECT_TRUE(at::allclose(alone[0], alone_wanted[0], scale, scale));
        } else {
          EXPECT_TRUE(at::equal(got[0], wanted[0]));
          EXPECT_TRUE(at::equal(got[1], wanted[1]));
          EXPECT_TRUE(at::equal(alone[0], alone_wanted[0]));
        }
      }
    }
  });
}

TEST_P(ActivateOf, AtZeroReluHasTheSlopeZeroAndEluOne) {
  const at::Tensor none = at::empty({0}, options());
  for (const double zero : {0.0, -0.0}) {
    const at::Tensor x = at::full({40, 9}, zero, options()).requires_grad_();
    const auto gradient_of = [&](Activation activation, double p) {
      return torch::autograd::grad({activate(x, none, activation, p, kKey).sum()}, {x})[0];
    };
    for (const double p : {0.0, 0.3}) {
      const at::Tensor kept = dropout(at::ones({40, 9}, options()), p, kKey);
      EXPECT_TRUE(at::equal(gradient_of(Activation::kRelu, p), at::zeros({40, 9}, options())));
      EXPECT_TRUE(at::equal(gradient_of(Activation::kElu, p), kept));
    }
  }
}

TEST_P(ActivateOf, NaNShowsUnlessDropped) {
  const at::Tensor x = at::full({30, 10}, std::nan(""), options());
  const at::Tensor mask = dropout(at::ones({30, 10}, options()), 0.5, kKey);
  for (const Activation activation : kAll) {
    EXPECT_TRUE(at::isnan(activate(x, at::empty({0}, options()), activation)).all().item<bool>());
    const at::Tensor dropped = activate(x, at::ones({10}, options()), activation, 0.5, kKey);
    EXPECT_TRUE(at::equal(at::isnan(dropped), mask != 0));
    EXPECT_TRUE(at::equal(dropped == 0, mask == 0));
  }
}

TEST_P(ActivateOf, NoGradientComesThroughWhatWasCutOrDropped) {
  const at::Tensor infinite = at::full({30, 10}, std::numeric_limits<double>::infinity(), options());
  const at::Tensor mask = dropout(at::ones({30, 10}, options()), 0.5, kKey);
  const at::Tensor none = at::empty({0}, options());
  for (const Activation activation : kAll) {
    const at::Tensor x = at::ones({30, 10}, options()).requires_grad_();
    const auto gradient =
        torch::autograd::grad({activate(x, none, activation, 0.5, kKey)}, {x}, {infinite})[0];
    EXPECT_TRUE(at::equal(gradient == 0, mask == 0));
    EXPECT_TRUE(at::equal(at::isinf(gradient), mask != 0));
  }
  const at::Tensor x = (-at::ones({30, 10}, options())).requires_grad_();
  const auto cut = torch::autograd::grad({activate(x, none, Activation::kRelu)}, {x}, {infinite})[0];
  EXPECT_TRUE(at::equal(cut, at::zeros_like(cut)));
}

TEST_P(ActivateOf, HowThingsAreStoredDoesNotMatter) {
  const at::Tensor x = at::randn({37, 70}, options()).requires_grad_();
  const at::Tensor bias = at::randn({70}, options()).requires_grad_();
  const at::Tensor weight = at::randn({37, 70}, options());
  const at::Tensor strided = at::stack({bias, bias}, 1).select(1, 0);
  const at::Tensor transposed = x.t().contiguous().t();
  ASSERT_FALSE(strided.is_contiguous() || transposed.is_contiguous());
  for (const Activation activation : kAll) {
    for (const double p : {0.0, 0.3}) {
      const at::Tensor expected = activate(x, bias, activation, p, kKey);
      const at::Tensor found = activate(transposed, strided, activation, p, kKey);
      EXPECT_TRUE(at::equal(found, expected));
      const auto wanted = torch::autograd::grad({expected}, {x, bias}, {weight});
      const auto got = torch::autograd::grad({found}, {x, bias}, {weight.t().contiguous().t()});
      EXPECT_TRUE(at::equal(got[0], wanted[0]));
      EXPECT_TRUE(at::equal(got[1], wanted[1]));
    }
  }
}

TEST_P(ActivateOf, AllIsDroppedJustBelowOne) {
  const at::Tensor x = at::ones({5, 3}, options()).requires_grad_();
  const at::Tensor bias = at::ones({3}, options()).requires_grad_();
  const at::Tensor result = activate(x, bias, Activation::kElu, std::nextafter(1.0, 0.0), kKey);
  EXPECT_TRUE(at::equal(result, at::zeros({5, 3}, options())));
  const auto gradients = torch::autograd::grad({result.sum()}, {x, bias});
  EXPECT_TRUE(at::equal(gradients[0], at::zeros({5, 3}, options())));
  EXPECT_TRUE(at::equal(gradients[1], at::zeros({3}, options())));
}

INSTANTIATE_TEST_SUITE_P(Types, ActivateOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

// Central differences of <weight, activate(x, bias)>, away from relu's kink.
TEST(Activate, GradientsAreThoseOfFiniteDifferences) {
  at::manual_seed(5);
  const at::Tensor none = at::randn({5, 7}, at::kDouble);
  const at::Tensor x = (none + 0.01 * at::sign(none)).requires_grad_();
  const at::Tensor bias = (1e-3 * at::randn({7}, at::kDouble)).requires_grad_();
  const at::Tensor weight = at::randn({5, 7}, at::kDouble);
  for (const Activation activation : kAll) {
    for (const double p : {0.0, 0.4}) {
      const auto value = [&](const at::Tensor& at_x, const at::Tensor& at_bias) {
        return (activate(at_x, at_bias, activation, p, kKey) * weight).sum();
      };
      const auto gradients = torch::autograd::grad({value(x, bias)}, {x, bias});
      constexpr double kStep = 1e-5;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const at::Tensor step =
            at::zeros({35}, at::kDouble).index_fill_(0, at::full({1}, i, at::kLong), kStep).view({5, 7});
        const at::Tensor slope = (value(x + step, bias) - value(x - step, bias)) / (2 * kStep);
        EXPECT_NEAR(gradients[0].view({35})[i].item<double>(), slope.item<double>(), 1e-9);
      }
      for (int64_t i = 0; i < 7; ++i) {
        const at::Tensor step =
            at::zeros({7}, at::kDouble).index_fill_(0, at::full({1}, i, at::kLong), kStep);
        const at::Tensor slope = (value(x, bias + step) - value(x, bias - step)) / (2 * kStep);
        EXPECT_NEAR(gradients[1][i].item<double>(), slope.item<double>(), 1e-9);
      }
    }
  }
}

TEST(Activate, EluIsRightFarOut) {
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor x =
      at::tensor({-infinity, -1e6, -800.0, -100.0, -50.0, -1.0, -1e-9, 0.0, 1e6, infinity}, at::kDouble)
          .view({1, 10});
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor found = activate(x.to(type), at::empty({0}, type), Activation::kElu);
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), at::where(x < 0, at::expm1(x), x), 0, 1e-7));
  }
}

TEST(Activate, AddBiasIsTheSumAndHandsTheGradientOn) {
  const at::Tensor x = whole_numbers({6, 3}, at::kFloat).requires_grad_();
  const at::Tensor bias = whole_numbers({3}, at::kFloat).requires_grad_();
  const at::Tensor weight = whole_numbers({6, 3}, at::kFloat);
  const at::Tensor sum = add_bias(x, bias);
  EXPECT_TRUE(at::equal(sum, x + bias));
  const auto gradients = torch::autograd::grad({sum}, {x, bias}, {weight});
  EXPECT_TRUE(at::equal(gradients[0], weight));
  EXPECT_TRUE(at::equal(gradients[1], weight.sum(0)));
  const at::Tensor copy = add_bias(x, at::empty({0}));
  EXPECT_TRUE(at::equal(copy, x));
  EXPECT_NE(copy.data_ptr(), x.data_ptr());
}

TEST(Activate, ABiasOfNothingHasAGradientOfNothing) {
  const at::Tensor x = at::ones({2, 3});
  const at::Tensor bias = at::empty({0}).requires_grad_();
  for (const Activation activation : kAll) {
    const auto gradient = torch::autograd::grad({activate(x, bias, activation).sum()}, {bias})[0];
    EXPECT_EQ(gradient.sizes(), (std::vector<int64_t>{0}));
  }
}

TEST(Activate, SameBitsForAnyNumberOfThreads) {
  at::manual_seed(9);
  for (const int64_t width : {7, 64}) {
    const at::Tensor x = at::randn({5003, width}).requires_grad_();
    const at::Tensor bias = at::randn({width}).requires_grad_();
    for (const Activation activation : kAll) {
      std::vector<at::Tensor> first;
      for (const int threads : {1, 2, 5}) {
        const test::ScopedThreads scope(threads);
        const at::Tensor result = activate(x, bias, activation, 0.3, kKey);
        std::vector<at::Tensor> now = torch::autograd::grad({result}, {x, bias}, {x.detach()});
        now.push_back(result.detach());
        if (first.empty()) first = now;
        for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << k;
      }
    }
  }
}

TEST(Activate, HasNoSecondDerivative) {
  const at::Tensor x = at::ones({3, 2}).requires_grad_();
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad({activate(x, at::empty({0}), Activation::kElu).square().sum()}, {x}, {},
                                    true, true);
            }),
            "qw::activate: there is no second derivative; call backward without create_graph");
}

TEST(Activate, Refusals) {
  const std::string on = " on " + test::device_name();
  const at::Tensor x = at::ones({3, 2});
  const at::Tensor none = at::empty({0});
  const auto relu = [&](const at::Tensor& values, const at::Tensor& bias) {
    return refusal([&] { activate(values, bias, Activation::kRelu); });
  };
  EXPECT_EQ(relu(at::ones({3}), none), "qw::activate: x must be [N, C], got [3]");
  EXPECT_EQ(relu(at::ones({3, 2}, at::kInt), none),
            "qw::dropout: values must be float32 or float64, got Int");
  EXPECT_EQ(relu(x, at::ones({3})),
            "qw::activate: bias must be [2] or [0] of Float" + on + ", got [3] of Float" + on);
  EXPECT_EQ(relu(x, at::ones({1, 2})),
            "qw::activate: bias must be [2] or [0] of Float" + on + ", got [1, 2] of Float" + on);
  EXPECT_EQ(relu(x, at::ones({2}, at::kDouble)),
            "qw::activate: bias must be [2] or [0] of Float" + on + ", got [2] of Double" + on);
  EXPECT_EQ(refusal([&] { activate(x, none, static_cast<Activation>(3)); }),
            "qw::activate: activation must be none, relu or elu, got '3'");
  EXPECT_EQ(refusal([&] { activate(x, none, Activation::kRelu, 1.0, kKey); }),
            "qw::dropout: p must be in [0, 1), got 1");
  EXPECT_EQ(refusal([&] {
              activate(x, none, Activation::kRelu, 0.5, {1, -1, 0});
            }),
            "qw::dropout: epoch must be in [0, 2^32), got -1");
  const ops::ActivateRule rule{1, 0.0, kKey};
  EXPECT_EQ(refusal([&] {
              ops::activate_backward(x, at::ones({2, 3}), true, rule);
            }),
            "qw::_activate_backward: gradient must be [3, 2] of Float" + on + ", got [2, 3] of Float" + on);
  EXPECT_EQ(refusal([&] {
              ops::activate_backward(x, at::ones({3, 2}, at::kDouble), true, rule);
            }),
            "qw::_activate_backward: gradient must be [3, 2] of Float" + on + ", got [3, 2] of Double" + on);
}

TEST(Activate, ChecksAlsoUnderInferenceMode) {
  const at::Tensor x = at::randn({30, 4});
  const at::Tensor bias = at::randn({4});
  const at::Tensor expected = activate(x, bias, Activation::kElu, 0.5, kKey);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(activate(x, bias, Activation::kElu, 0.5, kKey), expected));
  EXPECT_NE(refusal([&] { activate(x, at::ones({3}), Activation::kElu); }), "not refused");
}

}  // namespace
}  // namespace qw
