#include "qw/learn/run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/graph/split_spec.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Up to here runs are small enough for several at once: their memory adds up, and threads inside one would
// wait for each other more than they work.
constexpr int64_t kEdgesForParallelRuns = 2'000'000;

std::string split_of_run(const TrainRequest& request, const Dataset& dataset, int64_t run) {
  const Targets& targets = dataset.targets;
  const bool own_split = dataset.format == "csv" && !dataset.splits.empty();
  if (request.split == "stored" || (request.split == "auto" && own_split)) {
    const auto stored = static_cast<int64_t>(std::max<size_t>(1, dataset.splits.size()));
    return fmt::format("stored:index={}", run % stored);
  }
  if (request.split != "auto") return request.split;
  const bool as_published =
      targets.task == Task::kClassification && targets.labelled() == dataset.graph.num_nodes();
  return as_published ? "published" : "random:train=0.6,val=0.2";
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// One run, from its checkpoint if there is one.
class SingleRun {
 public:
  SingleRun(const Dataset& dataset, const TrainRequest& request, const GraphTensors& graph,
            const NodeMatrix& features, const std::filesystem::path& folder, int64_t run)
      : dataset_(dataset),
        request_(request),
        graph_(graph),
        features_(features),
        folder_(folder.empty() ? folder : run_folder(folder, run)),
        run_(run) {}

  RunResult result(const std::function<void(const EpochRecord&)>& progress) {
    if (!folder_.empty()) {
      if (auto done = read_result(folder_)) return *done;
    }
    const uint64_t seed = seed_of_run(request_, run_);
    const Split split = split_of(request_, dataset_, run_);
    const TargetScaling scaling = scaling_for(split);
    const Targets targets = scaling.apply(dataset_.targets);
    Trainer trainer({dataset_.graph, targets, split, graph_, features_, request_.model,
                     request_.model_options, request_.learn, seed, network_from()});
    if (!folder_.empty() && std::filesystem::exists(checkpoint_path(folder_))) {
      trainer.load_checkpoint(checkpoint_path(folder_));
    }
    trainer.run([&](const EpochRecord& record) {
      if (progress) progress(record);
      keep_checkpoint(trainer, record);
      return true;
    });
    RunResult result = summarise_run(trainer, split, seed, scaling);
    if (!folder_.empty()) write_run(folder_, dataset_, trainer, result);
    return result;
  }

 private:
  std::filesystem::path network_from() const {
    return request_.refit_flow.empty() ? "" : run_folder(request_.refit_flow, run_) / "model.safetensors";
  }

  // A network that is taken over goes on to speak in the units it learned in.
  TargetScaling scaling_for(const Split& split) const {
    if (request_.refit_flow.empty()) return {dataset_.targets, split.train};
    const std::filesystem::path folder = run_folder(request_.refit_flow, run_);
    const std::optional<RunResult> earlier = read_result(folder);
    if (!earlier)
      fail(fmt::format("{} is not finished: there is no network whose flow could be refitted",
                       folder.string()));
    return earlier->scaling;
  }

  void keep_checkpoint(const Trainer& trainer, const EpochRecord& record) const {
    const int64_t every = request_.checkpoint_every;
    if (folder_.empty() || every == 0 || (record.epoch + 1) % every != 0) return;
    write_metrics(folder_, trainer.history());
    trainer.save_checkpoint(checkpoint_path(folder_));
  }

  RunResult summarise_run(Trainer& trainer, const Split& split, uint64_t seed,
                          const TargetScaling& scaling) const {
    RunResult result;
    result.run = run_;
    result.seed = seed;
    result.scaling = scaling;
    result.epochs = static_cast<int64_t>(trainer.history().size());
    result.best_epoch = trainer.best_epoch();
    result.step_ms = median(trainer.step_milliseconds());
    Learner& learner = trainer.best();
    const Scores scores = scaling.undo(learner.predict());
    result.train = measure(dataset_.targets, split.train, scores);
    result.val = measure(dataset_.targets, split.val, scores);
    result.test = measure(dataset_.targets, split.test, scores);
    result.classes = by_class(dataset_.targets, split.test, scores);
    if (learner.flow() != nullptr) result.flow = learner.flow()->summary();
    return result;
  }

  const Dataset& dataset_;
  const TrainRequest& request_;
  const GraphTensors& graph_;
  const NodeMatrix& features_;
  std::filesystem::path folder_;
  int64_t run_;
};

void check_device(const TrainRequest& request) {
  if (request.device != "cpu") {
    fail_usage(fmt::format("qw train: --device '{}' is not here yet; known: cpu", request.device));
  }
}

// A folder belongs to one request: going on with another would mix results.
void claim_folder(const std::filesystem::path& folder, const TrainRequest& request) {
  const std::filesystem::path config = folder / "config.json";
  const std::string wanted = to_json(request).dump(2) + "\n";
  if (std::filesystem::exists(config) && read_file(config) != wanted) {
    fail(fmt::format("{} was made by another request; choose another --out, or go on with it by --resume {}",
                     folder.string(), folder.string()));
  }
  write_file_atomically(config, wanted);
}

Json spread(const std::vector<double>& values) {
  const Summary summary = summarise(values);
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json runs = Json::array();
  for (const double value : values) runs.push_back(number(value));
  return {{"mean", number(summary.mean)},
          {"std", number(summary.std)},
          {"ci95", number(summary.ci95)},
          {"runs", runs}};
}

Json part_json(const std::vector<RunResult>& results, Metrics RunResult::*part) {
  Json json = Json::object();
  for (size_t m = 0; m < (results.front().*part).size(); ++m) {
    std::vector<double> values;
    for (const RunResult& result : results) values.push_back((result.*part)[m].second);
    json[(results.front().*part)[m].first] = spread(values);
  }
  return json;
}

}  // namespace

