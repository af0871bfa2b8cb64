#include "qw/ops/flow_step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "qw/core/work.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using at::Tensor;
using test::refusal;

const std::string kOp = "qw::_flow_step_: ";

// What rounding may change: a GPU's libraries round by their own order.
double tolerance() { return test::device().is_cpu() ? 1e-14 : 1e-12; }

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

struct Problem {
  int64_t nodes = 12, edges = 30, columns = 5;
  bool with_costs = true, with_extra = true;
  at::ScalarType type = at::kDouble;
};

// Everything that a step takes; copies are deep.
struct Setting {
  Tensor flow, first_moment, second_moment, residual, extra;
  FlowEdges edges;
  FlowStepOptions options;

  explicit Setting(const Problem& problem = {}) {
    at::manual_seed(7);
    const auto& [nodes, count, columns, with_costs, with_extra, type] = problem;
    // Of every three edges one carries nothing yet.
    flow = at::randn({count, columns}, type);
    flow.masked_fill_((at::arange(count) % 3 == 1).unsqueeze(1), 0.0);
    first_moment = at::zeros({count, columns}, type);
    second_moment = at::zeros({count, columns}, type);
    residual = 2.0 * at::randn({nodes, columns}, type);
    extra = with_extra ? at::randn({count, columns}, type) : at::empty({0}, type);
    const Tensor heads = at::randint(nodes, {count}, at::kInt);
    const Tensor steps = at::randint(1, nodes, {count}, at::kInt);
    edges = {heads, (heads + steps).remainder(nodes).to(at::kInt),
             with_costs ? at::rand({count}, type) : at::empty({0}, type)};
  }

  Setting copy() const {
    Setting other = *this;
    for (Tensor* changed : {&other.flow, &other.first_moment, &other.second_moment})
      *changed = changed->clone();
    return other;
  }

  Tensor step() { return flow_step_(flow, first_moment, second_moment, residual, extra, edges, options); }
  Tensor cost_of_elements() const {
    return edges.costs.numel() == 0 ? at::ones_like(flow) : edges.costs.unsqueeze(1).expand_as(flow);
  }
  // S^T residual + extra, by the definition.
  Tensor smooth_gradient() const {
    const Tensor gradient =
        residual.index({edges.heads.to(at::kLong)}) - residual.index({edges.tails.to(at::kLong)});
    return extra.numel() == 0 ? gradient : gradient + extra;
  }
};

Tensor violation_of(const Setting& s) {
  if (s.flow.numel() == 0) return at::zeros({}, s.flow.options());
  const Tensor gradient = s.smooth_gradient(), cost = s.cost_of_elements();
  const Tensor on_support = (gradient + cost * s.flow.sign()).abs();
  const Tensor at_zero = at::relu((s.options.directed ? -gradient : gradient.abs()) - cost);
  return at::where(s.flow != 0, on_support, at_zero).max();
}

// The step as its header says it, one operator after the other. Returns the statistics.
Tensor slow_step(Setting& s) {
  const Tensor cost = s.cost_of_elements();
  const Tensor violation = violation_of(s);
  const bool proximal = s.options.rule == FlowRule::kProximal;
  Tensor gradient = s.smooth_gradient() + s.options.weight_decay * s.flow;
  if (!proximal) gradient = gradient + cost * s.flow.sign();
  s.first_moment = kBeta1 * s.first_moment + (1.0 - kBeta1) * gradient;
  s.second_moment = kBeta2 * s.second_moment + (1.0 - kBeta2) * gradient * gradient;
  const auto step = static_cast<double>(s.options.step);
  const Tensor first = s.first_moment / (1.0 - std::pow(kBeta1, step));
  const Tensor second = s.second_moment / (1.0 - std::pow(kBeta2, step));
  const Tensor rate = s.options.lr / (second.sqrt() + kEps);
  s.flow = s.flow - rate * first;
  if (proximal) s.flow = s.flow.sign() * at::relu(s.flow.abs() - rate * cost);
  if (s.options.directed) s.flow = s.flow.clamp_min(0.0);
  return at::stack({(cost * s.flow.abs()).sum(), (s.flow != 0).sum().to(s.flow.scalar_type()), violation});
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return a.numel() == 0 ? 0.0 : (a - b).abs().max().item<double>();
}

