// One step of the flow, against torch's operators one by one and against a copy that moves as many bytes;
// floor: flow and two moments read and written, 24 bytes per element in float32.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "qw/ops/flow_step.h"

namespace qw {
namespace {

constexpr int64_t kBytesPerElement = 6 * sizeof(float);

struct Setting {
  at::Tensor flow, first_moment, second_moment, residual, none;
  FlowEdges edges;

  explicit Setting(const benchmark::State& state) {
    const int64_t nodes = state.range(0), count = state.range(1), columns = state.range(2);
    flow = at::randn({count, columns});
    first_moment = at::randn({count, columns});
    second_moment = at::rand({count, columns});
    residual = at::randn({nodes, columns});
    none = at::empty({0});
    // Sorted by head, as a graph has them.
    edges = {std::get<0>(at::randint(nodes, {count}, at::kInt).sort()), at::randint(nodes, {count}, at::kInt),
             none};
  }

  void count(benchmark::State& state) const {
    state.SetItemsProcessed(state.iterations() * flow.numel());
    state.SetBytesProcessed(state.iterations() * flow.numel() * kBytesPerElement);
  }
};

void ours(benchmark::State& state, FlowRule rule) {
  Setting setting(state);
  FlowStepOptions options;
  options.rule = rule;
  for (auto _ : state) {
    benchmark::DoNotOptimize(flow_step_(setting.flow, setting.first_moment, setting.second_moment,
                                        setting.residual, setting.none, setting.edges, options));
    ++options.step;
  }
  setting.count(state);
}

void torch_operators(benchmark::State& state) {
  Setting setting(state);
  const at::Tensor heads = setting.edges.heads.to(at::kLong), tails = setting.edges.tails.to(at::kLong);
  double correction1 = 1.0, correction2 = 1.0;
  for (auto _ : state) {
    correction1 *= 0.9;
    correction2 *= 0.999;
    at::Tensor gradient = setting.residual.index_select(0, heads);
    gradient.sub_(setting.residual.index_select(0, tails)).add_(setting.flow.sign());
    setting.first_moment.mul_(0.9).add_(gradient, 0.1);
    setting.second_moment.mul_(0.999).addcmul_(gradient, gradient, 0.001);
    const at::Tensor scale = setting.second_moment.sqrt().div_(std::sqrt(1.0 - correction2)).add_(1e-8);
    setting.flow.addcdiv_(setting.first_moment, scale, -0.01 / (1.0 - correction1));
    benchmark::DoNotOptimize(setting.flow.abs().sum());
    benchmark::DoNotOptimize(at::count_nonzero(setting.flow));
  }
  setting.count(state);
}

void copy(benchmark::State& state) {
  const Setting setting(state);
  const at::Tensor from = at::cat({setting.flow, setting.first_moment, setting.second_moment});
  at::Tensor to = at::empty_like(from);
  for (auto _ : state) benchmark::DoNotOptimize(to.copy_(from));
  setting.count(state);
}

// Cora's and PubMed's edges and classes; one wide target; more than the caches hold.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "edges", "columns"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  bench->Args({2708, 5278, 7})->Args({19717, 44324, 3})->Args({5201, 198353, 5});
  bench->Args({3000, 20000, 64})->Args({20000, 2000000, 7});
}

BENCHMARK_CAPTURE(ours, subgradient, FlowRule::kSubgradient)
    ->Name("flow_step/ours/subgradient")
    ->Apply(sizes);
BENCHMARK_CAPTURE(ours, proximal, FlowRule::kProximal)->Name("flow_step/ours/proximal")->Apply(sizes);
BENCHMARK(torch_operators)->Name("flow_step/torch_operators")->Apply(sizes);
BENCHMARK(copy)->Name("flow_step/copy_of_the_same_bytes")->Apply(sizes);

}  // namespace
}  // namespace qw
