#include "study/fit/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>

#include "core/file.h"
#include "core/json.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "study/fit/folds.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Of the time or the trials, before the best are trained on all folds; where there is one fold.
constexpr double kExploring = 0.5, kExploringOneFold = 0.85;
constexpr size_t kLeading = 3, kConfirmed = 6;  // of the best: before and after those that verdicts ask for
constexpr int64_t kMostRepeats = 3;             // of the winner
constexpr int kFamiliesSampled = 3, kSamplesEach = 2;
constexpr size_t kFewestThinned = 16;  // training nodes, for a learning curve

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Candidate candidate_from(const Json& json) {
  return {json.at("family").get<std::string>(), static_cast<Variant>(json.at("variant").get<int>()),
          json.at("options"), json.at("repeat").get<int64_t>()};
}

// What the race depends on: another one does not go on in the same folder.
Json asked_for(const FitBestOptions& options) {
  Json asked{{"metric", options.metric},
             {"split", options.split},
             {"seed", options.seed},
             {"device", options.device},
             {"scale_features", options.scale_features}};
  if (!options.store.empty()) {
    asked["shared"] = {{"trials", options.trials}, {"seconds", options.trials > 0 ? 0 : options.seconds}};
  }
  return asked;
}

}  // namespace

Race::Race(const Dataset& dataset, const std::vector<Split>& folds, const FitBestOptions& options,
           const std::filesystem::path& folder, SharedTrials* shared)
    : dataset_(dataset),
      folds_(folds),
      options_(options),
      shared_(shared),
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

// Not those that an earlier call came to later.
size_t Race::candidates_tried() const {
  std::set<size_t> tried;
  for (const RacedTrial& trial : trials_) {
    if (trial.counts) tried.insert(trial.candidate);
  }
  return tried.size();
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
  if (shared_ != nullptr) {
    std::vector<size_t> begun(trials_.size());
    std::iota(begun.begin(), begun.end(), size_t{0});
    learn_of_others(begun);
  }
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
    draw(families[leading + candidates_tried() % (families.size() - leading)], 1);
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
      trials_[trial].done = shared_ == nullptr && row.at("done").get<bool>();  // else the store knows
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
