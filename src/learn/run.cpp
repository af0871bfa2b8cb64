#include "qw/learn/run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
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
#include "core/manifest.h"
#include "learn/device.h"
#include "learn/run_files.h"
#include "learn/single_run.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

constexpr int64_t kEpochsAtOnce = 50;

class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// In CUDA's words, and in those of the CPU in LibTorch 1.13 and 2.
bool is_out_of_memory(const c10::Error& error) {
  const std::string_view text = error.what();
  const auto says = [&](const char* words) { return text.find(words) != std::string_view::npos; };
  return says("out of memory") || says("can't allocate memory") || says("not enough memory");
}

// Where memory does not suffice, says what would fit.
template <class Work>
void within_memory(const Dataset& dataset, const TrainRequest& request, const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw;
  } catch (const std::bad_alloc&) {  // said below
  }
  const int64_t available = device_memory(device_of(request));
  const MemoryPlan plan = memory_plan(training_size(dataset, request), request, available);
  throw OutOfMemory(fmt::format("out of memory on {}: {}", request.device, what_would_fit(plan, available)));
}

// Where trainings are kept, and who trains in them.
struct KeptIn {
  std::filesystem::path folder;  // empty: nowhere
  std::function<Split(const Training&)> split;
  bool of_search = false;
};

// All trainings of a feed.
class Trainings {
 public:
  // Without `kept` trainings may be of several requests, and nothing of them is kept.
  Trainings(const Dataset& dataset, const std::string& device, const FeatureScaling& scaling,
            const TrainingFeed& feed, const KeptIn* kept)
      : dataset_(dataset),
        feed_(feed),
        kept_(kept),
        tensors_(at::TensorOptions(at::kFloat).device(device_named(device))),
        graph_(dataset.graph, tensors_),
        features_(scaling.apply(dataset.features), tensors_) {
    malloc_trim(0);  // what was scaled is gone, and tensors do not take its place
  }

  void run() {
    const int64_t most = most_at_once(tensors_.device(), dataset_.graph.num_edges());
    for (std::vector<Training> taken = feed_.take(most); !taken.empty() && !stopped_;
         taken = feed_.take(most)) {
      if (tensors_.device().is_cuda()) {
        on_device(taken);
      } else if (taken.size() == 1) {
        here(taken.front());  // with all threads
      } else {
        side_by_side(taken);
      }
    }
  }

  bool stopped() const { return stopped_; }

 private:
  // And whatever more there is.
  void side_by_side(std::vector<Training>& taken) {
    parallel_tasks(static_cast<int>(taken.size()), [&](int task) {
      std::vector<Training> mine{std::move(taken[task])};
      while (!mine.empty() && !stopped_) {
        here(mine.front());
        const std::lock_guard<std::mutex> lock(one_at_a_time_);
        mine = feed_.take(1);
      }
    });
  }

  void here(const Training& training) {
    std::optional<RunResult> result;
    const bool went_well = watch(training, [&] {
      within_memory(dataset_, training.request, [&] {
        const std::unique_ptr<SingleRun> single = make_run(training);
        if (single->trainer() != nullptr) single->trainer()->run(epoch_callback(*single));
        result = end_of(*single);
      });
    });
    if (went_well && result) hand_over(training, *result);
  }

  std::unique_ptr<SingleRun> make_run(const Training& training) const {
    if (kept_ == nullptr) {
      return std::make_unique<SingleRun>(
          dataset_, training, split_of(training.request, dataset_, training.run), graph_, features_);
    }
    return std::make_unique<SingleRun>(dataset_, training, kept_->split(training), graph_, features_,
                                       kept_->folder, kept_->of_search);
  }

  // The result; nothing when the run was stopped, and then it is kept as far as it came.
  static std::optional<RunResult> end_of(SingleRun& single) {
    const Trainer* trainer = single.trainer();
    if (trainer == nullptr || trainer->finished() || !trainer->failure().empty()) return single.result();
    if (single.has_enough()) return single.result();
    single.save();
    return std::nullopt;
  }

