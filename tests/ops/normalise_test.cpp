#include "qw/ops/normalise.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "ops/normalise_parts.h"
#include "qw/graph/generators.h"
#include "qw/graph/matrix.h"
#include "qw/ops/edge_values.h"
#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::on_device::sparse_matrix;
using test::on_device::tensor_of;

at::Tensor numbers(const std::vector<double>& values) { return tensor_of(values, at::kDouble); }

// The row of each entry.
at::Tensor rows_of(const SparsePattern& pattern) { return at::repeat_interleave(pattern.offsets.diff()); }

// The same on the whole dense matrix, straight from the definition.
at::Tensor dense_reference(const SparsePattern& pattern, const at::Tensor& values, Normalisation kind) {
  const int64_t nodes = pattern.offsets.size(0) - 1;
  const at::Tensor rows = rows_of(pattern), columns = pattern.columns.to(at::kLong);
  const double absent = kind == Normalisation::kSoftmax ? -INFINITY : 0.0;
  at::Tensor dense = at::full({nodes, nodes}, absent, values.options());
  dense.index_put_({rows, columns}, values);
  const at::Tensor sums = dense.sum(1);
  const at::Tensor zero = at::zeros({}, values.options());
  at::Tensor result;
  if (kind == Normalisation::kSymmetric) {
    const at::Tensor scale = at::where(sums > 0, 1 / sums.sqrt(), zero);
    result = scale.unsqueeze(1) * dense * scale.unsqueeze(0);
  } else if (kind == Normalisation::kRows) {
    result = at::where((sums == 0).unsqueeze(1), zero, dense / sums.unsqueeze(1));
  } else {
    result = dense.exp() / dense.exp().sum(1, true);
  }
  return result.index({rows, columns});
}

// The pattern of the entries where `mask` [N, N] is true.
SparsePattern pattern_of(const at::Tensor& mask) {
  const int64_t nodes = mask.size(0);
  const at::Tensor at_row = mask.nonzero().select(1, 0), at_column = mask.nonzero().select(1, 1);
  const auto offsets = [&](const at::Tensor& counts) {
    return at::cat({at::zeros({1}, at::kLong), counts.cumsum(0)});
  };
  const at::Tensor order = at::argsort(at_column * nodes + at_row);
  return {offsets(mask.sum(1)), at_column.to(at::kInt), offsets(mask.sum(0)),
          at_row.index_select(0, order).to(at::kInt), order};
}

// A directed graph; the larger ones have an empty row (1) and an empty column (2). Values of both signs are
// whole numbers and a sixteenth: sums of up to 15 of them are exact and not 0, where nothing has a gradient.
struct Setting {
  SparsePattern pattern;
  at::Tensor values;

  explicit Setting(int64_t nodes, bool positive = true, double density = 0.3) {
    at::manual_seed(nodes);
    const at::Tensor mask = at::rand({nodes, nodes}) < density;
    if (nodes > 2) {
      mask.select(0, 1).fill_(false);
      mask.select(1, 2).fill_(false);
    }
    pattern = pattern_of(mask);
    const int64_t entries = pattern.columns.size(0);
    values = positive ? at::rand({entries}, at::kDouble) + 0.2
                      : at::randint(-6, 7, {entries}, at::kDouble) + 1.0 / 16;
  }
};

class NormaliseAs : public testing::TestWithParam<Normalisation> {};

TEST_P(NormaliseAs, ValuesAreThoseOfTheDenseReference) {
  for (const int64_t nodes : {1, 2, 7, 12, 40}) {
    for (const bool positive : {true, false}) {
      const Setting setting(nodes, positive);
      const at::Tensor expected = dense_reference(setting.pattern, setting.values, GetParam());
      const at::Tensor result = normalise(setting.pattern, setting.values, GetParam());
      EXPECT_TRUE(at::allclose(result, expected, 1e-12, 1e-12)) << nodes;
      const at::Tensor single = normalise(setting.pattern, setting.values.to(at::kFloat), GetParam());
      EXPECT_EQ(single.scalar_type(), at::kFloat);
      // Sums of both signs cancel, which single precision may not resolve.
      if (positive) {
        EXPECT_TRUE(at::allclose(single.to(at::kDouble), expected, 1e-5, 1e-7)) << nodes;
      }
    }
  }
}

