#include "qw/ops/divergence.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::tensor_of;

constexpr Divergence kAll[] = {Divergence::kSoftmax, Divergence::kLeastSquares, Divergence::kBernoulli};

at::Tensor none(at::ScalarType type) { return at::empty({0}, type); }

at::Tensor ids(const std::vector<int32_t>& values) { return tensor_of(values, at::kInt).to(test::device()); }

// y log y, with 0 at 0.
at::Tensor entropy(const at::Tensor& y) { return at::xlogy(y, y); }

struct Problem {
  at::Tensor predictions, shift;
  LabelTensors labels;
  double scale = 1.0;

  // `count` of the `rows` nodes, in random order, with soft targets.
  Problem(int64_t rows, int64_t count, int64_t width, Divergence kind) {
    at::manual_seed(rows * 1000 + width);
    predictions = 3 * at::randn({rows, width}, at::kDouble);
    shift = at::randn({rows, width}, at::kDouble);
    labels.nodes = at::randperm(rows, at::TensorOptions(at::kInt)).slice(0, 0, count).contiguous();
    labels.classes = none(at::kInt);
    labels.targets = at::rand({count, width}, at::kDouble);
    if (kind == Divergence::kSoftmax) labels.targets = labels.targets / labels.targets.sum(1, true);
    if (kind == Divergence::kLeastSquares) labels.targets = labels.targets * 8 - 4;
    labels.class_weights = at::rand({width}, at::kDouble) + 0.5;
  }

  void use_classes() {
    const int64_t count = labels.nodes.size(0), width = predictions.size(1);
    labels.classes = at::randint(width, {count}, at::TensorOptions(at::kInt));
    labels.targets = none(at::kDouble);
  }

  Problem to(at::ScalarType type) const {
    Problem other = *this;
    other.predictions = predictions.to(type);
    other.shift = shift.to(type);
    other.labels.targets = labels.targets.to(type);
    other.labels.class_weights = labels.class_weights.to(type);
    return other;
  }

  std::tuple<at::Tensor, at::Tensor> solve(Divergence kind, bool with_gradient = true) const {
    return divergence(kind, predictions, shift, labels, scale, with_gradient);
  }
};

// With torch's own losses; targets that are NaN count with the weight 0.
at::Tensor reference(Divergence kind, const Problem& problem, const at::Tensor& predictions) {
  const LabelTensors& labels = problem.labels;
  const at::Tensor shifted = problem.shift.numel() == 0 ? predictions : predictions + problem.shift;
  const at::Tensor z = shifted.index_select(0, labels.nodes);
  const at::Tensor weights = labels.class_weights.numel() == 0
                                 ? at::ones({predictions.size(1)}, predictions.options())
                                 : labels.class_weights;
  if (labels.classes.numel() != 0) {
    return problem.scale *
           at::cross_entropy_loss(z, labels.classes.to(at::kLong), weights, at::Reduction::Sum);
  }
  const at::Tensor known = at::isnan(labels.targets).logical_not();
  const at::Tensor y = at::where(known, labels.targets, at::zeros_like(labels.targets));
  const at::Tensor w = weights * known;
  at::Tensor value;
  if (kind == Divergence::kSoftmax) {
    value = at::cross_entropy_loss(z, y, weights, at::Reduction::Sum) + (w * entropy(y)).sum();
  } else if (kind == Divergence::kLeastSquares) {
    value = (w * at::mse_loss(z, y, at::Reduction::None)).sum();
  } else {
    value = at::binary_cross_entropy_with_logits(z, y, w, {}, at::Reduction::Sum) +
            (w * (entropy(y) + entropy(1 - y))).sum();
  }
  return problem.scale * value;
}

