// Reading: a CSV of ten million edges, and every published graph that is at hand.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/file.h"
#include "qw/core/random.h"
#include "qw/data/card.h"
#include "qw/data/load.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

// Writes "5" there to forget the peak so far (Linux).
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double memory_kib(const char* field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field)) return std::stod(line.substr(line.find(':') + 1));
  }
  return 0;
}

fs::path edge_csv(int64_t edges, bool text_ids) {
  const fs::path path = fs::temp_directory_path() / fmt::format("qw-bench-{}-{}.csv", edges, text_ids);
  if (fs::exists(path)) return path;
  const RandomStream random(1, 0);
  const auto nodes = static_cast<uint64_t>(edges / 10);
  std::string text = "source,destination\n";
  const char* prefix = text_ids ? "n" : "";
  for (int64_t e = 0; e < edges; ++e) {
    fmt::format_to(std::back_inserter(text), "{}{},{}{}\n", prefix, random.below(2 * e, nodes), prefix,
                   random.below(2 * e + 1, nodes));
  }
  write_file_atomically(path, text);
  return path;
}

void load_edge_csv(benchmark::State& state) {
  LoadOptions options;
  options.edges = edge_csv(state.range(0), state.range(1) != 0).string();
  const auto bytes = static_cast<double>(fs::file_size(options.edges));
  double peak = 0;
  for (auto _ : state) {
    reset_peak_memory();
    const double before = memory_kib("VmRSS");
    benchmark::DoNotOptimize(load_dataset("", options));
    peak = std::max(peak, memory_kib("VmHWM") - before);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
  state.counters["peak_memory_over_file"] = peak * 1024 / bytes;
}
BENCHMARK(load_edge_csv)
    ->ArgNames({"edges", "text_ids"})
    ->Args({1000000, 0})
    ->Args({10000000, 0})
    ->Args({1000000, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

fs::path datasets_folder() {
  const char* mirror = std::getenv("QW_DATA_MIRROR");
  return mirror != nullptr ? fs::path(mirror) : fs::path("../shared/datasets");
}

void load_published(benchmark::State& state, const std::string& what, const LoadOptions& options) {
  for (auto _ : state) benchmark::DoNotOptimize(load_dataset(what, options));
}

const bool kRegistered = [] {
  for (const DatasetCard& card : dataset_cards()) {
    const fs::path folder = datasets_folder() / card.mirror_folder();
    if (!fs::exists(folder) || card.name != card.mirror_folder()) continue;
    benchmark::RegisterBenchmark(("load_published/" + card.name).c_str(), load_published, folder.string(),
                                 LoadOptions())
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace qw
