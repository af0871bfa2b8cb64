#include "qw/ops/graph_attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "ops/graph_attention_parts.h"
#include "qw/core/random.h"
#include "qw/ops/dropout.h"
#include "support/graph_tensors.h"
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

template <class Value>
at::Tensor tensor_of(const std::vector<Value>& values, at::ScalarType type) {
  return test::tensor_of(values, type).to(test::device());
}

// A pattern and, for the slow reference, the row and the column of each entry.
struct Arcs {
  SparsePattern pattern;
  at::Tensor targets;
  at::Tensor sources;
};

// The entries of row i are senders[i].
Arcs arcs_of(const std::vector<std::vector<int64_t>>& senders) {
  const auto nodes = static_cast<int64_t>(senders.size());
  std::vector<int64_t> offsets{0}, transposed_offsets{0}, order, targets, sources;
  std::vector<int32_t> columns, transposed_columns;
  for (int64_t i = 0; i < nodes; ++i) {
    for (const int64_t j : senders[i]) {
      targets.push_back(i);
      sources.push_back(j);
      columns.push_back(static_cast<int32_t>(j));
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  for (int64_t j = 0; j < nodes; ++j) {
    for (size_t k = 0; k < sources.size(); ++k) {
      if (sources[k] != j) continue;
      order.push_back(static_cast<int64_t>(k));
      transposed_columns.push_back(static_cast<int32_t>(targets[k]));
    }
    transposed_offsets.push_back(static_cast<int64_t>(order.size()));
  }
  return {
      {tensor_of(offsets, at::kLong), tensor_of(columns, at::kInt), tensor_of(transposed_offsets, at::kLong),
       tensor_of(transposed_columns, at::kInt), tensor_of(order, at::kLong)},
      tensor_of(targets, at::kLong),
      tensor_of(sources, at::kLong)};
}

// Directed, with self-loops, a duplicate entry, a row without entries (1), a node that sends nothing (2) and,
// when there are nodes enough, rows longer than a block of the kernel.
Arcs random_arcs(int64_t nodes, double density) {
  const RandomStream random(11, static_cast<uint64_t>(nodes));
  std::vector<std::vector<int64_t>> senders(nodes);
  for (int64_t i = 0; i < nodes; ++i) {
    if (i == 1) continue;
    for (int64_t j = 0; j < nodes; ++j) {
      if (j != 2 && (i == j || random.uniform(static_cast<uint64_t>(i * nodes + j)) < density))
        senders[i].push_back(j);
    }
  }
  if (nodes > 3) senders[3].push_back(0), senders[3].push_back(0);
  return arcs_of(senders);
}

struct Inputs {
  at::Tensor features;
  at::Tensor attention_source;
  at::Tensor attention_target;
  at::Tensor edge_weights;

  std::vector<at::Tensor> all() const { return {features, attention_source, attention_target, edge_weights}; }
};

Inputs random_inputs(const Arcs& arcs, int64_t heads, int64_t depth, at::ScalarType type, bool weighted) {
  const int64_t nodes = arcs.pattern.offsets.size(0) - 1;
  at::manual_seed(heads * 100 + depth);
  const auto leaf = [&](at::IntArrayRef sizes) { return at::randn(sizes, type).requires_grad_(); };
  const double size = 1 / std::sqrt(std::max<double>(1, depth));  // scores of about 1
  const auto vector = [&] { return (at::randn({1, heads, depth}, type) * size).requires_grad_(); };
  return {leaf({nodes, heads * depth}), vector(), vector(), leaf({weighted ? arcs.sources.size(0) : 0})};
}

// One head: the first feature of each node is its source score, and of target scores there are none.
Inputs with_scores(Inputs inputs, const at::Tensor& scores) {
  inputs.features = inputs.features.detach().clone();
  inputs.features.select(1, 0).copy_(scores);
  inputs.attention_source = at::zeros(inputs.attention_source.sizes(), inputs.features.scalar_type());
  inputs.attention_source.select(2, 0).fill_(1);
  inputs.attention_target = at::zeros_like(inputs.attention_source);
  return inputs;
}

at::Tensor run(const Arcs& arcs, const Inputs& inputs, const GraphAttentionOptions& options) {
  return graph_attention(arcs.pattern, inputs.features, inputs.attention_source, inputs.attention_target,
                         inputs.edge_weights, options);
}

// [entries, heads]: what each attention weight is multiplied by.
at::Tensor dropout_mask(int64_t entries, int64_t heads, const GraphAttentionOptions& options) {
  if (options.dropout == 0) return at::ones({entries, heads}, at::kDouble);
  std::vector<double> mask(entries * heads);
  for (int64_t t = 0; t < entries * heads; ++t) {
    const PhiloxBlock block = philox({static_cast<uint32_t>(t / 4), 0, static_cast<uint32_t>(options.layer),
                                      static_cast<uint32_t>(options.epoch)},
                                     static_cast<uint64_t>(options.seed));
    const bool dropped = block[t % 4] < options.dropout * 0x1p32;
    mask[t] = dropped ? 0 : 1 / (1 - options.dropout);
  }
  return tensor_of(mask, at::kDouble).view({entries, heads});
}

// GATConv with one torch function after the other, in double.
at::Tensor slow(const Arcs& arcs, const Inputs& inputs, const GraphAttentionOptions& options) {
  const int64_t nodes = inputs.features.size(0);
  const int64_t heads = inputs.attention_source.size(1);
  const int64_t entries = arcs.sources.size(0);
  const at::Tensor features =
      inputs.features.to(at::kDouble).view({nodes, heads, inputs.features.size(1) / heads});
  const at::Tensor source_scores = (features * inputs.attention_source.to(at::kDouble)).sum(2);
  const at::Tensor target_scores = (features * inputs.attention_target.to(at::kDouble)).sum(2);
  const at::Tensor raw =
      source_scores.index_select(0, arcs.sources) + target_scores.index_select(0, arcs.targets);
  const at::Tensor numerator = at::leaky_relu(raw, options.negative_slope).exp();
  const at::Tensor sum = at::zeros({nodes, heads}, at::kDouble).index_add(0, arcs.targets, numerator);
  at::Tensor alpha = numerator / sum.index_select(0, arcs.targets);
  if (inputs.edge_weights.numel() != 0) alpha = alpha * inputs.edge_weights.to(at::kDouble).unsqueeze(1);
  alpha = alpha * dropout_mask(entries, heads, options);
  const at::Tensor messages = alpha.unsqueeze(2) * features.index_select(0, arcs.sources);
  return at::zeros_like(features).index_add(0, arcs.targets, messages).view(inputs.features.sizes());
}

class GraphAttentionOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  double tolerance() const { return GetParam() == at::kDouble ? 1e-12 : 3e-5; }

  void expect_as_slow(const Arcs& arcs, const Inputs& inputs, const GraphAttentionOptions& options) {
    const bool weighted = inputs.edge_weights.numel() != 0;
    std::vector<at::Tensor> leaves = inputs.all();
    if (!weighted) leaves.pop_back();
    const at::Tensor output = run(arcs, inputs, options);
    const at::Tensor expected = slow(arcs, inputs, options);
    EXPECT_EQ(output.scalar_type(), GetParam());
    EXPECT_TRUE(at::allclose(output.to(at::kDouble), expected, tolerance(), tolerance()));
    const at::Tensor weight = at::randn(output.sizes(), GetParam());
    const auto gradients = torch::autograd::grad({(output * weight).sum()}, leaves);
    const auto references = torch::autograd::grad({(expected * weight.to(at::kDouble)).sum()}, leaves);
    for (size_t k = 0; k < leaves.size(); ++k) {
      EXPECT_TRUE(at::allclose(gradients[k], references[k], 10 * tolerance(), 10 * tolerance()))
          << "input " << k << ", off by " << (gradients[k] - references[k]).abs().max().item<double>();
    }
  }
};

TEST_P(GraphAttentionOf, ValueAndGradientsAreThoseOfTheSlowCompositionAtEveryTail) {
  const Arcs arcs = random_arcs(50, 0.3);
  for (const int64_t heads : {1, 2, 3, 8, 9}) {
    for (const int64_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 24, 32, 47}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << depth);
      expect_as_slow(arcs, random_inputs(arcs, heads, depth, GetParam(), heads % 2 == 0), {});
    }
  }
}