void expect_reference(Divergence kind, const Problem& problem) {
  const at::Tensor leaf = problem.predictions.clone().requires_grad_();
  const at::Tensor expected = reference(kind, problem, leaf);
  const at::Tensor slope = torch::autograd::grad({expected}, {leaf})[0];
  const auto [value, gradient] = problem.solve(kind);
  EXPECT_EQ(value.dim(), 0);
  EXPECT_EQ(value.scalar_type(), at::kDouble);
  EXPECT_TRUE(at::allclose(value, expected, 1e-12, 1e-12)) << value << " " << expected;
  EXPECT_TRUE(at::allclose(gradient, slope, 1e-12, 1e-13));
  const auto [value_alone, nothing] = problem.solve(kind, false);
  EXPECT_TRUE(at::equal(value_alone, value));
  EXPECT_EQ(nothing.sizes(), (std::vector<int64_t>{0}));
}

// With and without shift, weights and a scale.
void expect_reference_in_all_forms(Divergence kind, const Problem& full) {
  for (const bool shifted : {false, true}) {
    for (const bool weighted : {false, true}) {
      for (const double scale : {1.0, 1.0 / 7.0}) {
        SCOPED_TRACE(testing::Message() << shifted << weighted << scale);
        Problem problem = full;
        if (!shifted) problem.shift = none(at::kDouble);
        if (!weighted) problem.labels.class_weights = none(at::kDouble);
        problem.scale = scale;
        expect_reference(kind, problem);
      }
    }
  }
}

TEST(Divergence, AnAddendIsAddedBesideTheValue) {
  for (const int64_t count : {3, 4000}) {
    const at::Tensor predictions = at::randn({count, 3});
    const LabelTensors labels{at::arange(count, at::kInt), at::zeros({count}, at::kInt), none(at::kFloat),
                              none(at::kFloat)};
    const auto [value, gradient] =
        divergence(Divergence::kSoftmax, predictions, none(at::kFloat), labels, 0.5);
    const at::Tensor addend = at::full({}, 1.25, at::kDouble);
    const auto [both, same] =
        divergence(Divergence::kSoftmax, predictions, none(at::kFloat), labels, 0.5, true, addend);
    ASSERT_EQ(both.sizes(), at::IntArrayRef({2}));
    EXPECT_EQ(both[0].item<double>(), value.item<double>());
    EXPECT_EQ(both[1].item<double>(), 1.25 + value.item<double>());
    EXPECT_TRUE(at::equal(same, gradient));
    EXPECT_EQ(test::refusal([&] {
                divergence(Divergence::kSoftmax, predictions, none(at::kFloat), labels, 0.5, true,
                           at::zeros({2}, at::kDouble));
              }),
              "qw::divergence: addend must be one number, or [0], of Double on " + test::device_name() +
                  ", got [2] of Double on " + test::device_name());
  }
}

TEST(Divergence, OfClassesIsTheCrossEntropy) {
  for (const int64_t width : {1, 2, 7, 40}) {
    for (const int64_t count : {1, 5, 300}) {
      SCOPED_TRACE(testing::Message() << count << " x " << width);
      Problem problem(330, count, width, Divergence::kSoftmax);
      problem.use_classes();
      expect_reference_in_all_forms(Divergence::kSoftmax, problem);
    }
  }
}

TEST(Divergence, OfSoftTargetsIsWhatTorchSays) {
  for (const Divergence kind : kAll) {
    for (const int64_t width : {1, 2, 7, 40}) {
      SCOPED_TRACE(testing::Message() << static_cast<int64_t>(kind) << " width " << width);
      expect_reference_in_all_forms(kind, Problem(330, 300, width, kind));
    }
  }
}

// Certain targets: no entropy of their own.
TEST(Divergence, OfCertainTargetsHasNoEntropyTerm) {
  Problem by_class(20, 9, 4, Divergence::kSoftmax);
  by_class.use_classes();
  by_class.labels.class_weights = none(at::kDouble);
  Problem by_target = by_class;
  by_target.labels.targets = at::one_hot(by_class.labels.classes.to(at::kLong), 4).to(at::kDouble);
  by_target.labels.classes = none(at::kInt);
  const auto [value, gradient] = by_class.solve(Divergence::kSoftmax);
  const auto [same_value, same_gradient] = by_target.solve(Divergence::kSoftmax);
  EXPECT_TRUE(at::allclose(same_value, value, 1e-14, 1e-14));
  EXPECT_TRUE(at::allclose(same_gradient, gradient, 1e-14, 1e-14));
  expect_reference(Divergence::kBernoulli, by_target);
}

