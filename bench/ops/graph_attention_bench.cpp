// Fused graph attention against the same made of torch functions (index_select, exp, index_add), forward and
// forward + backward; floor: 2 * entries * heads * depth flops forward, twice that more backward.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "../../tests/support/graph_tensors.h"
#include "qw/graph/generators.h"
#include "qw/graph/matrix.h"
#include "qw/ops/graph_attention.h"

namespace qw {
namespace {

struct Setting {
  SparsePattern pattern;
  at::Tensor targets;
  at::Tensor sources;
  at::Tensor features;
  at::Tensor attention_source;
  at::Tensor attention_target;
  GraphAttentionOptions options;

  explicit Setting(const benchmark::State& state) {
    CsbmOptions graph;
    graph.nodes = state.range(0);
    graph.degree = static_cast<double>(state.range(1));
    graph.features = 0;
    const CsrMatrix matrix = symmetric_normalisation(make_csbm(graph).graph);  // self-loops included
    const auto entries = static_cast<int64_t>(matrix.columns.size());
    pattern = SparsePattern::symmetric(test::tensor_of(matrix.offsets, at::kLong),
                                       test::tensor_of(matrix.columns, at::kInt));
    targets = at::repeat_interleave(pattern.offsets.diff());
    sources = pattern.columns.to(at::kLong);
    // Entry k of the transpose, by column and then row, is entry order[k] of the matrix.
    pattern.order = at::argsort(sources * graph.nodes + targets);
    const int64_t heads = state.range(2);
    features = at::randn({graph.nodes, heads * state.range(3)}).requires_grad_();
    attention_source = at::randn({1, heads, state.range(3)}).requires_grad_();
    attention_target = at::randn({1, heads, state.range(3)}).requires_grad_();
    options.dropout = static_cast<double>(state.range(4)) / 100.0;
    flops = 2.0 * static_cast<double>(entries * features.size(1));
  }

  at::Tensor fused() const {
    return graph_attention(pattern, features, attention_source, attention_target, at::empty({0}), options);
  }

  at::Tensor composed() const {
    const int64_t nodes = features.size(0);
    const int64_t heads = attention_source.size(1);
    const at::Tensor by_head = features.view({nodes, heads, -1});
    const at::Tensor source_scores = (by_head * attention_source).sum(2);
    const at::Tensor target_scores = (by_head * attention_target).sum(2);
    const at::Tensor scores =
        at::leaky_relu(source_scores.index_select(0, sources) + target_scores.index_select(0, targets), 0.2);
    const at::Tensor numerator = (scores - scores.max()).exp();
    const at::Tensor sum = at::zeros({nodes, heads}).index_add(0, targets, numerator);
    const at::Tensor alpha =
        at::dropout(numerator / sum.index_select(0, targets), options.dropout, options.dropout > 0);
    const at::Tensor gathered = by_head.index_select(0, sources);
    const at::Tensor result = at::zeros({nodes, heads, features.size(1) / heads});
    return result.index_add(0, targets, alpha.unsqueeze(2) * gathered);
  }

  std::vector<at::Tensor> gradients(const at::Tensor& output) const {
    return torch::autograd::grad({output}, {features, attention_source, attention_target},
                                 {at::ones_like(output)});
  }

  double flops = 0;
};

void count(benchmark::State& state, double flops) {
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

template <bool kFused>
void forward(benchmark::State& state) {
  const Setting setting(state);
  const at::NoGradGuard no_gradient;
  for (auto _ : state) benchmark::DoNotOptimize(kFused ? setting.fused() : setting.composed());
  count(state, setting.flops);
}

template <bool kFused>
void forward_backward(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state)
    benchmark::DoNotOptimize(setting.gradients(kFused ? setting.fused() : setting.composed()));
  count(state, 3 * setting.flops);
}

// Cora's and Squirrel's sizes; the first layer of GAT, as published and with wide heads, and its last.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "degree", "heads", "depth", "dropout%"})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
  for (const int64_t dropout : {0, 60}) {
    bench->Args({2708, 4, 8, 8, dropout})->Args({2708, 4, 8, 64, dropout})->Args({2708, 4, 1, 7, dropout});
    bench->Args({5201, 76, 8, 8, dropout})
        ->Args({5201, 76, 8, 64, dropout})
        ->Args({5201, 76, 1, 5, dropout})
        ->Args({5201, 76, 1, 64, dropout});
  }
}

BENCHMARK(forward<true>)->Name("graph_attention/forward/ours")->Apply(sizes);
BENCHMARK(forward<false>)->Name("graph_attention/forward/torch")->Apply(sizes);
BENCHMARK(forward_backward<true>)->Name("graph_attention/forward_backward/ours")->Apply(sizes);
BENCHMARK(forward_backward<false>)->Name("graph_attention/forward_backward/torch")->Apply(sizes);

}  // namespace
}  // namespace qw
