// A loss and its gradient on half of the nodes, against torch's loss and backward pass; floor: the rows of
// these nodes read, the gradient of all written.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/ops/divergence.h"

namespace qw {
namespace {

struct Setting {
  Divergence kind;
  at::Tensor predictions;
  LabelTensors labels;
  double scale;

  explicit Setting(const benchmark::State& state) : kind(static_cast<Divergence>(state.range(2))) {
    const int64_t nodes = state.range(0), classes = state.range(1), count = nodes / 2;
    predictions = at::randn({nodes, classes}).requires_grad_();
    labels.nodes = at::randperm(nodes, at::TensorOptions(at::kInt)).slice(0, 0, count).contiguous();
    const bool by_class = kind == Divergence::kSoftmax;
    labels.classes = at::randint(classes, {by_class ? count : 0}, at::TensorOptions(at::kInt));
    labels.targets = by_class ? at::empty({0}) : at::randint(2, {count, classes}).to(at::kFloat);
    labels.class_weights = at::empty({0});
    scale = 1.0 / static_cast<double>(count);
  }
};

void ours(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(divergence(setting.kind, setting.predictions, setting.labels.class_weights,
                                        setting.labels, setting.scale));
  }
}

void torch_loss(benchmark::State& state) {
  const Setting setting(state);
  const at::Tensor classes = setting.labels.classes.to(at::kLong);
  for (auto _ : state) {
    const at::Tensor z = setting.predictions.index_select(0, setting.labels.nodes);
    const at::Tensor loss = setting.kind == Divergence::kSoftmax ? at::cross_entropy_loss(z, classes)
                            : setting.kind == Divergence::kLeastSquares
                                ? at::mse_loss(z, setting.labels.targets)
                                : at::binary_cross_entropy_with_logits(z, setting.labels.targets);
    benchmark::DoNotOptimize(torch::autograd::grad({loss}, {setting.predictions}));
  }
}

// Cora's and ogbn-arxiv's nodes and classes; kind 0 is softmax, 1 least squares, 2 Bernoulli.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "classes", "kind"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t kind : {0, 1, 2}) bench->Args({2708, 7, kind})->Args({169343, 40, kind});
}

BENCHMARK(ours)->Name("divergence/ours")->Apply(sizes);
BENCHMARK(torch_loss)->Name("divergence/torch_loss")->Apply(sizes);

}  // namespace
}  // namespace qw
