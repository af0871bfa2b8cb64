// S F and S^T Z against what a PyTorch user writes (index_add, index_select), side by side.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "../../tests/support/graph_tensors.h"
#include "qw/graph/generators.h"

namespace qw {
namespace {

struct Setting {
  IncidenceTensors graph;
  at::Tensor flow;
  at::Tensor potential;

  explicit Setting(const benchmark::State& state) {
    CsbmOptions options;
    options.nodes = state.range(0) / 10;
    options.degree = 20;
    options.features = 0;
    const Graph random = make_csbm(options).graph;
    graph = test::incidence_tensors(random);
    flow = at::randn({random.num_edges(), state.range(1)});
    potential = at::randn({random.num_nodes(), state.range(1)});
  }

  // What must move at least: the edge values once, the node values once, the indices once.
  void count(benchmark::State& state, int64_t index_bytes) const {
    state.SetBytesProcessed(state.iterations() * (4 * (flow.numel() + potential.numel()) + index_bytes));
  }
};

void ours(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) benchmark::DoNotOptimize(incidence(setting.flow, setting.graph));
  setting.count(state, setting.graph.arcs.numel() * 8);
}

void index_add(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) {
    at::Tensor result = at::zeros_like(setting.potential);
    result.index_add_(0, setting.graph.heads, setting.flow)
        .index_add_(0, setting.graph.tails, setting.flow, -1);
    benchmark::DoNotOptimize(result);
  }
  setting.count(state, setting.graph.heads.numel() * 8);
}

void ours_transposed(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) benchmark::DoNotOptimize(incidence_transpose(setting.potential, setting.graph));
  setting.count(state, setting.graph.heads.numel() * 8);
}

void index_select(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(setting.potential.index_select(0, setting.graph.heads) -
                             setting.potential.index_select(0, setting.graph.tails));
  }
  setting.count(state, setting.graph.heads.numel() * 8);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"edges", "columns"})
      ->ArgsProduct({{5000, 200000}, {7}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

BENCHMARK(ours)->Name("incidence/ours")->Apply(sizes);
BENCHMARK(index_add)->Name("incidence/index_add")->Apply(sizes);
BENCHMARK(ours_transposed)->Name("incidence/ours_transposed")->Apply(sizes);
BENCHMARK(index_select)->Name("incidence/index_select")->Apply(sizes);

}  // namespace
}  // namespace qw