TEST(Divergence, IsZeroWherePredictionsAreRight) {
  Problem problem(12, 12, 5, Divergence::kSoftmax);
  problem.shift = none(at::kDouble);
  const auto expect_zero = [&](Divergence kind, const at::Tensor& right) {
    problem.predictions = at::empty_like(right).index_copy_(0, problem.labels.nodes.to(at::kLong), right);
    const auto [value, gradient] = problem.solve(kind);
    EXPECT_NEAR(value.item<double>(), 0.0, 1e-13);
    EXPECT_TRUE(at::allclose(gradient, at::zeros_like(gradient), 0, 1e-14));
  };
  problem.labels.class_weights = none(at::kDouble);
  expect_zero(Divergence::kSoftmax, problem.labels.targets.log() + 3);
  expect_zero(Divergence::kBernoulli, at::logit(problem.labels.targets));
  expect_zero(Divergence::kLeastSquares, problem.labels.targets);
}

TEST(Divergence, UnknownTargetsAddNothing) {
  for (const Divergence kind : kAll) {
    SCOPED_TRACE(static_cast<int64_t>(kind));
    Problem problem(40, 30, 6, kind);
    problem.labels.targets.slice(0, 0, 30, 2).select(1, 3).fill_(std::nan(""));
    problem.labels.targets[4].fill_(std::nan(""));
    expect_reference_in_all_forms(kind, problem);
    const auto [value, gradient] = problem.solve(kind);
    EXPECT_TRUE(std::isfinite(value.item<double>()));
    EXPECT_EQ(gradient[problem.labels.nodes[4].item<int64_t>()].abs().sum().item<double>(), 0.0);
    problem.labels.targets.fill_(std::nan(""));
    const auto [nothing, no_gradient] = problem.solve(kind);
    EXPECT_EQ(nothing.item<double>(), 0.0);
    EXPECT_EQ(no_gradient.abs().sum().item<double>(), 0.0);
  }
}

TEST(Divergence, OnlyTheNodesCount) {
  Problem problem(50, 10, 3, Divergence::kSoftmax);
  const auto [value, gradient] = problem.solve(Divergence::kSoftmax);
  at::Tensor others = at::ones({50}, at::kDouble);
  others.index_fill_(0, problem.labels.nodes.to(at::kLong), 0.0);
  EXPECT_EQ((gradient.abs().sum(1) * others).sum().item<double>(), 0.0);
  problem.predictions = problem.predictions + 100 * others.unsqueeze(1);
  EXPECT_TRUE(at::equal(std::get<0>(problem.solve(Divergence::kSoftmax)), value));
}

TEST(Divergence, ExtremeLogitsStayFinite) {
  const double most = 1000;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor logits = at::tensor({-most, most, most, -most}, at::kDouble).view({2, 2}).to(type);
    LabelTensors labels{ids({0, 1}), ids({0, 0}), none(type), none(type)};
    auto [value, gradient] = divergence(Divergence::kSoftmax, logits, none(type), labels, 1.0);
    EXPECT_EQ(value.item<double>(), 2 * most);
    EXPECT_TRUE(at::equal(gradient, at::tensor({-1.0, 1.0, 0.0, 0.0}).view({2, 2}).to(type)));
    labels = {ids({0, 1}), none(at::kInt), at::tensor({1.0, 0.0, 1.0, 0.0}).view({2, 2}).to(type),
              none(type)};
    std::tie(value, gradient) = divergence(Divergence::kSoftmax, logits, none(type), labels, 1.0);
    EXPECT_EQ(value.item<double>(), 2 * most);
    EXPECT_TRUE(at::equal(gradient, at::tensor({-1.0, 1.0, 0.0, 0.0}).view({2, 2}).to(type)));
    std::tie(value, gradient) = divergence(Divergence::kBernoulli, logits, none(type), labels, 1.0);
    EXPECT_EQ(value.item<double>(), 2 * most);
    EXPECT_TRUE(at::equal(gradient, at::tensor({-1.0, 1.0, 0.0, 0.0}).view({2, 2}).to(type)));
  }
}