TEST_P(GraphAttentionOf, RowsLongerThanABlockWithWeightsAndDropout) {
  const Arcs arcs = random_arcs(120, 0.6);
  for (const int64_t heads : {1, 3, 8, 11, 16}) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(testing::Message() << heads << " heads, weighted " << weighted);
      expect_as_slow(arcs, random_inputs(arcs, heads, 8, GetParam(), weighted),
                     {.negative_slope = 0.1, .dropout = 0.6, .seed = -5, .epoch = 7, .layer = 1});
    }
  }
}

TEST_P(GraphAttentionOf, HeadsOfAnyDepthAndRowsFarLongerThanTheAverage) {
  std::vector<std::vector<int64_t>> senders(60);
  for (int64_t i = 0; i < 60; ++i) senders[i] = {i, (i + 1) % 60, 7};
  for (int64_t j = 0; j < 60; ++j) senders[4].insert(senders[4].end(), {j, j, 59 - j});
  const Arcs arcs = arcs_of(senders);
  const std::vector<std::pair<int64_t, int64_t>> heads_and_depths{
      {2, 33}, {1, 64}, {1, 65}, {2, 130}, {1, 260}, {1, 520}, {8, 64},  {40, 1},
      {1, 1},  {1, 7},  {1, 8},  {1, 16},  {9, 64},  {3, 64},  {33, 16}, {5, 32}};
  for (const auto& [heads, depth] : heads_and_depths) {
    SCOPED_TRACE(testing::Message() << heads << " heads of " << depth);
    expect_as_slow(arcs, random_inputs(arcs, heads, depth, GetParam(), depth != 64),
                   {.dropout = 0.4, .seed = 5, .epoch = 1, .layer = 2});
  }
}

