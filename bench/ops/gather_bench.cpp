// Random rows of a matrix that no cache holds, added up: what the machine does at best of the work that
// sparse products on a large graph consist of (spmm/ours of two million nodes). The rate counts the rows
// read.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "ops/kept_memory.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"

namespace qw {
namespace {

constexpr int64_t kWidth = 64;

// kAhead 0: as the loop says.
template <int64_t kAhead>
void gather(benchmark::State& state) {
  keep_memory_of_tensors();
  const int64_t nodes = state.range(0), entries = nodes * state.range(1);
  const at::Tensor matrix = at::ones({nodes, kWidth});
  const auto* rows = matrix.data_ptr<float>();
  std::vector<int32_t> which(static_cast<size_t>(entries));
  const RandomStream random(1, 0);
  for (int64_t k = 0; k < entries; ++k)
    which[k] = static_cast<int32_t>(random.below(static_cast<uint64_t>(k), static_cast<uint64_t>(nodes)));
  for (auto _ : state) {
    parallel_for(entries, 1, [&](int64_t begin, int64_t end) {
      float sum[kWidth] = {};
      for (int64_t k = begin; k < end; ++k) {
        if constexpr (kAhead > 0) {
          const float* next = rows + which[std::min(k + kAhead, entries - 1)] * kWidth;
          for (int64_t c = 0; c < kWidth; c += 16) __builtin_prefetch(next + c);
        }
        const float* row = rows + which[k] * kWidth;
        for (int64_t c = 0; c < kWidth; ++c) sum[c] += row[c];
      }
      benchmark::DoNotOptimize(sum);
    });
  }
  state.SetBytesProcessed(state.iterations() * entries * kWidth * static_cast<int64_t>(sizeof(float)));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "degree"})->Args({2'000'000, 10})->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(gather<0>)->Name("gather/plain")->Apply(sizes);
BENCHMARK(gather<8>)->Name("gather/8_ahead")->Apply(sizes);
BENCHMARK(gather<16>)->Name("gather/16_ahead")->Apply(sizes);

}  // namespace
}  // namespace qw
