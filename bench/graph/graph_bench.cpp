// Building graphs: the floor is reading the edge list and writing the graph once each.
#include <benchmark/benchmark.h>

#include "qw/core/random.h"
#include "qw/graph/generators.h"
#include "qw/graph/graph.h"

namespace qw {
namespace {

EdgeList random_edges(int64_t nodes, int64_t count) {
  const RandomStream random(1, 0);
  EdgeList list;
  list.num_nodes = nodes;
  list.heads.resize(count);
  list.tails.resize(count);
  for (int64_t e = 0; e < count; ++e) {
    list.heads[e] = static_cast<NodeId>(random.below(2 * e, nodes));
    list.tails[e] = static_cast<NodeId>(random.below(2 * e + 1, nodes));
  }
  return list;
}

void build_random_graph(benchmark::State& state) {
  const EdgeList list = random_edges(state.range(0) / 10, state.range(0));
  GraphOptions options;
  options.directed = state.range(1) != 0;
  for (auto _ : state) {
    state.PauseTiming();
    EdgeList copy = list;
    state.ResumeTiming();
    Graph graph = Graph::build(std::move(copy), options);
    benchmark::DoNotOptimize(graph);
    state.PauseTiming();
    graph = Graph();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(build_random_graph)
    ->ArgNames({"edges", "directed"})
    ->ArgsProduct({{100000, 1000000, 10000000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void generate_csbm(benchmark::State& state) {
  CsbmOptions options;
  options.nodes = state.range(0);
  for (auto _ : state) benchmark::DoNotOptimize(make_csbm(options));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(generate_csbm)
    ->ArgName("nodes")
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace qw
