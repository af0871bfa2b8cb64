// One step of Adam on the parameters of a GCN, against torch's; floor: 7 numbers moved per parameter.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/optim/adam.h>

#include "qw/ops/adam.h"

namespace qw {
namespace {

// Two layers on Cora: 1433 features, 64 hidden, 7 classes.
struct Setting {
  std::vector<at::Tensor> parameters, gradients, first_moments, second_moments;
  int64_t elements = 0;

  Setting() {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{1433, 64}, {64}, {64, 7}, {7}}) {
      parameters.push_back(at::randn(shape).requires_grad_());
      gradients.push_back(at::randn(shape));
      first_moments.push_back(at::zeros(shape));
      second_moments.push_back(at::zeros(shape));
      elements += parameters.back().numel();
    }
  }

  void count(benchmark::State& state) const {
    state.SetItemsProcessed(state.iterations() * elements);
    state.SetBytesProcessed(state.iterations() * elements * 7 * static_cast<int64_t>(sizeof(float)));
  }
};

void ours(benchmark::State& state) {
  Setting setting;
  int64_t step = 0;
  for (auto _ : state) {
    adam_(setting.parameters, setting.gradients, setting.first_moments, setting.second_moments, 0.01, 0.9,
          0.999, 1e-8, 5e-4, ++step);
  }
  setting.count(state);
}

void torch_adam(benchmark::State& state) {
  Setting setting;
  for (size_t i = 0; i < setting.parameters.size(); ++i)
    setting.parameters[i].mutable_grad() = setting.gradients[i];
  torch::optim::Adam optimizer(setting.parameters, torch::optim::AdamOptions(0.01).weight_decay(5e-4));
  for (auto _ : state) optimizer.step();
  setting.count(state);
}

BENCHMARK(ours)->Name("adam/ours")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(torch_adam)->Name("adam/torch_adam")->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace qw