  // As many together as fit; where memory does not suffice after all, one by one.
  void on_device(const std::vector<Training>& taken) {
    TrainRequest request = taken.front().request;
    request.runs = static_cast<int64_t>(taken.size());
    const auto room = static_cast<size_t>(
        memory_plan(training_size(dataset_, request), request, device_memory(tensors_.device()))
            .runs_at_once);
    for (size_t begin = 0; begin < taken.size(); begin += room) {
      const std::span<const Training> some{taken.data() + begin, std::min(room, taken.size() - begin)};
      if (some.size() > 1 && together_fits(some)) continue;
      for (const Training& one : some) {
        watch(one, [&] { within_memory(dataset_, one.request, [&] { together({&one, 1}); }); });
      }
    }
  }

  bool together_fits(std::span<const Training> trainings) {
    try {
      within_memory(dataset_, trainings.front().request, [&] { together(trainings); });
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }

  void together(std::span<const Training> trainings) {
    std::vector<std::unique_ptr<SingleRun>> singles;
    std::vector<Trainer*> trainers;
    std::vector<GoOn> go_on;
    for (const Training& training : trainings) {
      std::unique_ptr<SingleRun> single;
      const bool went_well = watch(training, [&] {
        single = make_run(training);
        Trainer* trainer = single->trainer();
        if (trainer == nullptr) return;
        if (!trainer->can_replay()) return trainer->run(epoch_callback(*single));
        trainers.push_back(trainer);
        go_on.push_back(epoch_callback(*single));
      });
      if (went_well) singles.push_back(std::move(single));
    }
    run_together(trainers, go_on, epochs_at_once(trainings.front().request));
    std::vector<std::optional<RunResult>> results(singles.size());
    for (size_t k = 0; k < singles.size(); ++k)
      watch(singles[k]->training(), [&] { results[k] = end_of(*singles[k]); });
    for (size_t k = 0; k < singles.size(); ++k) {
      if (results[k]) hand_over(singles[k]->training(), *results[k]);
    }
  }

  // Between looks of the host; checkpoints are looks.
  int64_t epochs_at_once(const TrainRequest& request) const {
    const int64_t every = request.checkpoint_every;
    return kept_ == nullptr || kept_->folder.empty() || every == 0 ? kEpochsAtOnce
                                                                   : std::gcd(every, kEpochsAtOnce);
  }

  // Whether it went well; what did not is reported to the feed.
  template <class Work>
  bool watch(const Training& training, const Work& work) {
    try {
      work();
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      return report_failure(training, error.what());
    } catch (const c10::Error& error) {
      if (is_out_of_memory(error)) throw;
      return report_failure(training, error.what_without_backtrace());
    }
  }

  // False; without anybody to tell, the error that is being handled goes on.
  bool report_failure(const Training& training, const std::string& why) {
    if (!feed_.failed) throw;
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    feed_.failed(training, why);
    return false;
  }

  // Not watched: what cannot be kept is no training that failed.
  void hand_over(const Training& training, const RunResult& result) {
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    feed_.done(training, result);
  }

  GoOn epoch_callback(SingleRun& single) {
    return [this, &single](const EpochRecord& record) {
      if (feed_.epoch || feed_.enough) {
        const std::lock_guard<std::mutex> lock(one_at_a_time_);
        if (feed_.epoch && !stopped_ && !feed_.epoch(single.training(), record, *single.trainer()))
          stopped_ = true;
        if (feed_.enough && feed_.enough(single.training(), record)) single.set_enough();
      }
      single.epoch_done(record);
      return !stopped_ && !single.has_enough();
    };
  }

  const Dataset& dataset_;
  const TrainingFeed& feed_;
  const KeptIn* kept_;
  at::TensorOptions tensors_;
  GraphTensors graph_;
  NodeMatrix features_;
  std::mutex one_at_a_time_;
  std::atomic<bool> stopped_ = false;
};

bool have_same_nodes(const Split& one, const Split& other) {
  const auto same = [](std::vector<NodeId> a, std::vector<NodeId> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  };
  return same(one.train, other.train) && same(one.val, other.val) && same(one.test, other.test);
}

// What the folder keeps of the data, which must not have changed since; made where it is new.
TrainingMemory claim_memory(const std::filesystem::path& folder, const TrainRequest& request,
                            const Dataset& dataset) {
  const bool begun = std::filesystem::exists(run_folder(folder, 0));
  if (!has_memory(folder) && (!begun || is_of_older_qw(folder))) {
    TrainingMemory memory = make_memory(dataset, request);
    if (!is_of_older_qw(folder)) write_memory(folder, memory, request);
    return memory;
  }
  TrainingMemory memory = read_memory(folder);
  const DataChanges changes = changes_since(memory.trained_on, dataset);
  if (!changes.none()) {
    fail(fmt::format(
        "{} cannot go on: {} changed since it began; train anew with another --out, or fit the flow to "
        "new labels with --refit-flow",
        folder.string(), changes.text()));
  }
  if (changes.reordered) {
    fail(fmt::format(
        "{} cannot go on: the nodes stand in another order than when it began; put them back, or train "
        "anew with another --out",
        folder.string()));
  }
  if (!request.refit_flow.empty()) return memory;
  for (int64_t run = 0; run < request.runs; ++run) {
    if (have_same_nodes(split_of(request, dataset, run), memory.trained_on.splits.at(run))) continue;
    fail(
        fmt::format("{} cannot go on: who trains, validates and tests changed since it began; train anew "
                    "with another --out",
                    folder.string()));
  }
  return memory;
}

// Of all runs together at most a tenth of what training took, unless all are asked for; then those of no run
// have a linear model, so that means are over the same runs.
void add_baselines(const Dataset& dataset, const TrainRequest& request, const TrainingMemory& memory,
                   double trained_seconds, std::vector<RunResult>& results) {
  if (request.baselines == "none" || dataset.targets.task == Task::kNone) return;
  constexpr double kShare = 0.1, kLeastSeconds = 0.05;
  const bool all = request.baselines == "all";
  double left =
      all ? std::numeric_limits<double>::infinity() : std::max(kLeastSeconds, kShare * trained_seconds);
  bool complete = true;
  for (RunResult& result : results) {
    const auto begin = std::chrono::steady_clock::now();
    result.baselines = make_baselines(dataset, memory.trained_on.splits.at(result.run), request.learn.metric,
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
               const TrainingFeed& feed) {
  Trainings(dataset, device, FeatureScaling(scale_features, dataset), feed, nullptr).run();
}

void train_all(const Dataset& dataset, const std::string& device, const KeptSearch& search,
               const TrainingFeed& feed) {
  const KeptIn kept{search.folder, search.split, true};
  Trainings(dataset, device, search.scaling, feed, &kept).run();
}

std::vector<RunResult> train(const Dataset& dataset, const TrainRequest& request,
                             const std::filesystem::path& folder,
                             const std::function<bool(const TrainProgress&)>& progress) {
  request_from_json(to_json(request), "request");  // a program may ask for anything
  find_metric(dataset.targets.task, request.learn.metric);
  std::optional<FolderLock> lock;
  if (!folder.empty()) {
    lock.emplace(folder);
    check_config(folder, request);
  }
  TrainingMemory memory =
      folder.empty() ? make_memory(dataset, request) : claim_memory(folder, request, dataset);
  if (folder.empty()) {  // who trains is all that is needed; a graph is large
    TrainedOn splits_alone;
    splits_alone.splits = std::move(memory.trained_on.splits);
    memory.trained_on = std::move(splits_alone);
  }
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
    feed.epoch = [&](const Training& training, const EpochRecord& record, const Trainer& trainer) {
      return progress(
          {training.run, request.runs, record, request.learn.epochs, trainer.history(), trainer.finished()});
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  within_memory(dataset, request, [&] {
    const KeptIn kept{folder,
                      [&](const Training& training) { return memory.trained_on.splits.at(training.run); }};
    Trainings trainings(dataset, request.device, memory.scaling, feed, &kept);
    trainings.run();
    if (trainings.stopped()) throw TrainingStopped();
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add_baselines(dataset, request, memory, seconds, results);
  if (!folder.empty())
    write_summary(folder, summary_json(request, dataset, results), fingerprint(memory.trained_on));
  return results;
}

}  // namespace qw