TEST_P(GraphAttentionOf, TakesNonContiguousInput) {
  const Arcs arcs = random_arcs(20, 0.3);
  const Inputs plain = random_inputs(arcs, 2, 3, GetParam(), true);
  const auto strided = [](const at::Tensor& tensor) {
    return at::stack({tensor, tensor}, -1).select(-1, 1).detach();
  };
  const Inputs inputs{strided(plain.features), strided(plain.attention_source),
                      strided(plain.attention_target), strided(plain.edge_weights)};
  ASSERT_FALSE(inputs.features.is_contiguous());
  EXPECT_TRUE(at::equal(run(arcs, inputs, {}), run(arcs, plain, {})));
}

TEST_P(GraphAttentionOf, EmptyGraphsOneEntryAndNoColumns) {
  for (const auto& senders :
       std::vector<std::vector<std::vector<int64_t>>>{{}, {{}, {}, {}}, {{0}}, {{}, {0}}}) {
    const Arcs arcs = arcs_of(senders);
    expect_as_slow(arcs, random_inputs(arcs, 2, 5, GetParam(), true), {});
  }
  const Arcs arcs = arcs_of({{0, 1}, {}});
  EXPECT_EQ(run(arcs, random_inputs(arcs, 3, 0, GetParam(), false), {}).sizes(),
            (std::vector<int64_t>{2, 0}));
}

TEST_P(GraphAttentionOf, ScoresFarApartNeitherOverflowNorLoseTheLargest) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {}, {}});
  const Inputs inputs = with_scores(random_inputs(arcs, 1, 4, GetParam(), false),
                                    tensor_of(std::vector<double>{1e4, -1e4, -1e30}, at::kDouble));
  EXPECT_TRUE(at::equal(run(arcs, inputs, {})[0], inputs.features[0]));
}

TEST_P(GraphAttentionOf, ExponentialIsThatOfTheLibraryOverItsWholeRange) {
  // Row 0 hears a score of 0 and, for each node, a lower one; weights that pick one entry show its
  // exponential.
  const double lowest = GetParam() == at::kDouble ? -707.0 : -86.9;
  const at::Tensor scores = at::linspace(lowest, 0.0, 3001, at::kDouble).to(GetParam());
  const int64_t nodes = scores.size(0);
  std::vector<std::vector<int64_t>> senders(nodes);
  for (int64_t i = 0; i < nodes; ++i) senders[i] = {i, nodes - 1};
  const Arcs arcs = arcs_of(senders);
  const at::Tensor first = at::tensor({1.0, 0.0}, at::kDouble).repeat({nodes}).to(GetParam());
  const at::Tensor features = at::stack({scores, at::ones({nodes}, GetParam())}, 1);
  const at::Tensor first_feature = at::tensor({1.0, 0.0}, at::kDouble).to(GetParam()).view({1, 1, 2});
  const at::Tensor output = graph_attention(arcs.pattern, features, first_feature,
                                            at::zeros_like(first_feature), first, {.negative_slope = 1.0})
                                .select(1, 1);
  const at::Tensor numerator = scores.to(at::kDouble).exp();
  const double ulps = GetParam() == at::kDouble ? 8e-16 : 5e-7;
  EXPECT_TRUE(at::allclose(output.to(at::kDouble), numerator / (numerator + 1), ulps, 0.0));
}

