// Rows times a weight, forward and backward, against torch's linear, whose bits depend on the number of
// threads; floor: three products of 2 * rows * in * out flops.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/ops/dense_linear.h"

namespace qw {
namespace {

template <class Body>
void measure(benchmark::State& state, const Body& body) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const at::Tensor x = at::randn({rows, in}).requires_grad_();
  const at::Tensor weight = at::randn({in, out}).t().requires_grad_();
  const at::Tensor gradient = at::randn({rows, out});
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({body(x, weight)}, {x, weight}, {gradient}));
  }
  state.counters["flops"] = benchmark::Counter(6.0 * static_cast<double>(rows * in * out),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void ours(benchmark::State& state) {
  measure(state, [](const at::Tensor& x, const at::Tensor& weight) { return dense_linear(x, weight); });
}

void torch_linear(benchmark::State& state) {
  measure(state, [](const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); });
}

// The layers of Cora and PubMed, the predictor of PubMed's edges, and a layer on a large graph.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "in", "out"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  bench->Args({2708, 1433, 64})->Args({2708, 64, 7})->Args({19717, 500, 64})->Args({19717, 64, 64});
  bench->Args({44324, 3, 32})->Args({44324, 32, 1})->Args({200000, 64, 64});
}

BENCHMARK(ours)->Name("dense_linear/ours")->Apply(sizes);
BENCHMARK(torch_linear)->Name("dense_linear/torch_linear")->Apply(sizes);

}  // namespace
}  // namespace qw