Split split_of(const TrainRequest& request, const Dataset& dataset, int64_t run) {
  return make_split(dataset, split_of_run(request, dataset, run),
                    static_cast<uint32_t>(seed_of_run(request, run)));
}

std::vector<RunResult> train(const Dataset& dataset, const TrainRequest& request,
                             const std::filesystem::path& folder,
                             const std::function<void(const TrainProgress&)>& progress) {
  request_from_json(to_json(request), "request");  // a program may ask for anything
  check_device(request);
  if (!folder.empty()) claim_folder(folder, request);
  const GraphTensors graph(dataset.graph, at::kFloat);
  const NodeMatrix features(FeatureScaling(request.scale_features, dataset).apply(dataset.features),
                            at::kFloat);
  std::vector<RunResult> results(request.runs);
  std::mutex one_at_a_time;
  const auto one = [&](int run) {
    SingleRun single(dataset, request, graph, features, folder, run);
    results[run] = single.result([&](const EpochRecord& record) {
      if (!progress) return;
      const std::lock_guard<std::mutex> lock(one_at_a_time);
      progress({run, request.runs, record, request.learn.epochs});
    });
  };
  if (request.runs > 1 && dataset.graph.num_edges() <= kEdgesForParallelRuns) {
    parallel_tasks(static_cast<int>(request.runs), one);
  } else {
    for (int run = 0; run < request.runs; ++run) one(run);
  }
  if (!folder.empty()) {
    write_file_atomically(folder / "summary.json", summary_json(request, dataset, results).dump(2) + "\n");
  }
  return results;
}

nlohmann::ordered_json summary_json(const TrainRequest& request, const Dataset& dataset,
                                    const std::vector<RunResult>& results) {
  Json json{{"config", to_json(request)},
            {"name", dataset.name},
            {"train", part_json(results, &RunResult::train)},
            {"val", part_json(results, &RunResult::val)},
            {"test", part_json(results, &RunResult::test)}};
  Json epochs = Json::array(), best = Json::array(), seeds = Json::array(), flows = Json::array();
  std::vector<double> step_ms;
  for (const RunResult& result : results) {
    epochs.push_back(result.epochs);
    best.push_back(result.best_epoch);
    seeds.push_back(result.seed);
    if (result.step_ms > 0) step_ms.push_back(result.step_ms);
    if (result.flow) flows.push_back(flow_json(*result.flow));
  }
  json["epochs"] = epochs;
  json["best_epoch"] = best;
  json["seeds"] = seeds;
  json["step_ms"] = step_ms.empty() ? Json(nullptr) : Json(median(step_ms));
  if (!flows.empty()) json["flow"] = flows;
  return json;
}

}  // namespace qw
