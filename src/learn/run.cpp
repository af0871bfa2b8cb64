#include "qw/learn/run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "core/file.h"
#include "core/json.h"
#include "learn/device.h"
#include "learn/run_files.h"
#include "learn/single_run.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kEpochsAtOnce = 50;

// Where memory does not suffice, says what would fit.
template <class Work>
void within_memory(const Dataset& dataset, const TrainRequest& request, const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    if (std::string_view(error.what()).find("out of memory") == std::string_view::npos) throw;
  }
  const int64_t available = device_memory(device_of(request));
  const MemoryPlan plan = memory_plan(training_size(dataset, request), request, available);
  fail(fmt::format("out of memory on {}: {}", request.device, what_would_fit(plan, available)));
}

// All trainings of a feed.
class Trainings {
 public:
  Trainings(const Dataset& dataset, const std::string& device, const std::string& scale_features,
            const TrainingFeed& feed, const std::filesystem::path& folder)
      : dataset_(dataset),
        feed_(feed),
        folder_(folder),
        tensors_(at::TensorOptions(at::kFloat).device(device_named(device))),
        graph_(dataset.graph, tensors_),
        features_(FeatureScaling(scale_features, dataset).apply(dataset.features), tensors_) {}

  void run() {
    const int64_t most = most_at_once(tensors_.device(), dataset_.graph.num_edges());
    for (std::vector<Training> taken = feed_.take(most); !taken.empty(); taken = feed_.take(most)) {
      if (tensors_.device().is_cuda()) {
        on_device(taken);
      } else if (taken.size() == 1) {
        here(taken.front());  // with all threads
      } else {
        side_by_side(taken);
      }
    }
  }

 private:
  // And whatever more there is.
  void side_by_side(std::vector<Training>& taken) {
    parallel_tasks(static_cast<int>(taken.size()), [&](int task) {
      std::vector<Training> mine{std::move(taken[task])};
      while (!mine.empty()) {
        here(mine.front());
        const std::lock_guard<std::mutex> lock(one_at_a_time_);
        mine = feed_.take(1);
      }
    });
  }

  void here(const Training& training) {
    RunResult result;
    const bool went_well = watch(training, [&] {
      SingleRun single(dataset_, training, graph_, features_, folder_);
      if (single.trainer() != nullptr) single.trainer()->run(told(single));
      result = single.result();
    });
    if (went_well) hand_over(training, result);
  }

  // As many together as fit.
  void on_device(const std::vector<Training>& taken) {
    TrainRequest request = taken.front().request;
    request.runs = static_cast<int64_t>(taken.size());
    const auto room = static_cast<size_t>(
        memory_plan(training_size(dataset_, request), request, device_memory(tensors_.device()))
            .runs_at_once);
    within_memory(dataset_, request, [&] {
      for (size_t begin = 0; begin < taken.size(); begin += room) {
        together({taken.data() + begin, std::min(room, taken.size() - begin)});
      }
    });
  }

  void together(std::span<const Training> trainings) {
    std::vector<std::unique_ptr<SingleRun>> singles;
    std::vector<Trainer*> trainers;
    std::vector<GoOn> go_on;
    for (const Training& training : trainings) {
      std::unique_ptr<SingleRun> single;
      const bool went_well = watch(training, [&] {
        single = std::make_unique<SingleRun>(dataset_, training, graph_, features_, folder_);
        Trainer* trainer = single->trainer();
        if (trainer == nullptr) return;
        if (!trainer->can_replay()) return trainer->run(told(*single));
        trainers.push_back(trainer);
        go_on.push_back(told(*single));
      });
      if (went_well) singles.push_back(std::move(single));
    }
    run_together(trainers, go_on, epochs_at_once(trainings.front().request));
    for (std::unique_ptr<SingleRun>& single : singles) {
      RunResult result;
      if (watch(single->training(), [&] { result = single->result(); }))
        hand_over(single->training(), result);
      single.reset();
    }
  }

  // Between looks of the host; checkpoints are looks.
  int64_t epochs_at_once(const TrainRequest& request) const {
    const int64_t every = request.checkpoint_every;
    return folder_.empty() || every == 0 ? kEpochsAtOnce : std::gcd(every, kEpochsAtOnce);
  }

  // Whether it went well; what did not is told to the feed.
  template <class Work>
  bool watch(const Training& training, const Work& work) {
    try {
      work();
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      if (!feed_.failed) throw;
      const std::lock_guard<std::mutex> lock(one_at_a_time_);
      feed_.failed(training, error.what());
      return false;
    }
  }