void expect_near(const Setting& actual, const Setting& expected, double tolerance) {
  EXPECT_LE(largest_difference(actual.flow, expected.flow), tolerance);
  EXPECT_LE(largest_difference(actual.first_moment, expected.first_moment), tolerance);
  EXPECT_LE(largest_difference(actual.second_moment, expected.second_moment), tolerance);
}

struct Variant {
  FlowRule rule;
  bool directed;
};

class FlowStepOf : public testing::TestWithParam<Variant> {
 protected:
  FlowStepOptions options(double weight_decay) const {
    FlowStepOptions options;
    options.rule = GetParam().rule;
    options.directed = GetParam().directed;
    options.lr = 0.05;
    options.weight_decay = weight_decay;
    return options;
  }
};

TEST_P(FlowStepOf, FollowsTheFormulas) {
  for (const int64_t columns : {1, 5, 7, 64, 2000}) {
    for (const int64_t edges : {0, 1, 3, 50}) {
      for (const bool with_costs : {true, false}) {
        for (const bool with_extra : {true, false}) {
          SCOPED_TRACE(testing::Message() << edges << " x " << columns << with_costs << with_extra);
          Setting fast({12, edges, columns, with_costs, with_extra});
          fast.options = options(with_extra ? 0.1 : 0.0);
          Setting slow = fast.copy();
          for (int step = 1; step <= 5; ++step) {
            fast.options.step = slow.options.step = step;
            const Tensor statistics = fast.step(), expected = slow_step(slow);
            expect_near(fast, slow, tolerance());
            EXPECT_EQ(statistics.scalar_type(), at::kDouble);
            EXPECT_TRUE(at::allclose(statistics, expected, 1e-12, 1e-13)) << statistics << expected;
            EXPECT_EQ(statistics[1].item<double>(), expected[1].item<double>());
          }
        }
      }
    }
  }
}

// Step by step, since a sign that flips by rounding sends the two ways.
TEST_P(FlowStepOf, FollowsTheFormulasInFloat32) {
  Setting fast({50, 3000, 7, true, true, at::kFloat});
  fast.options = options(0.01);
  for (int step = 1; step <= 5; ++step) {
    fast.options.step = step;
    Setting slow = fast;
    for (Tensor* tensor : {&slow.flow, &slow.first_moment, &slow.second_moment, &slow.residual, &slow.extra,
                           &slow.edges.costs}) {
      *tensor = tensor->to(at::kDouble);
    }
    const Tensor statistics = fast.step(), expected = slow_step(slow);
    expect_near(fast, slow, 1e-5);
    EXPECT_TRUE(at::allclose(statistics, expected, 1e-6)) << statistics << expected;
    EXPECT_EQ((fast.flow != 0).sum().item<double>(), statistics[1].item<double>());
  }
}

TEST_P(FlowStepOf, SameBitsForAnyNumberOfThreads) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const int64_t columns : {1, 7, 2000}) {
      const auto with_threads = [&](int count) {
        const test::ScopedThreads scope(count);
        Setting setting({300, 300000 / columns, columns, true, true, type});
        setting.options = options(0.01);
        Tensor statistics;
        for (int step = 0; step < 2; ++step, ++setting.options.step) statistics = setting.step();
        return std::pair(setting, statistics);
      };
      const auto [expected, expected_statistics] = with_threads(1);
      for (const int count : {2, 5}) {
        const auto [setting, statistics] = with_threads(count);
        EXPECT_TRUE(at::equal(setting.flow, expected.flow));
        EXPECT_TRUE(at::equal(setting.first_moment, expected.first_moment));
        EXPECT_TRUE(at::equal(setting.second_moment, expected.second_moment));
        EXPECT_TRUE(at::equal(statistics, expected_statistics));
      }
    }
  }
}

