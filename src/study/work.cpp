#include "qw/study/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "core/json.h"
#include "study/data_fingerprint.h"

namespace qw {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{200};  // before looking again whether others are done

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Trainings of one shape take the same steps, and a GPU takes those of several at once.
std::string shape_of(const TrainRequest& request) {
  TrainRequest shape = request;
  LearnOptions& learn = shape.learn;
  const LearnOptions defaults;
  learn.lr = defaults.lr;
  learn.weight_decay = defaults.weight_decay;
  learn.filter_lr = defaults.filter_lr;
  learn.filter_weight_decay = defaults.filter_weight_decay;
  learn.flow_lr = defaults.flow_lr;
  learn.flow_weight_decay = defaults.flow_weight_decay;
  learn.lambda = defaults.lambda;
  learn.lpa_weight = defaults.lpa_weight;
  return json_text(options_json(shape));
}

class Worker {
 public:
  Worker(ResultStore& store, const StudyWork& work) : store_(store), work_(work) {}

  void run() {
    for (;;) {
      const std::vector<Trial> lacking = look();
      if (lacking.empty()) return;
      const std::vector<Trial> first = store_.claim(lacking, 1);
      if (first.empty()) {
        std::this_thread::sleep_for(kPause);
      } else {
        work_beside(first.front());
      }
    }
  }

 private:
  std::vector<Trial> look() {
    Lacking lacking = work_.lacking(store_.scores());
    left_ = static_cast<int64_t>(lacking.trials.size()) + lacking.later;
    return std::move(lacking.trials);
  }

  const TrainRequest& request_of(int64_t config) {
    const auto [at, is_new] = requests_.try_emplace(config);
    if (is_new) {
      at->second = store_.request_of(config);
      at->second.device = work_.device;
    }
    return at->second;
  }

  // All trials that share the data with this one.
  void work_beside(const Trial& first) {
    const TrainRequest request = request_of(first.config);
    const Dataset dataset = work_.load(request.data);
    if (checked_data_.insert(json_text(request.data)).second)
      store_.check_data(request.data, data_fingerprint(dataset));
    const auto shares = [&](const Trial& trial) {
      const TrainRequest& other = request_of(trial.config);
      return other.data == request.data && other.scale_features == request.scale_features;
    };
    std::vector<Trial> claimed{first};
    bool some_idle = false;
    TrainingFeed feed;
    feed.take = [&](int64_t most) -> std::vector<Training> {
      // One thread that found nothing to do sends all home, to begin together on what the last results made
      // possible.
      if (most > 1) some_idle = false;
      if (some_idle) return {};
      if (work_.one_at_a_time) most = 1;
      if (static_cast<int64_t>(claimed.size()) < most) {
        std::vector<Trial> lacking = look();
        std::erase_if(lacking, [&](const Trial& trial) { return !shares(trial); });
        if (work_.device != "cpu" && !lacking.empty()) {
          const std::string shape =
              shape_of(request_of((claimed.empty() ? lacking : claimed).front().config));
          std::erase_if(lacking,
                        [&](const Trial& trial) { return shape_of(request_of(trial.config)) != shape; });
        }
        const auto more = store_.claim(lacking, most - static_cast<int64_t>(claimed.size()));
        claimed.insert(claimed.end(), more.begin(), more.end());
      }
      std::vector<Training> taken;
      for (const Trial& trial : claimed) {
        taken.push_back({request_of(trial.config), trial.run});
        at_work_[trial] = Clock::now();
      }
      claimed.clear();
      some_idle = taken.empty();
      return taken;
    };
    feed.done = [&](const Training& training, const RunResult& result) {
      put(training, {result, "", 0, ""});
    };
    feed.failed = [&](const Training& training, const std::string& error) {
      put(training, {{}, error, 0, ""});
    };
    train_all(dataset, work_.device, request.scale_features, feed);
  }

  void put(const Training& training, StoredResult stored) {
    const Trial trial{store_.config_of(training.request), training.run};
    stored.seconds = seconds_since(at_work_.at(trial));
    stored.device = work_.device;
    store_.put(trial, stored);
    at_work_.erase(trial);
    ++done_;
    left_ = std::max<int64_t>(0, left_ - 1);
    if (!work_.progress) return;
    const auto& data = training.request.data;
    const std::string name = data.is_string() ? data.get<std::string>() : data.value("what", "");
    work_.progress({done_, left_, seconds_since(begin_),
                    fmt::format("{}, {}, {}", name, training.request.model, training.request.learn.solver)});
  }

  ResultStore& store_;
  const StudyWork& work_;
  std::map<int64_t, TrainRequest> requests_;
  std::set<std::string> checked_data_;
  std::map<Trial, Clock::time_point> at_work_;
  int64_t done_ = 0, left_ = 0;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void do_work(ResultStore& store, const StudyWork& work) { Worker(store, work).run(); }

}  // namespace qw
