// Batch and layer normalisation, forward and backward, against torch's; floor: batch 6 reads and 2 writes per
// element, layer 3 reads and 2 writes.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/ops/feature_norm.h"

namespace qw {
namespace {

template <class Body>
void measure(benchmark::State& state, const Body& body) {
  const at::Tensor x = at::randn({state.range(0), state.range(1)}).requires_grad_();
  const at::Tensor weight = at::randn({state.range(1)}).requires_grad_();
  const at::Tensor bias = at::randn({state.range(1)}).requires_grad_();
  const at::Tensor gradient = at::randn({state.range(0), state.range(1)});
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({body(x, weight, bias)}, {x, weight, bias}, {gradient}));
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
}

void ours_batch(benchmark::State& state) {
  const at::Tensor mean = at::zeros({state.range(1)}), var = at::ones({state.range(1)});
  measure(state, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return batch_norm(x, weight, bias, mean, var, true);
  });
}

void torch_batch(benchmark::State& state) {
  const at::Tensor mean = at::zeros({state.range(1)}), var = at::ones({state.range(1)});
  measure(state, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::batch_norm(x, weight, bias, mean, var, true, 0.1, 1e-5, false);
  });
}

void ours_layer(benchmark::State& state) {
  measure(state, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return layer_norm(x, weight, bias);
  });
}

void torch_layer(benchmark::State& state) {
  measure(state, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::layer_norm(x, {x.size(1)}, weight, bias);
  });
}

// The hidden layers of Cora and of a large graph.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "width"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  bench->Args({2708, 64})->Args({50000, 256});
}

BENCHMARK(ours_batch)->Name("batch_norm/ours")->Apply(sizes);
BENCHMARK(torch_batch)->Name("batch_norm/torch")->Apply(sizes);
BENCHMARK(ours_layer)->Name("layer_norm/ours")->Apply(sizes);
BENCHMARK(torch_layer)->Name("layer_norm/torch")->Apply(sizes);

}  // namespace
}  // namespace qw
