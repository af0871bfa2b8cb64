// Sparse times dense against torch's own sparse CSR product, side by side; floor: 2 * entries * width flops.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "../../tests/support/graph_tensors.h"
#include "ops/kept_memory.h"
#include "qw/graph/generators.h"
#include "qw/graph/matrix.h"
#include "qw/ops/spmm.h"

namespace qw {
namespace {

struct Setting {
  SparsePattern pattern;
  at::Tensor values;
  at::Tensor dense;

  explicit Setting(const benchmark::State& state) {
    keep_memory_of_tensors();
    CsbmOptions options;
    options.nodes = state.range(0);
    options.degree = static_cast<double>(state.range(1));
    options.features = 0;
    const CsrMatrix matrix = symmetric_normalisation(make_csbm(options).graph);
    pattern = SparsePattern::symmetric(test::tensor_of(matrix.offsets, at::kLong),
                                       test::tensor_of(matrix.columns, at::kInt));
    values = test::tensor_of(matrix.values, at::kDouble).to(at::kFloat);
    dense = at::randn({options.nodes, state.range(2)});
    spmm(pattern, values, dense);  // the memory of the result is there from now on
  }

  void count(benchmark::State& state) const {
    state.SetBytesProcessed(state.iterations() * values.numel() * dense.size(1) * dense.element_size());
    state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(values.numel() * dense.size(1)),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  }
};

void ours(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) benchmark::DoNotOptimize(spmm(setting.pattern, setting.values, setting.dense));
  setting.count(state);
}

void torch_sparse_csr(benchmark::State& state) {
  const Setting setting(state);
  const int64_t nodes = setting.dense.size(0);
  const at::Tensor matrix =
      at::sparse_csr_tensor(setting.pattern.offsets, setting.pattern.columns.to(at::kLong), setting.values,
                            {nodes, nodes}, at::TensorOptions(at::kFloat));
  for (auto _ : state) benchmark::DoNotOptimize(at::mm(matrix, setting.dense));
  setting.count(state);
}

// Cora's and Squirrel's sizes.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "degree", "width"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t width : {7, 64}) bench->Args({2708, 4, width})->Args({5201, 76, width});
}

BENCHMARK(ours)->Name("spmm/ours")->Apply(sizes)->Args({2'000'000, 10, 64});
BENCHMARK(torch_sparse_csr)->Name("spmm/torch_sparse_csr")->Apply(sizes);

}  // namespace
}  // namespace qw
