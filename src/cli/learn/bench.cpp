#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>

#include "cli/learn/commands.h"
#include "core/memory.h"
#include "core/text.h"
#include "learn/device.h"
#include "learn/learn_options.h"
#include "nn/model_options.h"
#include "ops/kept_memory.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/work.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/scaling.h"
#include "qw/ops/capture.h"
#include "qw/ops/epoch_end.h"
#include "qw/ops/step_clock.h"

namespace qw::cli {
namespace {

struct StepOptions {
  DataArguments data;
  std::string model = "gcn";
  ModelOptions model_options;
  LearnOptions learn = of_solver("ce");
  std::string split = "published";
  std::string device = "cpu";
  int64_t runs = 1;
  int64_t steps = 0;
  int64_t warmup = 3;
  double seconds = 3.0;

  static LearnOptions of_solver(const std::string& name) {
    LearnOptions options;
    options.solver = name;
    return options;
  }
};

struct Timing {
  std::vector<double> milliseconds;
  Work per_step;
  double loss = 0;
  int64_t launches = 0;  // of a captured step
};

// Everything a step needs, in the order in which it must live.
struct Bench {
  Bench(const Dataset& dataset, const StepOptions& options)
      : tensors(at::TensorOptions(at::kFloat).device(device_named(options.device))),
        graph(dataset.graph, tensors),
        features(FeatureScaling("auto", dataset).apply(dataset.features), tensors) {
    for (int64_t run = 0; run < options.runs; ++run) {
      splits.push_back(std::make_unique<Split>(
          make_split(dataset, options.split, kPublishedSeeds[run % std::size(kPublishedSeeds)])));
      learners.push_back(make_learner({dataset.graph,
                                       dataset.targets,
                                       *splits.back(),
                                       graph,
                                       features,
                                       options.model,
                                       options.model_options,
                                       options.learn,
                                       static_cast<uint64_t>(1 + run),
                                       {}}));
    }
  }

  at::TensorOptions tensors;
  GraphTensors graph;
  NodeMatrix features;
  std::vector<std::unique_ptr<Split>> splits;
  std::vector<std::unique_ptr<Learner>> learners;
};

// The next steps of a learner, as a piece of work that is replayed.
struct CapturedStep {
  CapturedStep(Learner& learner, const at::Device& device, int64_t epoch) : clock(device) {
    const std::vector<int64_t> before = learner.counts();
    StepClock::InUse in_use(clock);
    learner.step(epoch);
    const std::vector<int64_t> after = learner.counts();
    const std::array<int64_t, 3> increments{learner.draws_per_epoch(), after[0] - before[0],
                                            after[1] - before[1]};
    work = std::make_unique<CapturedWork>(device, [&] {
      loss = learner.step(epoch + 1).loss.tensor();
      advance_(clock.counts(), increments);
    });
  }