INSTANTIATE_TEST_SUITE_P(Types, GraphAttentionOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(GraphAttention, GradientsAreFiniteDifferences) {
  const Arcs arcs = random_arcs(8, 0.4);
  const Inputs inputs = random_inputs(arcs, 2, 3, at::kDouble, true);
  const GraphAttentionOptions options{.dropout = 0.3, .seed = 1, .epoch = 2, .layer = 3};
  const at::Tensor weight = at::randn(inputs.features.sizes(), at::kDouble);
  const auto loss = [&] { return (run(arcs, inputs, options) * weight).sum(); };
  const std::vector<at::Tensor> leaves = inputs.all();
  const auto gradients = torch::autograd::grad({loss()}, leaves);
  const at::NoGradGuard no_gradient;
  constexpr double kStep = 1e-6;
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const at::Tensor values = leaves[leaf].view(-1);
    for (int64_t k = 0; k < leaves[leaf].numel(); ++k) {
      const auto value = values[k].item<double>();
      values[k].fill_(value + kStep);
      const double above = loss().item<double>();
      values[k].fill_(value - kStep);
      const double below = loss().item<double>();
      values[k].fill_(value);
      EXPECT_NEAR(gradients[leaf].view(-1)[k].item<double>(), (above - below) / (2 * kStep), 1e-8)
          << "input " << leaf << " element " << k;
    }
  }
}

// All raw scores are 0: torch's leaky_relu has the derivative negative_slope there.
TEST(GraphAttention, TheKinkHasTheSlopeThatTorchGivesIt) {
  const Arcs arcs = arcs_of({{0, 1}, {0, 1}});
  Inputs inputs = random_inputs(arcs, 1, 2, at::kDouble, false);
  inputs.attention_source = at::zeros({1, 1, 2}, at::kDouble).requires_grad_();
  inputs.attention_target = at::zeros({1, 1, 2}, at::kDouble).requires_grad_();
  const GraphAttentionOptions options{.negative_slope = 0.3};
  const at::Tensor weight = at::randn({2, 2}, at::kDouble);
  const auto gradient_of = [&](const at::Tensor& output) {
    return torch::autograd::grad({(output * weight).sum()}, {inputs.attention_source})[0];
  };
  const at::Tensor gradient = gradient_of(run(arcs, inputs, options));
  EXPECT_GT(gradient.abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(at::allclose(gradient, gradient_of(slow(arcs, inputs, options)), 1e-13, 1e-13));
}

// leaky_relu falls and rises again: the largest score of a row may be that of its smallest sum.
TEST(GraphAttention, ANegativeSlopeBelowZeroDoesNotOverflow) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {}, {}});
  const Inputs inputs =
      with_scores(random_inputs(arcs, 1, 4, at::kFloat, false), at::tensor({-1000.0F, 1.0F, 100.0F}));
  EXPECT_TRUE(at::equal(run(arcs, inputs, {.negative_slope = -1.0})[0], inputs.features[0]));
}

TEST(GraphAttention, DropsWhatDropoutDrops) {
  const GraphAttentionOptions options{.dropout = 0.3, .seed = 1, .epoch = 2, .layer = 3};
  EXPECT_TRUE(at::equal(dropout_mask(9, 5, options),
                        dropout(at::ones({9, 5}, at::kDouble), options.dropout,
                                {.seed = options.seed, .epoch = options.epoch, .layer = options.layer})));
}

TEST(GraphAttention, DropoutOfAlmostOneDropsEverything) {
  const Arcs arcs = random_arcs(50, 0.3);
  const Inputs inputs = random_inputs(arcs, 8, 4, at::kDouble, false);
  const at::Tensor output = run(arcs, inputs, {.dropout = std::nextafter(1.0, 0.0)});
  EXPECT_EQ(output.abs().max().item<double>(), 0.0);
}