TEST(Divergence, FloatAgreesWithDouble) {
  for (const Divergence kind : kAll) {
    const Problem exact(400, 350, 7, kind);
    const auto [value, gradient] = exact.solve(kind);
    const auto [rough_value, rough_gradient] = exact.to(at::kFloat).solve(kind);
    EXPECT_EQ(rough_value.scalar_type(), at::kDouble);
    EXPECT_EQ(rough_gradient.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(rough_value, value, 1e-6, 0));
    EXPECT_TRUE(at::allclose(rough_gradient.to(at::kDouble), gradient, 1e-5, 3e-6));
  }
}

TEST(Divergence, NoNodesGiveNothing) {
  for (const Divergence kind : kAll) {
    const LabelTensors labels{none(at::kInt), none(at::kInt), none(at::kFloat), none(at::kFloat)};
    const auto [value, gradient] = divergence(kind, at::randn({5, 3}), none(at::kFloat), labels, 1.0);
    EXPECT_EQ(value.item<double>(), 0.0);
    EXPECT_TRUE(at::equal(gradient, at::zeros({5, 3})));
    const auto [no_value, no_gradient] =
        divergence(kind, at::empty({0, 3}), at::empty({0, 3}),
                   {none(at::kInt), none(at::kInt), at::empty({0, 3}), none(at::kFloat)}, 1.0);
    EXPECT_EQ(no_value.item<double>(), 0.0);
    EXPECT_EQ(no_gradient.sizes(), (std::vector<int64_t>{0, 3}));
  }
}

TEST(Divergence, SameBitsForAnyNumberOfThreads) {
  for (const Divergence kind : kAll) {
    const Problem problem = Problem(4000, 3001, 5, kind).to(at::kFloat);
    std::vector<at::Tensor> first;
    for (const int threads : {1, 2, 5}) {
      const test::ScopedThreads scope(threads);
      const auto [value, gradient] = problem.solve(kind);
      if (first.empty()) first = {value, gradient};
      EXPECT_TRUE(at::equal(value, first[0]));
      EXPECT_TRUE(at::equal(gradient, first[1]));
    }
  }
}

TEST(Divergence, HowMatricesAreStoredDoesNotMatter) {
  const auto transposed = [](const at::Tensor& matrix) { return matrix.t().contiguous().t(); };
  for (const Divergence kind : kAll) {
    const Problem plain(40, 30, 6, kind);
    Problem stored = plain;
    stored.predictions = transposed(plain.predictions);
    stored.shift = transposed(plain.shift);
    stored.labels.targets = transposed(plain.labels.targets);
    stored.labels.class_weights = at::stack({plain.labels.class_weights, plain.shift[0]}, 1).select(1, 0);
    const auto [value, gradient] = plain.solve(kind);
    const auto [same_value, same_gradient] = stored.solve(kind);
    EXPECT_TRUE(at::equal(same_value, value));
    EXPECT_TRUE(at::equal(same_gradient, gradient));
  }
}

// The gradient is handed to backward() by the caller; the operator itself leaves no trace in the graph.
TEST(Divergence, IsNotPartOfTheGraph) {
  Problem problem(10, 8, 3, Divergence::kSoftmax);
  const at::Tensor leaf = problem.predictions.t().contiguous().requires_grad_();
  problem.predictions = leaf.t();
  const auto [value, gradient] = problem.solve(Divergence::kSoftmax);
  EXPECT_FALSE(value.requires_grad());
  EXPECT_FALSE(gradient.requires_grad());
  EXPECT_TRUE(at::equal(torch::autograd::grad({problem.predictions}, {leaf}, {gradient})[0], gradient.t()));
}

