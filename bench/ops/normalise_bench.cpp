// Weights of edges to the values of a matrix, and their normalisations, against the same made of torch
// functions (index_select, index_add, scatter); floor: the bytes of index and values that have to move.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "../../tests/support/graph_tensors.h"
#include "qw/graph/generators.h"
#include "qw/graph/matrix.h"
#include "qw/ops/edge_values.h"
#include "qw/ops/normalise.h"

namespace qw {
namespace {

struct Setting {
  SparsePattern pattern;
  EntryEdges entries;
  at::Tensor rows;
  at::Tensor columns;
  at::Tensor weights;  // of the edges
  at::Tensor values;   // of the entries
  at::Tensor incoming;

  explicit Setting(const benchmark::State& state) {
    CsbmOptions options;
    options.nodes = state.range(0);
    options.degree = static_cast<double>(state.range(1));
    options.features = 0;
    const CsrMatrix matrix = symmetric_normalisation(make_csbm(options).graph);  // self-loops included
    pattern = SparsePattern::symmetric(test::tensor_of(matrix.offsets, at::kLong),
                                       test::tensor_of(matrix.columns, at::kInt));
    rows = at::repeat_interleave(pattern.offsets.diff());
    columns = pattern.columns.to(at::kLong);
    pattern.order = at::argsort(columns * options.nodes + rows);
    entries.edges = test::tensor_of(matrix.edges, at::kLong);
    const at::Tensor by_edge = at::argsort(entries.edges);  // the added loops, -1, come first
    entries.entries_of = by_edge.slice(0, options.nodes).view({-1, 2});
    weights = (at::rand({entries.entries_of.size(0)}) + 0.5).requires_grad_();
    values = edge_values(weights, entries).detach().requires_grad_();
    incoming = at::randn(values.sizes());
  }

  at::Tensor values_by_torch() const {
    const at::Tensor known = (entries.edges >= 0).to(at::kFloat);
    return weights.index_select(0, entries.edges.clamp_min(0)) * known + (1 - known);
  }

  at::Tensor normalised_by_torch(Normalisation kind) const {
    const at::Tensor zeros = at::zeros({pattern.offsets.size(0) - 1});
    if (kind == Normalisation::kSoftmax) {
      const at::Tensor numerator = (values - values.max()).exp();
      return numerator / zeros.index_add(0, rows, numerator).index_select(0, rows);
    }
    const at::Tensor sums = zeros.index_add(0, rows, values);
    if (kind == Normalisation::kRows) return values / sums.index_select(0, rows);
    const at::Tensor scale = sums.pow(-0.5);
    return scale.index_select(0, rows) * values * scale.index_select(0, columns);
  }
};

template <class Function>
void measure(benchmark::State& state, bool backward, const at::Tensor& leaf, const at::Tensor& incoming,
             const Function& function) {
  at::AutoGradMode mode(backward);
  for (auto _ : state) {
    at::Tensor result = function();
    if (backward) result = torch::autograd::grad({result}, {leaf}, {incoming})[0];
    benchmark::DoNotOptimize(result);
  }
  state.counters["entries"] = benchmark::Counter(static_cast<double>(incoming.numel()),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

template <bool kOurs, bool kBackward>
void values(benchmark::State& state) {
  const Setting setting(state);
  measure(state, kBackward, setting.weights, setting.incoming,
          [&] { return kOurs ? edge_values(setting.weights, setting.entries) : setting.values_by_torch(); });
}

template <Normalisation kKind, bool kOurs, bool kBackward>
void normalised(benchmark::State& state) {
  const Setting setting(state);
  measure(state, kBackward, setting.values, setting.incoming, [&] {
    return kOurs ? normalise(setting.pattern, setting.values, kKind) : setting.normalised_by_torch(kKind);
  });
}

// Cora's and Squirrel's sizes, and one that no cache holds.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "degree"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  bench->Args({2708, 4})->Args({5201, 76})->Args({200000, 30});
}

constexpr auto kSymmetric = Normalisation::kSymmetric;
constexpr auto kRows = Normalisation::kRows;
constexpr auto kSoftmax = Normalisation::kSoftmax;

BENCHMARK(values<true, false>)->Name("edge_values/forward/ours")->Apply(sizes);
BENCHMARK(values<false, false>)->Name("edge_values/forward/torch")->Apply(sizes);
BENCHMARK(values<true, true>)->Name("edge_values/forward_backward/ours")->Apply(sizes);
BENCHMARK(values<false, true>)->Name("edge_values/forward_backward/torch")->Apply(sizes);
BENCHMARK(normalised<kSymmetric, true, false>)->Name("normalise_symmetric/forward/ours")->Apply(sizes);
BENCHMARK(normalised<kSymmetric, false, false>)->Name("normalise_symmetric/forward/torch")->Apply(sizes);
BENCHMARK(normalised<kSymmetric, true, true>)
    ->Name("normalise_symmetric/forward_backward/ours")
    ->Apply(sizes);
BENCHMARK(normalised<kSymmetric, false, true>)
    ->Name("normalise_symmetric/forward_backward/torch")
    ->Apply(sizes);
BENCHMARK(normalised<kRows, true, false>)->Name("normalise_rows/forward/ours")->Apply(sizes);
BENCHMARK(normalised<kRows, false, false>)->Name("normalise_rows/forward/torch")->Apply(sizes);
BENCHMARK(normalised<kRows, true, true>)->Name("normalise_rows/forward_backward/ours")->Apply(sizes);
BENCHMARK(normalised<kRows, false, true>)->Name("normalise_rows/forward_backward/torch")->Apply(sizes);
BENCHMARK(normalised<kSoftmax, true, false>)->Name("normalise_softmax/forward/ours")->Apply(sizes);
BENCHMARK(normalised<kSoftmax, false, false>)->Name("normalise_softmax/forward/torch")->Apply(sizes);
BENCHMARK(normalised<kSoftmax, true, true>)->Name("normalise_softmax/forward_backward/ours")->Apply(sizes);
BENCHMARK(normalised<kSoftmax, false, true>)->Name("normalise_softmax/forward_backward/torch")->Apply(sizes);

}  // namespace
}  // namespace qw