  StepClock clock;
  at::Tensor loss;
  std::unique_ptr<CapturedWork> work;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls `block`, which does `size` steps, until there is enough of it.
template <class Block>
std::vector<double> time_blocks(const StepOptions& options, int64_t size, const Block& block) {
  std::vector<double> milliseconds;
  const Clock::time_point start = Clock::now();
  const auto enough = [&] {
    const auto count = static_cast<int64_t>(milliseconds.size());
    return options.steps > 0 ? count * size >= options.steps
                             : count >= 5 && seconds_since(start) > options.seconds;
  };
  while (!enough()) {
    const Clock::time_point begin = Clock::now();
    block();
    milliseconds.push_back(1e3 * seconds_since(begin) / static_cast<double>(size));
  }
  return milliseconds;
}

Timing time_on_cpu(Bench& bench, const StepOptions& options) {
  Timing timing;
  int64_t epoch = 0;
  const auto step = [&] {
    for (const auto& learner : bench.learners) timing.loss = learner->step(epoch).loss;
    ++epoch;
  };
  while (epoch < options.warmup) step();
  const Work before = work_done();
  timing.milliseconds = time_blocks(options, 1, step);
  const Work after = work_done();
  const auto steps = static_cast<int64_t>(timing.milliseconds.size());
  timing.per_step = {(after.flops - before.flops) / steps, (after.bytes - before.bytes) / steps};
  return timing;
}

// Blocks of steps, since to look at the clock is to wait for the device.
Timing time_on_device(Bench& bench, const StepOptions& options) {
  constexpr int64_t kBlock = 20;
  const at::Device device = bench.tensors.device();
  Timing timing;
  std::vector<std::unique_ptr<CapturedStep>> steps;
  std::vector<const CapturedWork*> works;
  for (const auto& learner : bench.learners) {
    for (int64_t epoch = 0; epoch < options.warmup; ++epoch) learner->step(epoch);
    const Work before = work_done();
    steps.push_back(std::make_unique<CapturedStep>(*learner, device, options.warmup));
    const Work after = work_done();  // of one step done and one recorded
    timing.per_step.flops += (after.flops - before.flops) / 2;
    timing.per_step.bytes += (after.bytes - before.bytes) / 2;
    works.push_back(steps.back()->work.get());
  }
  Replay replay(works);
  const auto block = [&] {
    replay.run(kBlock);
    replay.wait();
  };
  block();
  timing.milliseconds = time_blocks(options, kBlock, block);
  timing.loss = steps.back()->loss.item<double>();
  timing.launches = replay.launches();
  return timing;
}

Timing measure(Bench& bench, const StepOptions& options) {
  Timing timing =
      bench.tensors.device().is_cuda() ? time_on_device(bench, options) : time_on_cpu(bench, options);
  std::sort(timing.milliseconds.begin(), timing.milliseconds.end());
  return timing;
}

nlohmann::ordered_json as_json(const Dataset& dataset, const StepOptions& options, const Timing& timing) {
  const std::vector<double>& times = timing.milliseconds;
  return {
      {"data", dataset.name},
      {"model", options.model},
      {"solver", options.learn.solver},
      {"device", options.device},
      {"runs", options.runs},
      {"step_ms",
       {{"median", times[times.size() / 2]}, {"min", times.front()}, {"p90", times[times.size() * 9 / 10]}}},
      {"steps", times.size()},
      {"launches", timing.launches},
      {"threads", thread_count()},
      {"flops", timing.per_step.flops},
      {"bytes", timing.per_step.bytes},
      {"peak_rss_mb", peak_rss_mb()},
      {"loss", timing.loss}};
}

void bench_step(const StepOptions& options, const GlobalOptions& global) {
  prepare_libtorch();
  const Dataset dataset = load(options.data);
  Bench bench(dataset, options);
  const Timing timing = measure(bench, options);
  const nlohmann::ordered_json document = as_json(dataset, options, timing);
  if (global.json) {
    print_json(document);
    return;
  }
  const double seconds = document["step_ms"]["median"].get<double>() / 1e3;
  print_text(fmt::format(
      "{}, {}, {}, {}: {:.4f} ms per training step{} (median of {}; fastest {:.4f}), {} threads\n"
      "at least {:.1f} million flops ({:.1f} Gflop/s) and {} ({:.1f} GB/s) per step; peak memory {:.0f} MB\n",
      dataset.name, options.model, options.learn.solver, options.device, 1e3 * seconds,
      options.runs == 1 ? "" : fmt::format(" of {} runs together", options.runs), timing.milliseconds.size(),
      timing.milliseconds.front(), thread_count(), static_cast<double>(timing.per_step.flops) / 1e6,
      static_cast<double>(timing.per_step.flops) / seconds / 1e9,
      human_bytes(static_cast<double>(timing.per_step.bytes)),
      static_cast<double>(timing.per_step.bytes) / seconds / 1e9, peak_rss_mb()));
}

// 1, 2, 3, 4, 6, 8, 12, 16 and so on, and the last.
std::vector<int> thread_counts(int last) {
  std::vector<int> counts;
  for (int power = 1; power < last; power *= 2) {
    counts.push_back(power);
    if (power > 1 && power / 2 * 3 < last) counts.push_back(power / 2 * 3);
  }
  counts.push_back(last);
  return counts;
}

// By turns, since other work on the machine comes and goes: of each number of threads the best turn.
std::vector<double> measure_by_threads(Bench& bench, const StepOptions& options,
                                       const std::vector<int>& counts) {
  constexpr int kTurns = 3;
  std::vector<double> best(counts.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t k = 0; k < counts.size(); ++k) {
      set_thread_count(counts[k]);
      const Timing timing = measure(bench, options);
      best[k] = std::min(best[k], timing.milliseconds[timing.milliseconds.size() / 2]);
    }
  }
  set_thread_count(counts.back());
  return best;
}

void bench_threads(const StepOptions& options, const GlobalOptions& global) {
  prepare_libtorch();
  const Dataset dataset = load(options.data);
  Bench bench(dataset, options);
  const std::vector<int> counts = thread_counts(thread_count());
  const std::vector<double> times = measure_by_threads(bench, options, counts);
  const double fastest = *std::min_element(times.begin(), times.end());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string text = fmt::format("{}, {}, {}: milliseconds per training step by --threads\n", dataset.name,
                                 options.model, options.learn.solver);
  for (size_t k = 0; k < counts.size(); ++k) {
    const double behind = times[k] / fastest;
    rows.push_back({{"threads", counts[k]}, {"step_ms", times[k]}, {"of_best", behind}});
    text += fmt::format("{:>4}  {:10.4f}  {:5.2f} of the best{}\n", counts[k], times[k], behind,
                        k + 1 == counts.size() ? ", the default" : "");
  }
  if (!global.json) return print_text(text);
  print_json({{"data", dataset.name},
              {"model", options.model},
              {"solver", options.learn.solver},
              {"default", counts.back()},
              {"rows", rows}});
}

// What both commands take.
void add_step_options(CLI::App& command, FieldTable& table, StepOptions& options) {
  add_data_options(command, options.data);
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  table.add_choice("model", options.model, names, "the network: " + join(names, ", "));
  table.add("split", options.split, "SPEC", "which nodes train (see qw data split)");
  table.add("steps", options.steps, {0, 1e9}, "steps to measure; 0: as many as fit into --seconds");
  table.add("warmup", options.warmup, {0, 1e6}, "steps before measuring");
  table.add("seconds", options.seconds, {0, 1e6}, "time to measure, without --steps");
  add_options(command, table);
  add_options(command, model_fields(options.model_options));
  add_options(command, learn_fields(options.learn));
}

}  // namespace

void prepare_libtorch() {
  // OpenBLAS maps a buffer for each thread that multiplies, and tries for ever where there is no room.
#if defined(__aarch64__)
  constexpr int64_t kBuffer = int64_t{32} << 20;
#else
  constexpr int64_t kBuffer = int64_t{128} << 20;
#endif
  const int64_t room = available_addresses();
  const int64_t fitting = room / kBuffer;
  if (fitting < 1) {
    fail(fmt::format(
        "ulimit -v leaves {} of addresses, too few for products of matrices, which need {}; raise it",
        human_bytes(static_cast<double>(room)), human_bytes(static_cast<double>(kBuffer))));
  }
  if (fitting < thread_count()) {
    say(fmt::format("ulimit -v leaves {}, room for the buffers of {} threads: so many are used (--threads)",
                    human_bytes(static_cast<double>(room)), fitting));
    set_thread_count(static_cast<int>(fitting));
  }
  // Parallel work is qw's own: threads of LibTorch, which wait by looking, would stand in its way.
  at::set_num_threads(1);
  keep_memory_of_tensors();
}

void add_bench_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App* bench = app.add_subcommand(
      "bench", "measure a training step, the flow's part of it, threads, or the network between processes");
  bench->require_subcommand(1);
  bench->fallthrough();
  auto step_options = std::make_shared<StepOptions>();
  CLI::App* step = bench->add_subcommand("step", "time of one training step: forward, loss, backward, Adam");
  FieldTable of_step("qw bench step");
  of_step.add("device", step_options->device, "NAME", "cpu, cuda or cuda:N");
  of_step.add("runs", step_options->runs, {1, 1000}, "trainings that take their steps together");
  add_step_options(*step, of_step, *step_options);
  step->callback([step_options, &global] { bench_step(*step_options, global); });
  auto thread_options = std::make_shared<StepOptions>();
  CLI::App* threads = bench->add_subcommand("threads", "time of a step on the CPU by the number of threads");
  FieldTable of_threads("qw bench threads");
  add_step_options(*threads, of_threads, *thread_options);
  threads->callback([thread_options, &global] { bench_threads(*thread_options, global); });
  add_flow_bench(*bench, global);
  add_network_bench(*bench, global);
  add_halo_bench(*bench, global);
  add_scale_bench(*bench, global);
}

}  // namespace qw::cli