TEST(Divergence, Refusals) {
  const std::string on = " on " + test::device_name();
  const at::Tensor z = at::ones({4, 2});
  const at::Tensor nothing = none(at::kFloat), no_ids = none(at::kInt);
  const LabelTensors by_class{ids({0, 2, 3}), ids({0, 1, 1}), nothing, nothing};
  const LabelTensors by_target{ids({0, 2, 3}), no_ids, at::ones({3, 2}), nothing};
  const auto refused = [&](Divergence kind, const at::Tensor& predictions, const at::Tensor& shift,
                           const LabelTensors& labels) {
    return refusal([&] { divergence(kind, predictions, shift, labels, 1.0); });
  };
  const auto softmax_with = [&](const std::function<void(LabelTensors&)>& change) {
    LabelTensors labels = by_class;
    change(labels);
    return refused(Divergence::kSoftmax, z, nothing, labels);
  };
  EXPECT_EQ(refused(static_cast<Divergence>(3), z, nothing, by_target),
            "qw::divergence: kind must be softmax, least_squares or bernoulli, got '3'");
  EXPECT_EQ(refused(Divergence::kSoftmax, at::ones({4}), nothing, by_class),
            "qw::divergence: predictions must be [N, C], got [4]");
  EXPECT_EQ(refused(Divergence::kSoftmax, at::ones({4, 2}, at::kInt), nothing, by_class),
            "qw::divergence: predictions must be float32 or float64, got Int");
  EXPECT_EQ(softmax_with([](auto& labels) { labels.nodes = labels.nodes.to(at::kLong); }),
            "qw::divergence: nodes must be one contiguous row of Int, got Long [3]");
  EXPECT_EQ(softmax_with([](auto& labels) { labels.classes = labels.classes.to(at::kLong); }),
            "qw::divergence: classes must be one contiguous row of Int, got Long [3]");
  EXPECT_EQ(refused(Divergence::kSoftmax, z, at::ones({3, 2}), by_class),
            "qw::divergence: shift must be [4, 2] or [0] of Float" + on + ", got [3, 2] of Float" + on);
  EXPECT_EQ(refused(Divergence::kSoftmax, z, at::ones({4, 2}, at::kDouble), by_class),
            "qw::divergence: shift must be [4, 2] or [0] of Float" + on + ", got [4, 2] of Double" + on);
  EXPECT_EQ(softmax_with([](auto& labels) {
              labels.targets = at::ones({3, 1});
            }),
            "qw::divergence: targets must be [3, 2] or [0] of Float" + on + ", got [3, 1] of Float" + on);
  EXPECT_EQ(softmax_with([](auto& labels) { labels.classes = ids({0}); }),
            "qw::divergence: 3 nodes need as many classes or rows of targets, and not both; got 1 classes "
            "and targets [0]");
  EXPECT_EQ(softmax_with([](auto& labels) {
              labels.targets = at::ones({3, 2});
            }),
            "qw::divergence: 3 nodes need as many classes or rows of targets, and not both; got 3 classes "
            "and targets [3, 2]");
  EXPECT_EQ(softmax_with([](auto& labels) { labels.nodes = ids({}); }),
            "qw::divergence: 0 nodes need as many classes or rows of targets, and not both; got 3 classes "
            "and targets [0]");
  EXPECT_EQ(refused(Divergence::kLeastSquares, z, nothing, by_class),
            "qw::divergence: classes serve softmax only; give targets");
  EXPECT_EQ(softmax_with([](auto& labels) { labels.class_weights = at::ones({3}); }),
            "qw::divergence: class_weights must be [2] or [0] of Float" + on + ", got [3] of Float" + on);
}

TEST(Divergence, ChecksAlsoUnderInferenceMode) {
  const Problem problem(40, 30, 6, Divergence::kSoftmax);
  const auto [value, gradient] = problem.solve(Divergence::kSoftmax);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(std::get<1>(problem.solve(Divergence::kSoftmax)), gradient));
  EXPECT_NE(refusal([&] { problem.to(at::kFloat).solve(static_cast<Divergence>(9)); }), "not refused");
}

}  // namespace
}  // namespace qw
