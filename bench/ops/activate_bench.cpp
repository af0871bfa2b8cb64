// Bias, relu or elu and dropout in one pass, forward and backward, against torch's three operators; floor:
// forward a read and a write per element, backward two reads and a write.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/ops/activate.h"

namespace qw {
namespace {

template <class Body>
void measure(benchmark::State& state, const Body& body) {
  const at::Tensor x = at::randn({state.range(0), state.range(1)}).requires_grad_();
  const at::Tensor bias = at::randn({state.range(1)}).requires_grad_();
  const at::Tensor gradient = at::randn({state.range(0), state.range(1)});
  const auto activation = static_cast<Activation>(state.range(2));
  const double p = static_cast<double>(state.range(3)) / 100;
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({body(x, bias, activation, p)}, {x, bias}, {gradient}));
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
}

void ours(benchmark::State& state) {
  int64_t epoch = 0;
  measure(state, [&](const at::Tensor& x, const at::Tensor& bias, Activation activation, double p) {
    return activate(x, bias, activation, p, {1, ++epoch, 0});
  });
}

void torch_operators(benchmark::State& state) {
  measure(state, [](const at::Tensor& x, const at::Tensor& bias, Activation activation, double p) {
    const at::Tensor z = x + bias;
    return at::dropout(activation == Activation::kRelu ? at::relu(z) : at::elu(z), p, true);
  });
}

// The hidden layer of Cora and of PubMed; activation 1 is relu, 2 elu.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "width", "activation", "percent"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t activation : {1, 2}) {
    for (const int64_t percent : {0, 50}) {
      bench->Args({2708, 64, activation, percent})->Args({19717, 64, activation, percent});
    }
  }
}

BENCHMARK(ours)->Name("activate/ours")->Apply(sizes);
BENCHMARK(torch_operators)->Name("activate/torch_operators")->Apply(sizes);

}  // namespace
}  // namespace qw
