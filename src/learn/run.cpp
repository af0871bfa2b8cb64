#include "qw/learn/run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "core/file.h"
#include "learn/device.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kEpochsAtOnce = 50;

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

// One run, from its checkpoint if there is one. Made, it may be done already; else its trainer is to be run.
class SingleRun {
 public:
  SingleRun(const Dataset& dataset, const TrainRequest& request, const GraphTensors& graph,
            const NodeMatrix& features, const std::filesystem::path& folder, int64_t run)
      : dataset_(dataset),
        request_(request),
        folder_(folder.empty() ? folder : run_folder(folder, run)),
        run_(run),
        seed_(seed_of_run(request, run)) {
    if (!folder_.empty()) done_ = read_result(folder_);
    if (done_) return;
    split_ = split_of(request, dataset, run);
    scaling_ = scaling_for(split_);
    targets_ = scaling_.apply(dataset.targets);
    trainer_ =
        std::make_unique<Trainer>(LearnInput{dataset.graph, targets_, split_, graph, features, request.model,
                                             request.model_options, request.learn, seed_, network_from()});
    if (!folder_.empty() && std::filesystem::exists(checkpoint_path(folder_))) {
      trainer_->load_checkpoint(checkpoint_path(folder_));
    }
  }
  SingleRun(const SingleRun&) = delete;
  SingleRun& operator=(const SingleRun&) = delete;

  Trainer* trainer() { return trainer_.get(); }  // null when the run is done

  // To be told of every epoch.
  void epoch_done(const EpochRecord& record) const {
    const int64_t every = request_.checkpoint_every;
    if (folder_.empty() || every == 0 || (record.epoch + 1) % every != 0) return;
    write_metrics(folder_, trainer_->history());
    trainer_->save_checkpoint(checkpoint_path(folder_));
  }

  // Once its trainer has finished.
  RunResult result() {
    if (done_) return *done_;
    RunResult result = summarise_run();
    if (!folder_.empty()) write_run(folder_, dataset_, *trainer_, result);
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

  RunResult summarise_run() {
    RunResult result;
    result.run = run_;
    result.seed = seed_;
    result.scaling = scaling_;
    result.epochs = static_cast<int64_t>(trainer_->history().size());
    result.best_epoch = trainer_->best_epoch();
    result.step_ms = median(trainer_->step_milliseconds());
    Learner& learner = trainer_->best();
    const Scores scores = scaling_.undo(learner.predict());
    result.train = measure(dataset_.targets, split_.train, scores);
    result.val = measure(dataset_.targets, split_.val, scores);
    result.test = measure(dataset_.targets, split_.test, scores);
    result.classes = by_class(dataset_.targets, split_.test, scores);
    if (learner.flow() != nullptr) result.flow = learner.flow()->summary();
    return result;
  }

  const Dataset& dataset_;
  const TrainRequest& request_;
  std::filesystem::path folder_;
  int64_t run_;
  uint64_t seed_;
  std::optional<RunResult> done_;
  Split split_;
  TargetScaling scaling_;
  Targets targets_;
  std::unique_ptr<Trainer> trainer_;
};

// All runs of a request.
class Runs {
 public:
  Runs(const Dataset& dataset, const TrainRequest& request, const std::filesystem::path& folder,
       const std::function<void(const TrainProgress&)>& progress)
      : dataset_(dataset),
        request_(request),
        folder_(folder),
        progress_(progress),
        tensors_(at::TensorOptions(at::kFloat).device(device_named(request.device))),
        graph_(dataset.graph, tensors_),
        features_(FeatureScaling(request.scale_features, dataset).apply(dataset.features), tensors_),
        results_(request.runs) {}

  std::vector<RunResult> train() {
    const auto runs = static_cast<int>(request_.runs);
    if (tensors_.device().is_cuda()) {
      const int64_t at_once =
          memory_plan(training_size(dataset_, request_), request_, device_memory(tensors_.device()))
              .runs_at_once;
      for (int64_t begin = 0; begin < runs; begin += at_once) {
        on_device(begin, std::min<int64_t>(runs, begin + at_once));
      }
    } else if (most_runs_at_once(request_, dataset_.graph.num_edges()) > 1) {
      parallel_tasks(runs, [&](int run) { here(run); });
    } else {
      for (int run = 0; run < runs; ++run) here(run);
    }
    return results_;
  }

 private:
  void here(int64_t run) {
    SingleRun single(dataset_, request_, graph_, features_, folder_, run);
    if (single.trainer() != nullptr) single.trainer()->run(told(single, run));
    results_[run] = single.result();
  }

  // Runs [begin, end) together.
  void on_device(int64_t begin, int64_t end) {
    std::vector<std::unique_ptr<SingleRun>> singles;
    std::vector<Trainer*> trainers;
    std::vector<GoOn> go_on;
    for (int64_t run = begin; run < end; ++run) {
      singles.push_back(std::make_unique<SingleRun>(dataset_, request_, graph_, features_, folder_, run));
      Trainer* trainer = singles.back()->trainer();
      if (trainer == nullptr) continue;
      if (!trainer->can_replay()) {
        trainer->run(told(*singles.back(), run));
        continue;
      }
      trainers.push_back(trainer);
      go_on.push_back(told(*singles.back(), run));
    }
    run_together(trainers, go_on, epochs_at_once());
    for (int64_t run = begin; run < end; ++run) {
      results_[run] = singles[run - begin]->result();
      singles[run - begin].reset();
    }
  }

  // Between looks of the host; checkpoints are looks.
  int64_t epochs_at_once() const {
    const int64_t every = request_.checkpoint_every;
    return folder_.empty() || every == 0 ? kEpochsAtOnce : std::gcd(every, kEpochsAtOnce);
  }

  GoOn told(const SingleRun& single, int64_t run) {
    return [this, &single, run](const EpochRecord& record) {
      if (progress_) {
        const std::lock_guard<std::mutex> lock(one_at_a_time_);
        progress_({run, request_.runs, record, request_.learn.epochs});
      }
      single.epoch_done(record);
      return true;
    };
  }

  const Dataset& dataset_;
  const TrainRequest& request_;
  const std::filesystem::path& folder_;
  const std::function<void(const TrainProgress&)>& progress_;
  at::TensorOptions tensors_;
  GraphTensors graph_;
  NodeMatrix features_;
  std::vector<RunResult> results_;
  std::mutex one_at_a_time_;
};

// Where memory does not suffice, says what would fit.
template <class Work>
std::vector<RunResult> within_memory(const Dataset& dataset, const TrainRequest& request, const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    if (std::string_view(error.what()).find("out of memory") == std::string_view::npos) throw;
  }
  const int64_t available = device_memory(device_of(request));
  const MemoryPlan plan = memory_plan(training_size(dataset, request), request, available);
  fail(fmt::format("out of memory on {}: {}", request.device, what_would_fit(plan, available)));
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
  if (!folder.empty()) claim_folder(folder, request);
  const std::vector<RunResult> results =
      within_memory(dataset, request, [&] { return Runs(dataset, request, folder, progress).train(); });
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