// A graph's rows decide nothing but their own: a prefix of the edges gets the same bits.
TEST_P(FlowStepOf, AnEdgeDoesNotDependOnItsPlace) {
  Setting whole({12, 1200, 7, true, true, at::kFloat});
  whole.options = options(0.01);
  Setting part = whole.copy();
  const auto tail_of = [](Tensor& tensor) { tensor = tensor.slice(0, 701).clone(); };
  for (Tensor* tensor : {&part.flow, &part.first_moment, &part.second_moment, &part.extra, &part.edges.heads,
                         &part.edges.tails, &part.edges.costs}) {
    tail_of(*tensor);
  }
  whole.step();
  part.step();
  EXPECT_TRUE(at::equal(part.flow, whole.flow.slice(0, 701)));
}

TEST_P(FlowStepOf, WhatIsNoNumberStaysVisible) {
  Setting setting({12, 40, 5, false, false});
  setting.options = options(0.0);
  setting.residual[setting.edges.heads[9].item<int64_t>()][2] = std::nan("");
  const Tensor statistics = setting.step();
  EXPECT_TRUE(std::isnan(setting.flow[9][2].item<double>()));
  EXPECT_TRUE(std::isnan(statistics[0].item<double>()));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, FlowStepOf,
    testing::Values(Variant{FlowRule::kSubgradient, false}, Variant{FlowRule::kSubgradient, true},
                    Variant{FlowRule::kProximal, false}, Variant{FlowRule::kProximal, true}),
    [](const auto& param) {
      return std::string(param.param.rule == FlowRule::kProximal ? "Proximal" : "Subgradient") +
             (param.param.directed ? "Directed" : "Undirected");
    });

// The dense matrix S with 1 at the head and -1 at the tail of each edge.
Tensor incidence_matrix(const Setting& s) {
  Tensor matrix = at::zeros({s.residual.size(0), s.flow.size(0)}, s.flow.options());
  for (int64_t e = 0; e < s.flow.size(0); ++e) {
    matrix[s.edges.heads[e].item<int64_t>()][e] += 1.0;
    matrix[s.edges.tails[e].item<int64_t>()][e] -= 1.0;
  }
  return matrix;
}

// sum w |F| + 1/2 |S F - b|^2, where torch finds the gradient by itself.
TEST(FlowStep, SubgradientIsTorchsAdamOnTheWholeObjective) {
  for (const double weight_decay : {0.0, 5e-4}) {
    Setting setting({12, 30, 5, true, false});
    setting.options.lr = 0.02;
    setting.options.weight_decay = weight_decay;
    const Tensor s = incidence_matrix(setting), b = at::randn({12, 5}, at::kDouble);
    const Tensor theirs = setting.flow.clone().requires_grad_();
    torch::optim::Adam adam({theirs}, torch::optim::AdamOptions(0.02).weight_decay(weight_decay));
    for (int step = 1; step <= 20; ++step) {
      setting.residual = s.mm(setting.flow) - b;
      setting.options.step = step;
      setting.step();
      adam.zero_grad();
      ((setting.cost_of_elements() * theirs.abs()).sum() + 0.5 * (s.mm(theirs) - b).square().sum())
          .backward();
      adam.step();
      EXPECT_LE(largest_difference(setting.flow, theirs.detach()), tolerance()) << step;
    }
  }
}

// One edge between two nodes that want b0 and b1: the slope is 2 f - (b0 - b1), the optimum is half of
// b0 - b1 made smaller by the cost.
Setting one_edge(double b0, double b1, double cost, double flow, bool directed = false) {
  Setting setting({2, 1, 1, true, false});
  setting.edges.heads.fill_(0);
  setting.edges.tails.fill_(1);
  setting.edges.costs.fill_(cost);
  setting.flow.fill_(flow);
  setting.residual[0][0] = flow - b0;
  setting.residual[1][0] = -flow - b1;
  setting.options.directed = directed;
  return setting;
}