TEST_P(NormaliseAs, GradientIsThatOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  for (const int64_t nodes : {1, 3, 9}) {
    for (const bool positive : {true, false}) {
      const Setting setting(nodes, positive, 0.5);
      const at::Tensor weight = at::randn_like(setting.values);
      const auto loss = [&](const at::Tensor& values) {
        return (normalise(setting.pattern, values, GetParam()) * weight).sum();
      };
      const at::Tensor leaf = setting.values.clone().requires_grad_();
      const at::Tensor gradient = torch::autograd::grad({loss(leaf)}, {leaf})[0];
      for (int64_t k = 0; k < leaf.numel(); ++k) {
        at::Tensor above = setting.values.clone(), below = setting.values.clone();
        above[k] += kStep;
        below[k] -= kStep;
        const double expected = (loss(above) - loss(below)).item<double>() / (2 * kStep);
        EXPECT_NEAR(gradient[k].item<double>(), expected, 1e-6 * (1 + std::abs(expected)))
            << nodes << ' ' << k;
      }
      const at::Tensor single = setting.values.to(at::kFloat).requires_grad_();
      const at::Tensor in_single = torch::autograd::grad(
          {(normalise(setting.pattern, single, GetParam()) * weight.to(at::kFloat)).sum()}, {single})[0];
      if (positive) {
        EXPECT_TRUE(at::allclose(in_single.to(at::kDouble), gradient, 1e-4, 1e-5)) << nodes;
      }
    }
  }
}

// A row and a column that are full, and no row without entries, which the reference cannot differentiate; the
// second graph has so many entries that the GPU takes another way.
TEST_P(NormaliseAs, HubsAreThoseOfTheDenseReference) {
  for (const auto& [nodes, density] : {std::pair{600, 0.01}, std::pair{1500, 1.0}}) {
    const at::Tensor mask = at::rand({nodes, nodes}) < density;
    mask.select(0, 0).fill_(true);
    mask.select(1, 3).fill_(true);
    const SparsePattern pattern = pattern_of(mask);
    const at::Tensor values = (at::rand({pattern.columns.size(0)}, at::kDouble) + 0.2).requires_grad_();
    const at::Tensor weight = at::randn_like(values);
    const at::Tensor result = normalise(pattern, values, GetParam());
    const at::Tensor expected = dense_reference(pattern, values, GetParam());
    EXPECT_TRUE(at::allclose(result, expected, 1e-11, 1e-13)) << nodes;
    EXPECT_TRUE(at::allclose(torch::autograd::grad({result}, {values}, {weight})[0],
                             torch::autograd::grad({expected}, {values}, {weight})[0], 1e-9, 1e-11))
        << nodes;
  }
}

TEST_P(NormaliseAs, TakesNonContiguousValuesAndGradients) {
  const Setting setting(12);
  const int64_t entries = setting.values.numel();
  const at::Tensor leaf = setting.values.clone().requires_grad_();
  const at::Tensor strided = at::stack({leaf, leaf}, 1).select(1, 0);
  const at::Tensor incoming = at::randn({entries, 2}, at::kDouble).select(1, 0);
  const at::Tensor result = normalise(setting.pattern, leaf, GetParam());
  const at::Tensor again = normalise(setting.pattern, strided, GetParam());
  EXPECT_TRUE(at::equal(result, again));
  EXPECT_TRUE(at::equal(torch::autograd::grad({again}, {leaf}, {incoming})[0],
                        torch::autograd::grad({result}, {leaf}, {incoming.contiguous()})[0]));
}

TEST_P(NormaliseAs, GraphsWithoutNodesOrEntries) {
  for (const int64_t nodes : {0, 3}) {
    const SparsePattern pattern = sparse_matrix(nodes, nodes, 0.0, at::kDouble).pattern;
    const at::Tensor values = at::zeros({0}, at::kDouble).requires_grad_();
    const at::Tensor result = normalise(pattern, values, GetParam());
    EXPECT_EQ(result.sizes(), std::vector<int64_t>{0});
    EXPECT_EQ(torch::autograd::grad({result.sum()}, {values})[0].sizes(), std::vector<int64_t>{0});
  }
}

TEST_P(NormaliseAs, SameBitsForAnyNumberOfThreads) {
  const Setting setting(300, true, 0.5);
  const at::Tensor values = setting.values.to(at::kFloat).requires_grad_();
  ASSERT_GT(values.numel(), 1 << 15);  // enough for two threads
  const at::Tensor weight = at::randn({values.numel()});
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor result = normalise(setting.pattern, values, GetParam());
    const at::Tensor gradient = torch::autograd::grad({(result * weight).sum()}, {values})[0];
    if (first.empty()) first = {result.detach(), gradient};
    EXPECT_TRUE(at::equal(result, first[0]));
    EXPECT_TRUE(at::equal(gradient, first[1]));
  }
}