  // Not watched: what cannot be kept is no training that failed.
  void hand_over(const Training& training, const RunResult& result) {
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    feed_.done(training, result);
  }

  GoOn told(const SingleRun& single) {
    return [this, &single](const EpochRecord& record) {
      if (feed_.epoch) {
        const std::lock_guard<std::mutex> lock(one_at_a_time_);
        feed_.epoch(single.training(), record);
      }
      single.epoch_done(record);
      return true;
    };
  }

  const Dataset& dataset_;
  const TrainingFeed& feed_;
  const std::filesystem::path& folder_;
  at::TensorOptions tensors_;
  GraphTensors graph_;
  NodeMatrix features_;
  std::mutex one_at_a_time_;
};

// As it would be written today, with the options that came later; empty: no JSON.
std::string request_text(const std::filesystem::path& config) {
  const Json document = Json::parse(read_file(config), nullptr, false);
  return document.is_discarded() ? ""
                                 : json_text(to_json(request_from_json(document, config.string())), 2) + "\n";
}

// A folder belongs to one request: going on with another would mix results.
void claim_folder(const std::filesystem::path& folder, const TrainRequest& request) {
  const std::filesystem::path config = folder / "config.json";
  const std::string wanted = json_text(to_json(request), 2) + "\n";
  if (std::filesystem::exists(config) && request_text(config) != wanted) {
    fail(fmt::format("{} was made by another request; choose another --out, or go on with it by --resume {}",
                     folder.string(), folder.string()));
  }
  write_file_atomically(config, wanted);
}

// Of all runs together at most a tenth of what training took, unless all are asked for; then those of no run
// have a linear model, so that means are over the same runs.
void add_baselines(const Dataset& dataset, const TrainRequest& request, double trained_seconds,
                   std::vector<RunResult>& results) {
  if (request.baselines == "none" || dataset.targets.task == Task::kNone) return;
  constexpr double kShare = 0.1, kLeastSeconds = 0.05;
  const bool all = request.baselines == "all";
  double left =
      all ? std::numeric_limits<double>::infinity() : std::max(kLeastSeconds, kShare * trained_seconds);
  bool complete = true;
  for (RunResult& result : results) {
    const auto begin = std::chrono::steady_clock::now();
    result.baselines = make_baselines(dataset, split_of(request, dataset, result.run), request.learn.metric,
                                      complete ? left : 0.0);
    left -= std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    complete = complete && !result.baselines.linear.test.empty() && left > 0;
  }
  if (results.empty() || !results.back().baselines.linear.test.empty()) return;
  for (RunResult& result : results) result.baselines.linear = {};
}

}  // namespace

Split split_of(const TrainRequest& request, const Dataset& dataset, int64_t run) {
  const RunSplit chosen = split_of_run(dataset, request.split, run);
  return make_split(dataset, chosen.spec,
                    static_cast<uint32_t>(seed_of_run(request, chosen.same_draw ? 0 : run)));
}

void train_all(const Dataset& dataset, const std::string& device, const std::string& scale_features,
               const TrainingFeed& feed, const std::filesystem::path& folder) {
  Trainings(dataset, device, scale_features, feed, folder).run();
}

std::vector<RunResult> train(const Dataset& dataset, const TrainRequest& request,
                             const std::filesystem::path& folder,
                             const std::function<void(const TrainProgress&)>& progress) {
  request_from_json(to_json(request), "request");  // a program may ask for anything
  find_metric(dataset.targets.task, request.learn.metric);
  if (!folder.empty()) claim_folder(folder, request);
  std::vector<RunResult> results(request.runs);
  int64_t next = 0;
  TrainingFeed feed;
  feed.take = [&](int64_t most) {
    std::vector<Training> taken;
    while (next < request.runs && most-- > 0) taken.push_back({request, next++});
    return taken;
  };
  feed.done = [&](const Training& training, const RunResult& result) { results[training.run] = result; };
  if (progress) {
    feed.epoch = [&](const Training& training, const EpochRecord& record) {
      progress({training.run, request.runs, record, request.learn.epochs});
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  within_memory(dataset, request,
                [&] { train_all(dataset, request.device, request.scale_features, feed, folder); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add_baselines(dataset, request, seconds, results);
  if (!folder.empty()) {
    write_file_atomically(folder / "summary.json",
                          json_text(summary_json(request, dataset, results), 2) + "\n");
  }
  return results;
}

}  // namespace qw
