#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/learn/commands.h"
#include "core/text.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/work.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/labels.h"
#include "qw/learn/optimizer.h"
#include "qw/nn/model.h"

namespace qw::cli {
namespace {

struct StepOptions {
  DataArguments data;
  std::string model = "gcn";
  ModelOptions model_options;
  std::string split = "published";
  int64_t steps = 0;
  int64_t warmup = 3;
  double seconds = 3.0;
  double lr = 0.01;
  double weight_decay = 0.0005;
};

struct Measured {
  std::vector<double> milliseconds;
  Work per_step;
  double loss = 0;
};

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Forward, loss, backward, Adam; all that happens in an epoch but evaluation.
class TrainingStep {
 public:
  TrainingStep(const Dataset& dataset, const StepOptions& options)
      : graph_(dataset.graph, at::kFloat),
        features_(dataset.features, at::kFloat),
        model_(find_model(options.model)
                   .make(model_shape(dataset.graph, dataset.features.columns, dataset.targets.width),
                         options.model_options, 1, at::kFloat)),
        optimizer_(model_->parameters(), rates(options)),
        kind_(divergence_for(dataset.targets.task)) {
    const Split split = make_split(dataset, options.split, kPublishedSeeds[0]);
    labels_ = label_tensors(dataset.targets, split.train, at::kFloat);
    scale_ = mean_scale(kind_, labels_, dataset.targets.width);
  }

  double run(int64_t epoch) {
    const at::Tensor logits = model_->forward({graph_, features_, {}, true, 1, epoch});
    const auto [loss, gradient] = divergence(kind_, logits.detach(), none_, labels_, scale_);
    logits.backward(gradient);
    optimizer_.step();
    return loss.item<double>();
  }

 private:
  static std::map<ParameterRole, Rates> rates(const StepOptions& options) {
    const Rates same{options.lr, options.weight_decay};
    return {{ParameterRole::kBackbone, same}, {ParameterRole::kFilter, same}};
  }

  GraphTensors graph_;
  NodeMatrix features_;
  std::unique_ptr<Model> model_;
  Optimizer optimizer_;
  Divergence kind_;
  LabelTensors labels_;
  double scale_ = 1;
  at::Tensor none_ = at::empty({0}, at::kFloat);
};

Measured measure(TrainingStep& step, const StepOptions& options) {
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
  for (int64_t epoch = 0; epoch < options.warmup; ++epoch) step.run(epoch);
  const Work before = work_done();
  for (int64_t epoch = options.warmup; !enough(); ++epoch) {
    const Clock::time_point begin = Clock::now();
    measured.loss = step.run(epoch);
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
  TrainingStep step(dataset, options);
  const Measured measured = measure(step, options);
  const nlohmann::ordered_json document = as_json(dataset, options, measured);
  if (global.json) {
    print_json(document);
    return;
  }
  const double seconds = document["step_ms"]["median"].get<double>() / 1e3;
  print_text(fmt::format(
      "{}, {}: {:.3f} ms per training step (median of {}; fastest {:.3f}), {} threads\n"
      "at least {:.1f} million flops ({:.1f} Gflop/s) and {} ({:.1f} GB/s) per step; peak memory {:.0f} MB\n",
      dataset.name, options.model, 1e3 * seconds, measured.milliseconds.size(), measured.milliseconds.front(),
      thread_count(), static_cast<double>(measured.per_step.flops) / 1e6,
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
  table.add("lr", options->lr, {0, 1e6}, "learning rate");
  table.add("weight_decay", options->weight_decay, {0, 1e6}, "weight decay");
  add_options(*step, table);
  add_options(*step, model_fields(options->model_options));
  step->callback([options, &global] { bench_step(*options, global); });
}

}  // namespace qw::cli