TEST_P(NormaliseAs, HasNoSecondDerivative) {
  const Setting setting(4, true, 1.0);
  const at::Tensor values = setting.values.clone().requires_grad_();
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad({normalise(setting.pattern, values, GetParam()).square().sum()}, {values},
                                    {}, true, true);
            }),
            "qw::normalise: there is no second derivative; call backward without create_graph");
}

TEST_P(NormaliseAs, ChecksAlsoUnderInferenceMode) {
  const Setting setting(7);
  const at::Tensor expected = normalise(setting.pattern, setting.values, GetParam());
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(normalise(setting.pattern, setting.values, GetParam()), expected));
  EXPECT_NE(refusal([&] { normalise(setting.pattern, at::zeros({1}), GetParam()); }), "not refused");
}

std::string name_of(Normalisation kind) {
  const std::vector<std::string> names{"Symmetric", "Rows", "Softmax"};
  return names[static_cast<size_t>(kind)];
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormaliseAs,
                         testing::Values(Normalisation::kSymmetric, Normalisation::kRows,
                                         Normalisation::kSoftmax),
                         [](const auto& param) { return name_of(param.param); });

// Two nodes, every entry there: rows (1, 3) and (7, 9), so that d = 4, 16 and all roots are whole.
TEST(Normalise, WholeNumbersAreExact) {
  const SparsePattern pattern = sparse_matrix(2, 2, 1.0, at::kDouble).pattern;
  const at::Tensor values = numbers({1, 3, 7, 9}).requires_grad_();
  const at::Tensor incoming = numbers({8, 16, 24, 32});
  const at::Tensor symmetric = normalise(pattern, values, Normalisation::kSymmetric);
  EXPECT_TRUE(at::equal(symmetric, numbers({1.0 / 4, 3.0 / 8, 7.0 / 8, 9.0 / 16})));
  // G a is 2, 6, 21, 18; of node 0 row and column have 8 + 23, of node 1 39 + 24.
  EXPECT_TRUE(at::equal(torch::autograd::grad({symmetric}, {values}, {incoming})[0],
                        numbers({2 - 31.0 / 8, 2 - 31.0 / 8, 3 - 63.0 / 32, 2 - 63.0 / 32})));
  const at::Tensor rows = normalise(pattern, values, Normalisation::kRows);
  EXPECT_TRUE(at::equal(rows, numbers({1.0 / 4, 3.0 / 4, 7.0 / 16, 9.0 / 16})));
  EXPECT_TRUE(at::equal(torch::autograd::grad({rows}, {values}, {incoming})[0],
                        numbers({-6.0 / 4, 2.0 / 4, -4.5 / 16, 3.5 / 16})));
}

// Row 0 sums to 0, row 1 to -2, row 2 to 4: through the first two sums of the symmetric kind nothing comes.
TEST(Normalise, SumsThatAreNotPositive) {
  const SparsePattern pattern = sparse_matrix(3, 3, 1.0, at::kDouble).pattern;
  const at::Tensor values = numbers({1, -2, 1, -4, 1, 1, 1, 1, 2}).requires_grad_();
  const at::Tensor symmetric = normalise(pattern, values, Normalisation::kSymmetric);
  EXPECT_TRUE(at::equal(symmetric, numbers({0, 0, 0, 0, 0, 0, 0, 0, 0.5})));
  // dL/dd_2 = -1/2 * 1/4 * (0.5 + 0.5)
  EXPECT_TRUE(at::equal(torch::autograd::grad({symmetric.sum()}, {values})[0],
                        numbers({0, 0, 0, 0, 0, 0, -0.125, -0.125, 0.125})));
  const at::Tensor rows = normalise(pattern, values, Normalisation::kRows);
  EXPECT_TRUE(at::equal(rows, numbers({0, 0, 0, 2, -0.5, -0.5, 0.25, 0.25, 0.5})));
  const at::Tensor gradient =
      torch::autograd::grad({rows}, {values}, {numbers({1, 2, 3, 4, 2, 2, 4, 8, 2})})[0];
  EXPECT_TRUE(at::equal(gradient, numbers({0, 0, 0, 1, 2, 2, 0, 1, -0.5})));
}