TEST(FlowStep, ViolationIsTheDistanceFromOptimality) {
  const auto violation = [](Setting setting) { return setting.step()[2].item<double>(); };
  EXPECT_EQ(violation(one_edge(3, -2, 1, 2)), 0.0);
  EXPECT_EQ(violation(one_edge(-3, 2, 1, -2)), 0.0);
  EXPECT_EQ(violation(one_edge(3, -2, 1, 2.5)), 1.0);
  EXPECT_EQ(violation(one_edge(3, -2, 1, 1.5)), 1.0);
  EXPECT_EQ(violation(one_edge(3, -2, 1, -1)), 8.0);
  EXPECT_EQ(violation(one_edge(3, -2, 5, 0)), 0.0);  // staying at 0 costs nothing up to the cost
  EXPECT_EQ(violation(one_edge(3, -2, 4, 0)), 1.0);
  EXPECT_EQ(violation(one_edge(-3, 2, 4, 0)), 1.0);
  EXPECT_EQ(violation(one_edge(-3, 2, 4, 0, true)), 0.0);  // which would have to flow back
  EXPECT_EQ(violation(one_edge(3, -2, 4, 0, true)), 1.0);
  EXPECT_EQ(violation(one_edge(3, -2, 1, 2, true)), 0.0);
  Setting decayed = one_edge(3, -2, 1, 2);
  decayed.options.weight_decay = 1.0;
  EXPECT_EQ(violation(decayed), 0.0);
}

TEST(FlowStep, ProximalStepsArriveAndStay) {
  for (const bool directed : {false, true}) {
    for (const auto& [b0, b1, optimum] :
         {std::tuple(3.0, -2.0, 2.0), std::tuple(-3.0, 2.0, -2.0), std::tuple(0.4, -0.5, 0.0)}) {
      Setting setting = one_edge(b0, b1, 1.0, 0.7, directed);
      setting.options.rule = FlowRule::kProximal;
      Tensor statistics;
      for (int step = 1; step <= 4000; ++step) {
        setting.options.step = step;
        setting.options.lr = 0.1 / std::sqrt(step);
        const double flow = setting.flow.item<double>();
        setting.residual[0][0] = flow - b0;
        setting.residual[1][0] = -flow - b1;
        statistics = setting.step();
      }
      const double expected = directed ? std::max(optimum, 0.0) : optimum;
      EXPECT_NEAR(setting.flow.item<double>(), expected, 1e-5);
      EXPECT_EQ(statistics[1].item<double>(), expected == 0.0 ? 0.0 : 1.0);
      EXPECT_LT(statistics[2].item<double>(), 1e-5);
    }
  }
}

TEST(FlowStep, ProximalZerosAreExact) {
  Setting setting({12, 300, 7, false, false, at::kFloat});
  setting.options.rule = FlowRule::kProximal;
  setting.flow.mul_(0.01);
  setting.residual.mul_(0.01);
  const Tensor statistics = setting.step();
  EXPECT_EQ(setting.flow.abs().max().item<float>(), 0.0f);
  EXPECT_TRUE(at::equal(statistics.slice(0, 0, 2), at::zeros({2}, at::kDouble)));
}

