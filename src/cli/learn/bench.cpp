#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/learn/commands.h"
#include "core/text.h"
#include "learn/learn_options.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/work.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/scaling.h"

namespace qw::cli {
namespace {

struct StepOptions {
  DataArguments data;
  std::string model = "gcn";
  ModelOptions model_options;
  LearnOptions learn = of_solver("ce");
  std::string split = "published";
  int64_t steps = 0;
  int64_t warmup = 3;
  double seconds = 3.0;

  static LearnOptions of_solver(const std::string& name) {
    LearnOptions options;
    options.solver = name;
    return options;
  }
};

struct Measured {
  std::vector<double> milliseconds;
  Work per_step;
  double loss = 0;
};

// Everything a step needs, in the order in which it must live.
struct Bench {
  Bench(const Dataset& dataset, const StepOptions& options)
      : split(make_split(dataset, options.split, kPublishedSeeds[0])),
        graph(dataset.graph, at::kFloat),
        features(FeatureScaling("auto", dataset).apply(dataset.features), at::kFloat),
        learner(make_learner({dataset.graph,
                              dataset.targets,
                              split,
                              graph,
                              features,
                              options.model,
                              options.model_options,
                              options.learn,
                              1,
                              {}})) {}

  Split split;
  GraphTensors graph;
  NodeMatrix features;
  std::unique_ptr<Learner> learner;
};

Measured measure(Learner& learner, const StepOptions& options) {
  using Clock = std::chrono::steady_clock;
  Measured measured;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const auto enough = [&] {
    const auto count = static_cast<int64_t>(measured.milliseconds.size());
    return options.steps > 0 ? count >= options.steps : count >= 5 && elapsed(start) > options.seconds;
  };
  for (int64_t epoch = 0; epoch < options.warmup; ++epoch) learner.step(epoch);
  const Work before = work_done();
  for (int64_t epoch = options.warmup; !enough(); ++epoch) {
    const Clock::time_point begin = Clock::now();
    measured.loss = learner.step(epoch).loss;
    measured.milliseconds.push_back(1e3 * elapsed(begin));
  }
  const Work after = work_done();
  const auto steps = static_cast<int64_t>(measured.milliseconds.size());
  measured.per_step = {(after.flops - before.flops) / steps, (after.bytes - before.bytes) / steps};
  std::sort(measured.milliseconds.begin(), measured.milliseconds.end());
  return measured;
}

nlohmann::ordered_json as_json(const Dataset& dataset, const StepOptions& options, const Measured& measured) {
  const std::vector<double>& times = measured.milliseconds;
  return {
      {"data", dataset.name},
      {"model", options.model},
      {"step_ms",
       {{"median", times[times.size() / 2]}, {"min", times.front()}, {"p90", times[times.size() * 9 / 10]}}},
      {"steps", times.size()},
      {"threads", thread_count()},
      {"flops", measured.per_step.flops},
      {"bytes", measured.per_step.bytes},
      {"peak_rss_mb", peak_rss_mb()},
      {"loss", measured.loss}};
}

void bench_step(const StepOptions& options, const GlobalOptions& global) {
  use_threads_in_libtorch();
  const Dataset dataset = load(options.data);
  const Bench bench(dataset, options);
  const Measured measured = measure(*bench.learner, options);
  const nlohmann::ordered_json document = as_json(dataset, options, measured);
  if (global.json) {
    print_json(document);
    return;
  }
  const double seconds = document["step_ms"]["median"].get<double>() / 1e3;
  print_text(fmt::format(
      "{}, {}, {}: {:.3f} ms per training step (median of {}; fastest {:.3f}), {} threads\n"
      "at least {:.1f} million flops ({:.1f} Gflop/s) and {} ({:.1f} GB/s) per step; peak memory {:.0f} MB\n",
      dataset.name, options.model, options.learn.solver, 1e3 * seconds, measured.milliseconds.size(),
      measured.milliseconds.front(), thread_count(), static_cast<double>(measured.per_step.flops) / 1e6,
      static_cast<double>(measured.per_step.flops) / seconds / 1e9,
      human_bytes(static_cast<double>(measured.per_step.bytes)),
      static_cast<double>(measured.per_step.bytes) / seconds / 1e9, peak_rss_mb()));
}

}  // namespace

void use_threads_in_libtorch() { at::set_num_threads(thread_count()); }

void add_bench_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App* bench = app.add_subcommand("bench", "measure a training step");
  bench->require_subcommand(1);
  bench->fallthrough();
  auto options = std::make_shared<StepOptions>();
  CLI::App* step = bench->add_subcommand("step", "time of one training step: forward, loss, backward, Adam");
  add_data_options(*step, options->data);
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  FieldTable table("qw bench step");
  table.add_choice("model", options->model, names, "the network: " + join(names, ", "));
  table.add("split", options->split, "SPEC", "which nodes train (see qw data split)");
  table.add("steps", options->steps, {0, 1e9}, "steps to measure; 0: as many as fit into --seconds");
  table.add("warmup", options->warmup, {0, 1e6}, "steps before measuring");
  table.add("seconds", options->seconds, {0, 1e6}, "time to measure, without --steps");
  add_options(*step, table);
  add_options(*step, model_fields(options->model_options));
  add_options(*step, learn_fields(options->learn));
  step->callback([options, &global] { bench_step(*options, global); });
}

}  // namespace qw::cli