TEST(Normalise, OneEdgeBetweenOtherwiseIsolatedNodes) {
  // 4 nodes and the arc 2 -> 1: node 1 has a sum, node 2 has none.
  const SparsePattern pattern{
      tensor_of(std::vector<int64_t>{0, 0, 1, 1, 1}, at::kLong), tensor_of(std::vector<int32_t>{2}, at::kInt),
      tensor_of(std::vector<int64_t>{0, 0, 0, 1, 1}, at::kLong), tensor_of(std::vector<int32_t>{1}, at::kInt),
      tensor_of(std::vector<int64_t>{0}, at::kLong)};
  const at::Tensor value = numbers({3});
  EXPECT_TRUE(at::equal(normalise(pattern, value, Normalisation::kSymmetric), numbers({0})));
  EXPECT_TRUE(at::equal(normalise(pattern, value, Normalisation::kRows), numbers({1})));
  EXPECT_TRUE(at::equal(normalise(pattern, value, Normalisation::kSoftmax), numbers({1})));
}

TEST(Normalise, SoftmaxDoesNotOverflow) {
  const SparsePattern pattern = sparse_matrix(2, 2, 1.0, at::kDouble).pattern;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor values = numbers({1e6, 1e6, -1e6, 1e6}).to(type);
    EXPECT_TRUE(
        at::equal(normalise(pattern, values, Normalisation::kSoftmax), numbers({0.5, 0.5, 0, 1}).to(type)));
  }
}

TEST(Normalise, SymmetricValuesStaySymmetricToTheLastBit) {
  const SparsePattern pattern = sparse_matrix(20, 20, 1.0, at::kDouble).pattern;
  const at::Tensor some = at::rand({20, 20});
  const at::Tensor result =
      normalise(pattern, (some + some.t()).reshape(-1), Normalisation::kSymmetric).view({20, 20});
  EXPECT_TRUE(at::equal(result, result.t()));
}

// The layers of the models: weights of edges, to a matrix with self-loops, normalised, times features.
struct LearnedGraph {
  CsrMatrix matrix;
  SparsePattern pattern;
  EntryEdges entries;
  int64_t edges;

  LearnedGraph() {
    const Graph graph = make_karate().graph;
    edges = graph.num_edges();
    matrix = symmetric_normalisation(graph);
    pattern =
        SparsePattern::symmetric(tensor_of(matrix.offsets, at::kLong), tensor_of(matrix.columns, at::kInt));
    pattern.order = at::argsort(pattern.columns.to(at::kLong) * graph.num_nodes() + rows_of(pattern));
    std::vector<int64_t> entries_of(2 * edges, -1);
    for (size_t k = 0; k < matrix.edges.size(); ++k) {
      if (matrix.edges[k] == kNoEdge) continue;
      const int64_t first = 2 * matrix.edges[k];
      entries_of[entries_of[first] == -1 ? first : first + 1] = static_cast<int64_t>(k);
    }
    entries = {tensor_of(matrix.edges, at::kLong), tensor_of(entries_of, at::kLong).view({edges, 2})};
  }

  at::Tensor propagate(const at::Tensor& weights, const at::Tensor& x) const {
    return spmm(pattern, normalise(pattern, edge_values(weights, entries), Normalisation::kSymmetric), x);
  }
};

TEST(Normalise, OfEqualWeightsIsTheMatrixOfTheGraph) {
  const LearnedGraph learned;
  const at::Tensor ones = at::ones({learned.edges}, at::kDouble);
  const at::Tensor result =
      normalise(learned.pattern, edge_values(ones, learned.entries), Normalisation::kSymmetric);
  EXPECT_TRUE(at::allclose(result, numbers(learned.matrix.values), 1e-15, 1e-15));
}

TEST(Normalise, GradientReachesTheWeightsOfTheEdges) {
  constexpr double kStep = 1e-6;
  const LearnedGraph learned;
  const int64_t nodes = learned.pattern.offsets.size(0) - 1;
  const at::Tensor weights = at::rand({learned.edges}, at::kDouble) + 0.5;
  const at::Tensor x = at::randn({nodes, 3}, at::kDouble);
  const at::Tensor direction = at::randn({learned.edges}, at::kDouble);
  const at::Tensor leaf = weights.clone().requires_grad_();
  const at::Tensor gradient = torch::autograd::grad({learned.propagate(leaf, x).square().sum()}, {leaf})[0];
  const auto loss = [&](double step) {
    return learned.propagate(weights + step * direction, x).square().sum().item<double>();
  };
  const double expected = (loss(kStep) - loss(-kStep)) / (2 * kStep);
  EXPECT_NEAR(gradient.dot(direction).item<double>(), expected, 1e-6 * (1 + std::abs(expected)));
}

