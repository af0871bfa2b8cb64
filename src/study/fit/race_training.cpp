// How the trials of a race are trained, by one process or by several.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "qw/learn/memory_plan.h"
#include "study/fit/race.h"

namespace qw {
namespace {

constexpr double kMostOfOne = 0.125;              // of the time, for one training
constexpr double kMostMemory = 0.8;               // of what there is
constexpr std::chrono::milliseconds kPause{200};  // before looking again whether others are done

}  // namespace

TrainRequest Race::request_of(const Candidate& candidate) const {
  TrainRequest request;
  request.data = options_.data;
  request.command = options_.command;
  request.device = options_.device;
  request.scale_features = options_.scale_features;
  request.split = options_.split;
  request.seed = options_.seed;
  request.coverage = options_.coverage;
  request.learn.metric = options_.metric;
  set_options(request, candidate.options, "qw fit");
  return request;
}

std::optional<int64_t> Race::memory_of(const TrainRequest& request) const {
  if (memory_ <= 0) return 0;
  const int64_t bytes = memory_plan(training_size(dataset_, request), request, memory_).total();
  if (static_cast<double>(bytes) > kMostMemory * static_cast<double>(memory_)) return std::nullopt;
  return bytes;
}

// On a GPU as many train together as fit (train_all); on the host those at work add up.
bool Race::has_room(int64_t bytes) const {
  if (memory_ <= 0 || memory_at_work_.empty() || options_.device != "cpu") return true;
  for (const auto& [trial, planned] : memory_at_work_) bytes += planned;
  return static_cast<double>(bytes) <= kMostMemory * static_cast<double>(memory_);
}

void Race::run_batch(const Batch& batch) {
  std::vector<size_t> all;
  int64_t room = options_.trials > 0 ? options_.trials - trials_done() : std::numeric_limits<int64_t>::max();
  for (const Wanted& wanted : batch) {
    if (room <= 0 || is_over(1.0)) break;
    const size_t trial = trial_of(wanted);
    if (trials_[trial].counts || std::find(all.begin(), all.end(), trial) != all.end()) continue;
    all.push_back(trial);
    --room;
  }
  std::vector<size_t> lacking;
  for (const size_t trial : all) {
    if (!trials_[trial].done) lacking.push_back(trial);
  }
  if (!lacking.empty()) {
    write_index();
    shared_ == nullptr ? train({lacking, {}}) : train_shared(lacking);
  }
  for (const size_t trial : all) trials_[trial].counts = trials_[trial].done;
}

void Race::train(Queue queue) {
  const bool by_time = options_.trials == 0;
  TrainingFeed feed;
  feed.take = [&](int64_t most) { return take(queue, most); };
  feed.done = [&](const Training& training, const RunResult& result) {
    if (result.epochs > 1)  // else its one step was all, and stands for no forward pass
      trials_.at(training.run).step_seconds = result.step_ms / 1e3;
    if (const auto last = last_epoch_.find(training.run); last != last_epoch_.end())
      slowest_end_ = std::max(slowest_end_, seconds() - last->second);
    finish(training.run, {result, "", 0, ""});
  };
  feed.failed = [&](const Training& training, const std::string& error) {
    finish(training.run, {{}, error, 0, ""});
  };
  feed.epoch = [&](const Training& training, const EpochRecord& record, const Trainer&) {
    constexpr int64_t kEpochsBetween = 10;
    last_epoch_[training.run] = seconds();
    if (record.epoch % kEpochsBetween == 0 && !tell()) interrupted_ = true;
    return !interrupted_;
  };
  if (by_time) {
    feed.enough = [&](const Training& training, const EpochRecord&) {
      const bool enough =
          too_late() || seconds() - trained_since_.at(training.run) > kMostOfOne * options_.seconds;
      trials_.at(training.run).cut_off = enough;
      return enough;
    };
  }
  const KeptSearch search{folder_, scaling_, [&](const Training& training) {
                            return split_of_fold(trials_.at(training.run).fold);
                          }};
  train_all(dataset_, options_.device, search, feed);
  if (by_time && too_late()) out_of_time_ = true;
}

std::vector<Training> Race::take(Queue& queue, int64_t most) {
  std::vector<Training> taken;
  const auto may_go_on = [&] { return !interrupted_ && !too_late(); };
  if (may_go_on()) claim(queue, most - static_cast<int64_t>(queue.ours.size()));
  for (size_t k = 0; k < queue.ours.size() && static_cast<int64_t>(taken.size()) < most && may_go_on();) {
    const size_t place = queue.ours[k];
    const TrainRequest request = request_of(candidates_[trials_[place].candidate]);
    const std::optional<int64_t> memory = memory_of(request);
    const bool waits =
        (!taken.empty() && !go_together(request, taken.front().request)) || (memory && !has_room(*memory));
    if (waits) {
      ++k;
      continue;
    }
    queue.ours.erase(queue.ours.begin() + static_cast<std::ptrdiff_t>(k));
    trained_since_[place] = seconds();
    if (memory) {
      memory_at_work_[place] = *memory;
      taken.push_back({request, trials_[place].run});
    } else {
      finish(place, {{}, kTooLarge, 0, ""});
    }
  }
  return taken;
}

// On a GPU those that train at the same time take the same steps.
bool Race::go_together(const TrainRequest& one, const TrainRequest& other) const {
  return options_.device == "cpu" || (one.model == other.model && one.learn.solver == other.learn.solver);
}

void Race::finish(size_t place, StoredResult result) {
  RacedTrial& trial = trials_[place];
  memory_at_work_.erase(place);
  trial.error = result.error;
  const Metrics& metrics = result.result.val;
  double metric = metrics.empty() ? std::numeric_limits<double>::quiet_NaN() : metrics.front().second;
  if (shared_ != nullptr) {
    result.seconds = seconds() - trained_since_.at(place);
    result.device = options_.device;
    shared_->put(shared_trial(trial), result, folder_of(trial));
    metric = shared_->scores({shared_trial(trial)}).front().value();  // perhaps of one who was faster
  }
  set_score(trial, metric);
  reserve_time();
  write_index();
  if (!tell()) interrupted_ = true;
}

void Race::set_score(RacedTrial& trial, double metric) const {
  trial.score = higher_is_better(options_.metric) ? metric : -metric;
  trial.done = true;
}

// Until all of them are done, by whomever.
void Race::train_shared(std::vector<size_t> lacking) {
  while (!interrupted_ && !too_late()) {
    learn_of_others(lacking);
    if (lacking.empty()) return;
    Queue queue{{}, lacking};
    claim(queue, 1);
    if (!queue.ours.empty()) {
      train(queue);
    } else {
      std::this_thread::sleep_for(kPause);
      if (!tell()) interrupted_ = true;
    }
  }
}

void Race::claim(Queue& queue, int64_t most) {
  if (queue.free.empty() || most <= 0) return;
  const auto request = [&](size_t place) { return request_of(candidates_[trials_[place].candidate]); };
  const TrainRequest first = request(queue.ours.empty() ? queue.free.front() : queue.ours.front());
  std::vector<size_t> places;
  std::vector<SharedTrial> wanted;
  for (const size_t place : queue.free) {
    if (!go_together(request(place), first)) continue;
    places.push_back(place);
    wanted.push_back(shared_trial(trials_[place]));
  }
  for (const size_t k : shared_->claim(wanted, most)) {
    queue.ours.push_back(places[k]);
    std::erase(queue.free, places[k]);
  }
}

// What others did is lacking no more.
void Race::learn_of_others(std::vector<size_t>& lacking) {
  std::vector<SharedTrial> wanted;
  wanted.reserve(lacking.size());
  for (const size_t place : lacking) wanted.push_back(shared_trial(trials_[place]));
  const std::vector<std::optional<double>> scores = shared_->scores(wanted);
  for (size_t k = 0; k < scores.size(); ++k) {
    if (scores[k]) set_score(trials_[lacking[k]], *scores[k]);
  }
  const size_t before = lacking.size();
  std::erase_if(lacking, [&](size_t place) { return trials_[place].done; });
  if (lacking.size() < before) write_index();
}

SharedTrial Race::shared_trial(const RacedTrial& trial) const {
  return {to_json(candidates_[trial.candidate]), trial.fold};
}

std::filesystem::path Race::folder_with(const RacedTrial& trial,
                                        const std::vector<std::string>& names) const {
  if (shared_ != nullptr) shared_->bring(shared_trial(trial), folder_of(trial), names);
  return folder_of(trial);
}

bool Race::tell() {
  if (!options_.progress) return true;
  FitProgress progress;
  const RacedTrial* best = nullptr;
  for (const RacedTrial& trial : trials_) {
    progress.trials += trial.done;
    const bool has_score = trial.done && trial.fold == 0 && !std::isnan(trial.score);
    if (has_score && (best == nullptr || trial.score > best->score)) best = &trial;
  }
  if (best != nullptr) {
    progress.best = candidates_[best->candidate].name();
    progress.score = best->score * (higher_is_better(options_.metric) ? 1 : -1);
  }
  const bool by_time = options_.trials == 0;
  progress.seconds_left = by_time ? std::max(0.0, options_.seconds - seconds()) : std::nan("");
  progress.trials_left = by_time ? -1 : options_.trials - progress.trials;
  return options_.progress(progress);
}

}  // namespace qw
