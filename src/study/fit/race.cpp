#include "study/fit/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/file.h"
#include "core/json.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/learn/memory_plan.h"
#include "study/fit/folds.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Of the time or the trials, before the best are trained on all folds; where there is one fold.
constexpr double kExploring = 0.5, kExploringOneFold = 0.85;
constexpr double kMostOfOne = 0.125;            // of the time, for one training
constexpr double kMostMemory = 0.8;             // of what there is
constexpr size_t kLeading = 3, kConfirmed = 6;  // of the best: before and after those that verdicts ask for
constexpr int64_t kMostRepeats = 3;             // of the winner
constexpr int kFamiliesSampled = 3, kSamplesEach = 2;
constexpr size_t kFewestThinned = 16;  // training nodes, for a learning curve

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json to_json(const Candidate& candidate) {
  return {{"family", candidate.family},
          {"variant", static_cast<int>(candidate.variant)},
          {"options", candidate.options},
          {"repeat", candidate.repeat}};
}

Candidate candidate_from(const Json& json) {
  return {json.at("family").get<std::string>(), static_cast<Variant>(json.at("variant").get<int>()),
          json.at("options"), json.at("repeat").get<int64_t>()};
}

// What the race depends on: another one does not go on in the same folder.
Json asked_for(const FitBestOptions& options) {
  return {{"metric", options.metric},
          {"split", options.split},
          {"seed", options.seed},
          {"device", options.device},
          {"scale_features", options.scale_features}};
}

}  // namespace

Race::Race(const Dataset& dataset, const std::vector<Split>& folds, const FitBestOptions& options,
           const std::filesystem::path& folder)
    : dataset_(dataset),
      folds_(folds),
      options_(options),
      folder_(folder / "search"),
      data_(fingerprint_json(fingerprint(remember(dataset, {folds.front()}, options.split)))),
      portfolio_(dataset, pool_of(folds.front()), static_cast<uint64_t>(options.seed)),
      scaling_(options.scale_features, dataset),
      begin_(now() - options.spent) {
  std::filesystem::create_directories(folder_);
  load_index();
}

double Race::seconds() const { return spent_before_ + now() - begin_; }

std::filesystem::path Race::folder_of(const RacedTrial& trial) const {
  return run_folder(folder_, trial.run);
}

int64_t Race::trials_done() const {
  return std::count_if(trials_.begin(), trials_.end(), [](const RacedTrial& trial) { return trial.counts; });
}

const RacedTrial* Race::find(size_t candidate, int64_t fold) const {
  for (const RacedTrial& trial : trials_) {
    if (trial.candidate == candidate && trial.fold == fold && trial.counts && !std::isnan(trial.score))
      return &trial;
  }
  return nullptr;
}

int64_t Race::folds_of(size_t candidate) const {
  int64_t fold = 0;
  while (fold < folds() && find(candidate, fold) != nullptr) ++fold;
  return fold;
}

Split Race::split_of_fold(int64_t fold) const {
  const Split& whole = folds_.at(fold % folds());
  const int64_t level = fold / folds();
  if (level == 0) return whole;
  return thinned(dataset_.targets, whole, kCurveShares.at(level - 1), static_cast<uint32_t>(options_.seed));
}

std::optional<size_t> Race::curve_candidate() const {
  for (const RacedTrial& trial : trials_) {
    if (trial.fold >= folds()) return trial.candidate;
  }
  return std::nullopt;
}

double Race::mean_score(size_t candidate) const {
  const int64_t folds = folds_of(candidate);
  double sum = 0;
  for (int64_t fold = 0; fold < folds; ++fold) sum += find(candidate, fold)->score;
  return sum / static_cast<double>(folds);
}

