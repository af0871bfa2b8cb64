// Dropout against torch's, and against torch's random bits alone; floor: a read and a write per element.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "qw/ops/dropout.h"

namespace qw {
namespace {

template <class Body>
void measure(benchmark::State& state, const Body& body) {
  const at::Tensor values = at::randn({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(body(values));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void ours(benchmark::State& state) {
  int64_t epoch = 0;
  measure(state, [&](const at::Tensor& values) { return dropout(values, 0.5, {1, ++epoch, 0}); });
}

void torch_dropout(benchmark::State& state) {
  measure(state, [](const at::Tensor& values) { return at::dropout(values, 0.5, true); });
}

void torch_bernoulli(benchmark::State& state) {
  measure(state, [](const at::Tensor& values) { return at::bernoulli(values, 0.5); });
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("elements")->UseRealTime()->Unit(benchmark::kMicrosecond)->Arg(2708 * 64)->Arg(1 << 20);
}

BENCHMARK(ours)->Name("dropout/ours")->Apply(sizes);
BENCHMARK(torch_dropout)->Name("dropout/torch_dropout")->Apply(sizes);
BENCHMARK(torch_bernoulli)->Name("dropout/torch_bernoulli")->Apply(sizes);

}  // namespace
}  // namespace qw