TEST(GraphAttention, DropoutKeepsTheMeanAndIsNamedBySeedEpochAndLayer) {
  const Arcs arcs = random_arcs(150, 0.5);
  Inputs inputs = random_inputs(arcs, 8, 1, at::kDouble, false);
  inputs.features = at::ones_like(inputs.features);
  const auto with = [&](int64_t seed, int64_t epoch, int64_t layer) {
    return run(arcs, inputs, {.dropout = 0.5, .seed = seed, .epoch = epoch, .layer = layer}).detach();
  };
  const at::Tensor base = with(1, 2, 3);
  // Row 1 has no entries; of the others each is 1 on average.
  EXPECT_NEAR(base.sum().item<double>() / (149 * 8), 1.0, 0.02);
  EXPECT_TRUE(at::equal(base, with(1, 2, 3)));
  EXPECT_FALSE(at::equal(base, with(2, 2, 3)));
  EXPECT_FALSE(at::equal(base, with(1, 3, 3)));
  EXPECT_FALSE(at::equal(base, with(1, 2, 4)));
}

TEST(GraphAttention, ANanIsPassedOn) {
  const Arcs arcs = arcs_of({{0, 1}, {1}});
  const Inputs inputs = with_scores(random_inputs(arcs, 1, 2, at::kFloat, false),
                                    at::tensor({std::numeric_limits<float>::quiet_NaN(), 0.0F}));
  const at::Tensor output = run(arcs, inputs, {});
  EXPECT_TRUE(output[0].isnan().all().item<bool>());
  EXPECT_FALSE(output[1].isnan().any().item<bool>());
}

TEST(GraphAttention, SameBitsForAnyNumberOfThreads) {
  const Arcs arcs = random_arcs(200, 0.4);
  const Inputs inputs = random_inputs(arcs, 8, 9, at::kFloat, true);
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor output = run(arcs, inputs, {.dropout = 0.5, .seed = 3});
    std::vector<at::Tensor> now = torch::autograd::grad({output.square().sum()}, inputs.all());
    now.push_back(output.detach());
    if (first.empty()) first = now;
    for (size_t k = 0; k < now.size(); ++k) EXPECT_TRUE(at::equal(now[k], first[k])) << k;
  }
}

TEST(GraphAttention, HasNoSecondDerivative) {
  const Arcs arcs = arcs_of({{0, 1}, {1}});
  const Inputs inputs = random_inputs(arcs, 1, 2, at::kFloat, false);
  EXPECT_EQ(refusal([&] {
              const at::Tensor loss = run(arcs, inputs, {}).square().sum();
              torch::autograd::grad({loss}, {inputs.features}, {}, true, true);
            }),
            "qw::graph_attention: there is no second derivative; call backward without create_graph");
}

TEST(GraphAttention, RefusesPatternsThatDoNotFit) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {1}, {0, 2}});
  const Inputs inputs = random_inputs(arcs, 2, 4, at::kFloat, true);
  const auto refusal_with = [&](const std::function<void(SparsePattern&)>& change) {
    Arcs changed = arcs;
    change(changed.pattern);
    return refusal([&] { run(changed, inputs, {}); });
  };
  EXPECT_EQ(refusal_with([](SparsePattern& pattern) { pattern.columns = pattern.columns.to(at::kLong); }),
            "qw::graph_attention: columns must be one contiguous row of Int, got Long [6]");
  EXPECT_EQ(refusal_with([](SparsePattern& pattern) { pattern.offsets = pattern.offsets.slice(0, 0, 0); }),
            "qw::graph_attention: offsets must have one entry more than there are rows, got none");
  EXPECT_EQ(
      refusal_with([](SparsePattern& p) { p.transposed_offsets = p.transposed_offsets.slice(0, 0, 3); }),
      "qw::graph_attention: offsets has 4 entries, transposed_offsets 3; the pattern must be square");
  EXPECT_EQ(
      refusal_with([](SparsePattern& p) { p.transposed_columns = p.transposed_columns.slice(0, 0, 5); }),
      "qw::graph_attention: the pattern has 6 entries, its transpose 5");
  EXPECT_EQ(refusal_with([](SparsePattern& pattern) { pattern.order = pattern.order.slice(0, 0, 5); }),
            "qw::graph_attention: order must have an entry for each of 6 entries, got 5; "
            "SparsePattern::symmetric has none");
}