TEST(FlowStep, SubgradientLeavesZeroWhereNothingPulls) {
  Setting setting({12, 30, 5, false, false});
  setting.flow.zero_();
  setting.residual.zero_();
  const Tensor statistics = setting.step();
  EXPECT_EQ(setting.flow.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(at::equal(statistics, at::zeros({3}, at::kDouble)));
}

TEST(FlowStep, DirectedFlowIsNeverNegative) {
  for (const FlowRule rule : {FlowRule::kSubgradient, FlowRule::kProximal}) {
    Setting setting({12, 300, 7, true, true, at::kFloat});
    setting.options.rule = rule;
    setting.options.directed = true;
    setting.options.lr = 0.5;
    setting.step();
    EXPECT_EQ(setting.flow.min().item<float>(), 0.0f);
    EXPECT_GT(setting.flow.max().item<float>(), 0.0f);
  }
}

TEST(FlowStep, TakesAResidualInAnyMemoryOrder) {
  Setting plain, transposed;
  transposed.residual = transposed.residual.t().contiguous().t();
  plain.step();
  transposed.step();
  EXPECT_TRUE(at::equal(transposed.flow, plain.flow));
}

TEST(FlowStep, NoColumnsIsNoWork) {
  Setting setting({12, 30, 0, true, false});
  EXPECT_TRUE(at::equal(setting.step(), at::zeros({3}, at::kDouble)));
}

TEST(FlowStep, CountsItsWork) {
  Setting setting({12, 30, 5, true, true, at::kFloat});
  const Work before = work_done();
  setting.step();
  const Work after = work_done();
  EXPECT_EQ(after.flops - before.flops, 16 * 30 * 5);
  EXPECT_EQ(after.bytes - before.bytes, 4 * (7 * 30 * 5 + 12 * 5 + 3 * 30));
}

TEST(FlowStep, WhatIsWrittenHasANewVersion) {
  Setting setting;
  const auto versions = [&] {
    std::vector<int64_t> all;
    for (const Tensor& tensor : {setting.flow, setting.first_moment, setting.second_moment, setting.residual,
                                 setting.extra, setting.edges.costs}) {
      all.push_back(static_cast<int64_t>(tensor._version()));
    }
    return all;
  };
  auto expected = versions();
  for (size_t i = 0; i < 3; ++i) ++expected[i];
  setting.step();
  EXPECT_EQ(versions(), expected);
}

TEST(FlowStep, TakesALeafAndABackwardPassNoticesTheStep) {
  Setting setting;
  setting.flow.requires_grad_();
  setting.residual.requires_grad_();
  const Tensor loss = setting.flow.square().sum();
  EXPECT_FALSE(setting.step().requires_grad());
  EXPECT_TRUE(setting.flow.is_leaf());
  EXPECT_THROW(torch::autograd::grad({loss}, {setting.flow}), c10::Error);
}

TEST(FlowStep, RunsAndChecksUnderInferenceMode) {
  Setting outside, inside;
  outside.step();
  const c10::InferenceMode mode;
  Setting fresh;
  inside.step();
  fresh.step();
  EXPECT_TRUE(at::equal(inside.flow, outside.flow));
  EXPECT_TRUE(at::equal(fresh.flow, outside.flow));
  inside.options.step = 0;
  EXPECT_EQ(refusal([&] { inside.step(); }), kOp + "step counts from 1, got 0");
  inside.options.step = 1;
  EXPECT_EQ(refusal([&] {
              flow_step_(inside.flow, inside.first_moment, inside.second_moment, inside.residual,
                         inside.extra, inside.edges, inside.options, at::zeros({4}, at::kDouble));
            }),
            kOp + "measures must be [3] of Double on " + test::device_name() +
                ", contiguous; got [4] of Double on " + test::device_name());
}

// What a step says of a spoilt setting of 4 edges between 3 nodes with 2 columns; nothing may be written.
std::string refusal_of(const std::function<void(Setting&)>& spoil) {
  Setting setting({3, 4, 2, true, true, at::kFloat});
  spoil(setting);
  const Setting before = setting.copy();
  const auto version = setting.flow._version();
  const std::string text = refusal([&] { setting.step(); });
  EXPECT_EQ(setting.flow._version(), version);
  EXPECT_TRUE(at::equal(setting.flow, before.flow));
  EXPECT_TRUE(at::equal(setting.first_moment, before.first_moment));
  EXPECT_TRUE(at::equal(setting.second_moment, before.second_moment));
  return text;
}

using S = Setting&;

TEST(FlowStep, RefusesTensorsThatDoNotFit) {
  const std::string on = " on " + test::device_name();
  EXPECT_EQ(refusal_of([](S s) { s.edges.heads = s.edges.heads.to(at::kLong); }),
            kOp + "heads must be one contiguous row of Int, got Long [4]");
  EXPECT_EQ(refusal_of([](S s) { s.edges.tails = s.edges.tails.unsqueeze(0); }),
            kOp + "tails must be one contiguous row of Int, got Int [1, 4]");
  EXPECT_EQ(refusal_of([](S s) { s.edges.tails = s.edges.tails.slice(0, 1); }),
            kOp + "there are 4 heads and 3 tails");
  EXPECT_EQ(refusal_of([](S s) { s.flow = s.flow.slice(0, 1); }),
            kOp + "flow must be [4, C], a row for each edge, got [3, 2]");
  EXPECT_EQ(refusal_of([](S s) { s.flow = s.flow.to(at::kHalf); }),
            kOp + "flow must be float32 or float64, got Half");
  EXPECT_EQ(refusal_of([](S s) {
              s.first_moment = at::zeros({4, 3});
            }),
            kOp + "first_moment must be [4, 2] of Float" + on + ", contiguous; got [4, 3] of Float" + on);
  EXPECT_EQ(refusal_of([](S s) { s.second_moment = s.second_moment.to(at::kDouble); }),
            kOp + "second_moment must be [4, 2] of Float" + on + ", contiguous; got [4, 2] of Double" + on);
  EXPECT_EQ(refusal_of([](S s) { s.extra = s.extra.slice(1, 1).contiguous(); }),
            kOp + "extra must be [4, 2] of Float" + on + ", contiguous; got [4, 1] of Float" + on);
  EXPECT_EQ(refusal_of([](S s) { s.extra = s.extra.slice(1, 2).contiguous(); }),
            kOp + "extra must be [4, 2] of Float" + on + ", contiguous; got [4, 0] of Float" + on);
  for (const char* residual : {"[3]", "[3, 1]"}) {
    EXPECT_EQ(refusal_of([&](S s) {
                s.residual = residual[2] == ']' ? at::zeros({3}) : at::zeros({3, 1});
              }),
              std::string(kOp + "residual must be [N, 2] or [0] of Float" + on + ", got ") + residual +
                  " of Float" + on);
  }
  EXPECT_EQ(refusal_of([](S s) { s.residual = s.residual.to(at::kDouble); }),
            kOp + "residual must be [N, 2] or [0] of Float" + on + ", got [3, 2] of Double" + on);
  EXPECT_EQ(refusal_of([](S s) { s.edges.costs = at::ones({3}); }),
            kOp + "costs must be [4] or [0] of Float" + on + ", contiguous; got [3] of Float" + on);
  EXPECT_EQ(refusal_of([](S s) { s.edges.costs = s.edges.costs.unsqueeze(1); }),
            kOp + "costs must be [4] or [0] of Float" + on + ", contiguous; got [4, 1] of Float" + on);
  EXPECT_EQ(refusal_of([](S s) { s.edges.costs = at::ones({4}, at::kDouble); }),
            kOp + "costs must be [4] or [0] of Float" + on + ", contiguous; got [4] of Double" + on);
}

TEST(FlowStep, RefusesGapsInMemory) {
  const std::string on = " on " + test::device_name();
  const auto with_gaps = [](Tensor& tensor) { tensor = at::stack({tensor, tensor}, -1).select(-1, 0); };
  EXPECT_EQ(refusal_of([&](S s) { with_gaps(s.edges.heads); }),
            kOp + "heads must be one contiguous row of Int, got Int [4]");
  EXPECT_EQ(refusal_of([&](S s) { with_gaps(s.flow); }), kOp + "flow must be contiguous");
  EXPECT_EQ(refusal_of([&](S s) { with_gaps(s.first_moment); }),
            kOp + "first_moment must be [4, 2] of Float" + on + ", contiguous; got [4, 2] of Float" + on +
                ", not contiguous");
  EXPECT_EQ(refusal_of([&](S s) { with_gaps(s.edges.costs); }), kOp + "costs must be [4] or [0] of Float" +
                                                                    on + ", contiguous; got [4] of Float" +
                                                                    on + ", not contiguous");
}

TEST(FlowStep, RefusesRulesThatAreNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal_of([](S s) { s.options.rule = static_cast<FlowRule>(2); }),
            kOp + "rule must be subgradient or proximal, got '2'");
  EXPECT_EQ(refusal_of([](S s) { s.options.lr = -1.0; }), kOp + "lr must be finite and not negative, got -1");
  EXPECT_EQ(refusal_of([](S s) { s.options.lr = std::nan(""); }),
            kOp + "lr must be finite and not negative, got nan");
  EXPECT_EQ(refusal_of([](S s) { s.options.weight_decay = kInfinity; }),
            kOp + "weight_decay must be finite and not negative, got inf");
  EXPECT_EQ(refusal_of([](S s) { s.options.step = 0; }), kOp + "step counts from 1, got 0");
}

}  // namespace
}  // namespace qw