// More folds never make a candidate fall behind one that has only been seen on the first.
std::vector<size_t> Race::ranked(int64_t fold) const {
  std::vector<std::pair<double, size_t>> scored;
  for (size_t k = 0; k < candidates_.size(); ++k) {
    if (const RacedTrial* trial = find(k, fold)) scored.emplace_back(trial->score, k);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> places;
  for (const auto& [score, place] : scored) places.push_back(place);
  return places;
}

bool Race::is_over(double share) const {
  if (interrupted_ || out_of_time_) return true;
  if (options_.trials > 0)
    return static_cast<double>(trials_done()) >= share * static_cast<double>(options_.trials);
  return too_late() || seconds() >= share * options_.seconds;
}

// What comes after the race reads models back, and writes predictions.
bool Race::too_late() const {
  if (options_.trials > 0) return false;
  const double cells =
      static_cast<double>(dataset_.graph.num_nodes()) * static_cast<double>(dataset_.targets.width);
  const double after = 0.4 + 40 * step_seconds_ + 1.5e-6 * cells;
  return seconds() + std::min(after, 0.25 * options_.seconds) >= options_.seconds;
}

void Race::run() {
  Batch first;
  for (const Candidate& candidate : portfolio_.first()) first.push_back({candidate, 0});
  run_batch(first);
  Batch variants;
  for (const size_t place : ranked(0)) {
    const Candidate& candidate = candidates_[place];
    if (candidate.variant != Variant::kPlain || !candidate.uses_edges() || !candidate.uses_features())
      continue;
    for (const Variant variant : {Variant::kProximal, Variant::kEdgeWeights, Variant::kCorrectAndSmooth}) {
      if (const auto made = portfolio_.with(candidate, variant)) variants.push_back({*made, 0});
    }
    break;
  }
  run_batch(variants);
  explore();
  for (bool more = true; more && !is_over(1.0);) {
    const int64_t before = trials_done();
    for (const auto step : {&Race::confirm, &Race::draw_curve, &Race::repeat_winner, &Race::sample_more}) {
      if (trials_done() == before) (this->*step)();
    }
    more = trials_done() > before;
  }
  write_index();
  if (interrupted_) throw TrainingStopped();
  for (RacedTrial& trial : trials_)
    trial.counts = trial.done;  // by time, an earlier call may have come further
}

void Race::explore() {
  const double share = folds() > 1 ? kExploring : kExploringOneFold;
  while (!is_over(share)) {
    const Batch batch = next_samples();
    if (batch.empty()) return;
    run_batch(batch);
  }
}

// From the families that lead, and one of the others by turns.
Race::Batch Race::next_samples() {
  std::vector<std::string> families;
  for (const size_t place : ranked(0)) {
    const std::string& family = candidates_[place].family;
    if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  Batch batch;
  const auto draw = [&](const std::string& family, int count) {
    for (int k = 0; k < count; ++k) {
      const auto sampled = portfolio_.sample(family, samples_[family]++);
      if (sampled) batch.push_back({*sampled, 0});
    }
  };
  const size_t leading = std::min<size_t>(kFamiliesSampled, families.size());
  for (size_t k = 0; k < leading; ++k) draw(families[k], kSamplesEach);
  if (families.size() > leading)
    draw(families[leading + candidates_.size() % (families.size() - leading)], 1);
  return batch;
}

// The best, and those that the verdicts ask for, on the folds that they lack.
void Race::confirm() {
  const std::vector<size_t> order = ranked(0);
  std::vector<size_t> chosen;
  const auto choose = [&](size_t place) {
    if (std::find(chosen.begin(), chosen.end(), place) == chosen.end()) chosen.push_back(place);
  };
  const auto choose_best = [&](size_t count, const auto& suits) {
    for (const size_t place : order) {
      if (count == 0) return;
      if (!suits(candidates_[place])) continue;
      choose(place);
      --count;
    }
  };
  const auto is_plain_network = [](const Candidate& each) {
    return each.variant == Variant::kPlain && each.uses_edges() && each.uses_features();
  };
  const auto anybody = [](const Candidate&) { return true; };
  choose_best(kLeading, anybody);
  choose_best(1, [](const Candidate& each) { return !each.uses_edges(); });
  choose_best(1, [](const Candidate& each) { return !each.uses_features(); });
  choose_best(2, is_plain_network);
  for (const size_t place : std::vector<size_t>(chosen)) {  // a variant and its plain network stand together
    for (const size_t other : order) {
      const auto made = portfolio_.with(candidates_[other], candidates_[place].variant);
      if (candidates_[place].variant != Variant::kPlain && made &&
          made->options == candidates_[place].options)
        choose(other);
    }
  }
  for (const Variant variant : {Variant::kProximal, Variant::kEdgeWeights}) {
    choose_best(1, [&](const Candidate& each) { return each.variant == variant; });
  }
  choose_best(kConfirmed, anybody);
  Batch batch;
  for (int64_t fold = 1; fold < folds(); ++fold) {
    for (const size_t place : chosen) batch.push_back({candidates_[place], fold});
  }
  run_batch(batch);
}

// The best on all folds, with fewer labels.
void Race::draw_curve() {
  std::optional<size_t> best = curve_candidate();
  if (folds_.front().train.size() < kFewestThinned) return;
  if (!best) {
    for (size_t k = 0; k < candidates_.size(); ++k) {
      if (folds_of(k) == folds() && (!best || mean_score(k) > mean_score(*best))) best = k;
    }
  }
  Batch batch;
  for (size_t level = 1; best && level <= kCurveShares.size(); ++level) {
    for (int64_t fold = 0; fold < folds(); ++fold)
      batch.push_back({candidates_[*best], thinned_fold(fold, level)});
  }
  run_batch(batch);
}

void Race::sample_more() { run_batch(next_samples()); }

// With other initial values.
void Race::repeat_winner() {
  const std::vector<size_t> order = ranked(0);
  if (order.empty()) return;
  Batch again;
  for (int64_t repeat = 1; repeat <= kMostRepeats; ++repeat) {
    Candidate winner = candidates_[order.front()];
    if (!winner.uses_features() || winner.repeat > 0) break;
    winner.repeat = repeat;
    for (int64_t fold = 0; fold < folds(); ++fold) again.push_back({winner, fold});
  }
  run_batch(again);
}

size_t Race::place_of(const Candidate& candidate) {
  const auto found = std::find(candidates_.begin(), candidates_.end(), candidate);
  if (found != candidates_.end()) return found - candidates_.begin();
  candidates_.push_back(candidate);
  return candidates_.size() - 1;
}

size_t Race::trial_of(const Wanted& wanted) {
  const size_t place = place_of(wanted.candidate);
  for (size_t k = 0; k < trials_.size(); ++k) {
    if (trials_[k].candidate == place && trials_[k].fold == wanted.fold) return k;
  }
  trials_.push_back({place, wanted.fold, static_cast<int64_t>(trials_.size())});
  return trials_.size() - 1;
}

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

bool Race::fits(const TrainRequest& request) const {
  const int64_t available = device_memory(device_of(request));
  if (available <= 0) return true;
  const MemoryPlan plan = memory_plan(training_size(dataset_, request), request, available);
  return static_cast<double>(plan.total()) <= kMostMemory * static_cast<double>(available);
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
  std::vector<size_t> queue;
  for (const size_t trial : all) {
    if (!trials_[trial].done) queue.push_back(trial);
  }
  if (!queue.empty()) {
    write_index();
    train(std::move(queue));
  }
  for (const size_t trial : all) trials_[trial].counts = trials_[trial].done;
}

void Race::train(std::vector<size_t> queue) {
  std::map<int64_t, size_t> of_run;
  std::map<int64_t, double> began;
  for (const size_t trial : queue) of_run[trials_[trial].run] = trial;
  std::reverse(queue.begin(), queue.end());  // taken from the back
  const bool by_time = options_.trials == 0;
  const auto finish = [&](int64_t run, double score) {
    RacedTrial& trial = trials_[of_run.at(run)];
    trial.done = true;
    trial.score = score;
    write_index();
    if (!tell()) interrupted_ = true;
  };
  TrainingFeed feed;
  feed.take = [&](int64_t most) {
    std::vector<Training> taken;
    while (!queue.empty() && static_cast<int64_t>(taken.size()) < most && !interrupted_ && !too_late()) {
      const RacedTrial& trial = trials_[queue.back()];
      const TrainRequest request = request_of(candidates_[trial.candidate]);
      const bool together = taken.empty() || options_.device == "cpu" ||
                            (request.model == taken.front().request.model &&
                             request.learn.solver == taken.front().request.learn.solver);
      if (!together) break;
      queue.pop_back();
      if (!fits(request)) {
        finish(trial.run, std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      began[trial.run] = now();
      taken.push_back({request, trial.run});
    }
    return taken;
  };
  feed.done = [&](const Training& training, const RunResult& result) {
    step_seconds_ = std::max(step_seconds_, result.step_ms / 1e3);
    const double metric = result.val.empty() ? std::nan("") : result.val.front().second;
    finish(training.run, higher_is_better(options_.metric) ? metric : -metric);
  };
  feed.failed = [&](const Training& training, const std::string&) {
    finish(training.run, std::numeric_limits<double>::quiet_NaN());
  };
  feed.epoch = [&](const Training&, const EpochRecord& record, const Trainer&) {
    constexpr int64_t kEpochsBetween = 10;
    if (record.epoch % kEpochsBetween == 0 && !tell()) interrupted_ = true;
    return !interrupted_;
  };
  if (by_time) {
    feed.enough = [&](const Training& training, const EpochRecord&) {
      return too_late() || now() - began.at(training.run) > kMostOfOne * options_.seconds;
    };
  }
  const KeptSearch search{folder_, scaling_, [&](const Training& training) {
                            return split_of_fold(trials_.at(of_run.at(training.run)).fold);
                          }};
  train_all(dataset_, options_.device, search, feed);
  if (by_time && too_late()) out_of_time_ = true;
}

bool Race::tell() {
  if (!options_.progress) return true;
  FitProgress progress;
  const RacedTrial* best = nullptr;
  for (const RacedTrial& trial : trials_) {
    progress.trials += trial.done;
    if (trial.done && trial.fold == 0 && (best == nullptr || trial.score > best->score)) best = &trial;
  }
  if (best != nullptr && !std::isnan(best->score)) {
    progress.best = candidates_[best->candidate].name();
    progress.score = best->score * (higher_is_better(options_.metric) ? 1 : -1);
  }
  const bool by_time = options_.trials == 0;
  progress.seconds_left = by_time ? std::max(0.0, options_.seconds - seconds()) : std::nan("");
  progress.trials_left = by_time ? -1 : options_.trials - progress.trials;
  return options_.progress(progress);
}

void Race::load_index() {
  const std::filesystem::path file = folder_ / "trials.json";
  if (!std::filesystem::exists(file)) return;
  const Json document = read_json(file);
  try {
    if (document.at("asked") != asked_for(options_)) {
      fail(fmt::format("{} was made with other options ({}); choose another --out",
                       folder_.parent_path().string(), json_text(document.at("asked"))));
    }
    if (document.at("data") != data_) {
      fail(fmt::format("{} cannot go on: the data changed since it began; choose another --out",
                       folder_.parent_path().string()));
    }
    spent_before_ = document.at("seconds").get<double>();
    for (const Json& row : document.at("trials")) {
      const size_t trial = trial_of({candidate_from(row), row.at("fold").get<int64_t>()});
      trials_[trial].done = row.at("done").get<bool>();
      trials_[trial].score = row.at("score").is_number() ? row.at("score").get<double>() : std::nan("");
    }
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: is no list of trials; remove the folder to begin anew", file.string()));
  }
}

void Race::write_index() const {
  Json rows = Json::array();
  for (const RacedTrial& trial : trials_) {
    Json row = to_json(candidates_[trial.candidate]);
    row["fold"] = trial.fold;
    row["done"] = trial.done;
    row["score"] = std::isnan(trial.score) ? Json(nullptr) : Json(trial.score);
    rows.push_back(std::move(row));
  }
  const Json document{
      {"asked", asked_for(options_)}, {"data", data_}, {"seconds", seconds()}, {"trials", rows}};
  write_file_atomically(folder_ / "trials.json", json_text(document, 1) + "\n");
}

}  // namespace qw