TEST(Normalise, WithoutAnOrderOnlyTheSymmetricGradientIsRefused) {
  Setting setting(6, true, 1.0);
  setting.pattern.order = at::empty({0}, at::kLong);
  const at::Tensor values = setting.values.clone().requires_grad_();
  for (const Normalisation kind : {Normalisation::kRows, Normalisation::kSoftmax})
    EXPECT_EQ(torch::autograd::grad({normalise(setting.pattern, values, kind).sum()}, {values}).size(), 1);
  const at::Tensor result = normalise(setting.pattern, values, Normalisation::kSymmetric);
  EXPECT_TRUE(at::allclose(result, dense_reference(setting.pattern, values, Normalisation::kSymmetric)));
  EXPECT_EQ(refusal([&] { torch::autograd::grad({result.sum()}, {values}); }),
            "qw::normalise: the gradient of the symmetric kind needs the pattern's order, which "
            "SparsePattern::symmetric does not have");
}

TEST(Normalise, RefusesValuesAndKinds) {
  const std::string on = " on " + test::device_name();
  const SparsePattern good = sparse_matrix(3, 3, 1.0, at::kFloat).pattern;
  const at::Tensor values = at::ones({9});
  const auto refused = [&](const at::Tensor& given) {
    return refusal([&] { normalise(good, given, Normalisation::kRows); });
  };
  EXPECT_EQ(refused(at::ones({5})),
            "qw::normalise: values must be [9] of float32 or float64, got [5] of Float");
  EXPECT_EQ(refused(at::ones({9, 1})),
            "qw::normalise: values must be [9] of float32 or float64, got [9, 1] of Float");
  EXPECT_EQ(refused(values.to(at::kHalf)),
            "qw::normalise: values must be [9] of float32 or float64, got [9] of Half");
  EXPECT_EQ(refused(values.to(at::kMeta)), "qw::normalise: offsets is" + on + ", the values are on meta");
  for (const int kind : {-1, 3}) {
    EXPECT_EQ(refusal([&] { normalise(good, values, static_cast<Normalisation>(kind)); }),
              "qw::normalise: kind must be symmetric, rows or softmax, got '" + std::to_string(kind) + "'");
  }
}

TEST(Normalise, RefusesPatterns) {
  const SparsePattern good = sparse_matrix(3, 3, 1.0, at::kFloat).pattern;
  const auto refused = [&](const SparsePattern& pattern) {
    return refusal([&] { normalise(pattern, at::ones({9}), Normalisation::kSymmetric); });
  };
  SparsePattern bad = good;
  bad.offsets = good.offsets.slice(0, 0, 3);
  EXPECT_EQ(refused(bad),
            "qw::normalise: offsets has 3 entries, transposed_offsets 4; the pattern must be square");
  bad = good;
  bad.transposed_columns = good.transposed_columns.slice(0, 0, 5);
  EXPECT_EQ(refused(bad), "qw::normalise: the pattern has 9 entries, its transpose 5");
  bad = good;
  bad.order = good.order.slice(0, 0, 5);
  EXPECT_EQ(refused(bad), "qw::normalise: order must have an entry for each of 9 entries, or none, got 5");
  bad = good;
  bad.transposed_offsets = good.transposed_offsets.to(at::kInt);
  EXPECT_EQ(refused(bad),
            "qw::normalise: transposed_offsets must be one contiguous row of Long, got Int [4]");
}

TEST(Normalise, BackwardChecksItsOwnInput) {
  const std::string on = " on " + test::device_name();
  const SparsePattern pattern = sparse_matrix(3, 3, 1.0, at::kFloat).pattern;
  const at::Tensor nine = at::ones({9}), three = at::ones({3});
  const auto refused = [&](const at::Tensor& normalised, const at::Tensor& scales, const at::Tensor& gradient,
                           Normalisation kind = Normalisation::kRows) {
    return refusal([&] { ops::normalise_backward(pattern, normalised, scales, gradient, kind); });
  };
  EXPECT_EQ(refused(three, three, nine),
            "qw::_normalise_backward: normalised must be [9] of float32 or float64, got [3] of Float");
  EXPECT_EQ(refused(nine, nine, nine),
            "qw::_normalise_backward: scales must be [3] of Float" + on + ", got [9] of Float" + on);
  EXPECT_EQ(refused(nine, three, nine, Normalisation::kSoftmax),
            "qw::_normalise_backward: scales must be [0] of Float" + on + ", got [3] of Float" + on);
  EXPECT_EQ(refused(nine, three, nine.to(at::kDouble)),
            "qw::_normalise_backward: gradient must be [9] of Float" + on + ", got [9] of Double" + on);
}

}  // namespace
}  // namespace qw