TEST(GraphAttention, RefusesTensorsThatDoNotFit) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {1}, {0, 2}});
  const auto refusal_with = [&](const std::function<void(Inputs&)>& change) {
    Inputs changed = random_inputs(arcs, 2, 4, at::kFloat, true);
    change(changed);
    return refusal([&] { run(arcs, changed, {}); });
  };
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.features = at::zeros({4, 8});
            }),
            "qw::graph_attention: features must be [3, C], a row for each node, got [4, 8]");
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.features = at::zeros({3, 8}, at::kLong);
            }),
            "qw::graph_attention: features must be float32 or float64, got Long");
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.features = at::zeros({3, 7});
            }),
            "qw::graph_attention: features must have 8 columns, 2 heads of 4, got 7");
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.attention_source = at::zeros({1, 0, 4});
            }),
            "qw::graph_attention: attention_source must be [1, H, D] with at least one head, got [1, 0, 4]");
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.attention_source = at::zeros({2, 4});
            }),
            "qw::graph_attention: attention_source must be [1, H, D] with at least one head, got [2, 4]");
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.attention_source = at::zeros({1, 2, 4}, at::kDouble);
            }),
            here("qw::graph_attention: attention_source must be [1, 2, 4] of Float on cpu, got [1, 2, 4] of "
                 "Double on cpu"));
  EXPECT_EQ(refusal_with([](Inputs& in) {
              in.attention_target = at::zeros({1, 4, 2});
            }),
            here("qw::graph_attention: attention_target must be [1, 2, 4] of Float on cpu, got [1, 4, 2] of "
                 "Float on cpu"));
  EXPECT_EQ(refusal_with([](Inputs& in) { in.edge_weights = at::zeros({5}); }),
            here("qw::graph_attention: edge_weights must be [6] of Float on cpu, got [5] of Float on cpu"));
}

TEST(GraphAttention, RefusesOptionsOutOfRange) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {1}, {0, 2}});
  const Inputs inputs = random_inputs(arcs, 2, 4, at::kFloat, true);
  const auto refusal_with = [&](const GraphAttentionOptions& options) {
    return refusal([&] { run(arcs, inputs, options); });
  };
  EXPECT_EQ(refusal_with({.negative_slope = std::numeric_limits<double>::infinity()}),
            "qw::graph_attention: negative_slope must be finite, got inf");
  EXPECT_EQ(refusal_with({.dropout = 1.0}), "qw::graph_attention: dropout must be in [0, 1), got 1");
  EXPECT_EQ(refusal_with({.dropout = -0.5}), "qw::graph_attention: dropout must be in [0, 1), got -0.5");
  EXPECT_EQ(refusal_with({.epoch = -1}), "qw::graph_attention: epoch must be in [0, 2^32), got -1");
  EXPECT_EQ(refusal_with({.layer = int64_t{1} << 32}),
            "qw::graph_attention: layer must be in [0, 2^32), got 4294967296");
}

TEST(GraphAttention, BackwardChecksWhatItIsGiven) {
  const Arcs arcs = arcs_of({{0, 1, 2}, {1}, {0, 2}});
  const auto call = [&](const ops::AttentionOutputs& outputs, const at::Tensor& gradient) {
    const ops::AttentionInputs inputs{arcs.pattern,         at::zeros({3, 4}), at::zeros({1, 2, 2}),
                                      at::zeros({1, 2, 2}), at::empty({0}),    {}};
    return refusal([&] { ops::graph_attention_backward(inputs, outputs, gradient, true); });
  };
  const at::Tensor good = at::ones({4, 3, 2});
  const at::Tensor wide = at::ones({3, 4});
  EXPECT_EQ(call({good[0], good}, wide),
            here("qw::_graph_attention_backward: result must be [3, 4] of Float on cpu, got [3, 2] of Float "
                 "on cpu"));
  EXPECT_EQ(call({wide, good[0]}, wide),
            here("qw::_graph_attention_backward: statistics must be [4, 3, 2] of Float on cpu, got [3, 2] of "
                 "Float on cpu"));
  EXPECT_EQ(
      call({wide, good}, good[0]),
      here("qw::_graph_attention_backward: gradient must be [3, 4] of Float on cpu, got [3, 2] of Float "
           "on cpu"));
  EXPECT_EQ(call({wide, good}, wide),
            "qw::_graph_attention_backward: there is no gradient for edge weights that are not there");
}

TEST(GraphAttention, ChecksAlsoUnderInferenceMode) {
  const Arcs arcs = random_arcs(20, 0.3);
  const Inputs inputs = random_inputs(arcs, 2, 4, at::kDouble, true);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::allclose(run(arcs, inputs, {}), slow(arcs, inputs, {}), 1e-12, 1e-12));
  Inputs bad = inputs;
  bad.features = at::zeros({3, 8}, at::kDouble);
  EXPECT_NE(refusal([&] { run(arcs, bad, {}); }), "not refused");
}

}  // namespace
}  // namespace qw
