#include "study/fit/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>

#include "core/file.h"
#include "core/json.h"
#include "learn/device.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/learn/memory_plan.h"
#include "study/fit/fit_scaling.h"
#include "study/fit/folds.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Of the time or the trials, before the best are trained on all folds; where there is one fold.
constexpr double kExploring = 0.5, kExploringOneFold = 0.85;
constexpr size_t kLeading = 3, kConfirmed = 6;  // of the best: before and after those that verdicts ask for
constexpr int64_t kMostRepeats = 3;             // of the winner
constexpr int kFamiliesSampled = 3, kSamplesEach = 2;
constexpr int kNetworksVaried = 1;
constexpr size_t kFewestThinned = 16;  // training nodes, for a learning curve
constexpr size_t kFewCompared = 500;   // validation nodes: by fewer the luckiest wins, not the best
constexpr double kEarly = 0.33;  // of the time or trials: what may help is tried where the rest leaves room
constexpr size_t kLikelyMembers = 8;
constexpr double kMostReserved = 0.25;  // of the time
constexpr double kShareOfFirst = 0.4;   // of the time or trials, for the first candidates on all folds

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
             {"scale_features", options.scale_features},
             {"trials", options.trials}};  // by time another time may go on
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
      begin_(now() - options.spent),
      folder_(folder / "search"),
      data_(fingerprint_json(fingerprint(remember(dataset, {folds.front()}, options.split)))),
      scaling_(scaling_for_fit(dataset, options.scale_features)),
      portfolio_(dataset, pool_of(folds.front()), static_cast<uint64_t>(options.seed),
                 rate_for(dataset, scaling_)),
      memory_(device_memory(device_named(options.device))) {
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

bool Race::cut_off(size_t candidate, int64_t folds) const {
  for (int64_t fold = 0; fold < folds; ++fold) {
    const RacedTrial* trial = find(candidate, fold);
    if (trial != nullptr && trial->cut_off) return true;
  }
  return false;
}

std::string Race::first_error() const {
  for (const RacedTrial& trial : trials_) {
    if (!trial.error.empty()) return trial.error;
  }
  return "";
}

// By the folds that all of them have: more never make one fall behind.
std::vector<size_t> Race::ranked() const {
  std::vector<std::pair<double, size_t>> scored;
  for (size_t k = 0; k < candidates_.size(); ++k) {
    if (folds_of(k) < compared_folds_) continue;
    double sum = 0;
    for (int64_t fold = 0; fold < compared_folds_; ++fold) sum += find(k, fold)->score;
    scored.emplace_back(sum, k);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> places;
  places.reserve(scored.size());
  for (const auto& [score, place] : scored) places.push_back(place);
  return places;
}

bool Race::is_over(double share) const {
  if (interrupted_ || out_of_time_) return true;
  if (options_.trials > 0)
    return static_cast<double>(trials_done()) >= share * static_cast<double>(options_.trials);
  return too_late() || seconds() >= share * options_.seconds;
}

bool Race::too_late() const {
  if (options_.trials > 0) return false;
  const auto is_done = [](const RacedTrial& trial) { return trial.done; };
  if (std::none_of(trials_.begin(), trials_.end(), is_done)) return false;  // one result always comes
  return seconds() + std::min(reserved_, kMostReserved * options_.seconds) >= options_.seconds;
}

// Trainings that are cut off come to their end. Then the members are read back, one forward pass each, and
// predictions are written. Who leads is likely to be one of them.
void Race::reserve_time() {
  const std::vector<size_t> order = ranked();
  double steps = 0;
  for (size_t k = 0; k < std::min(order.size(), kLikelyMembers); ++k) {
    for (int64_t fold = 0; fold < folds_of(order[k]); ++fold) steps += find(order[k], fold)->step_seconds;
  }
  const double cells =
      static_cast<double>(dataset_.graph.num_nodes()) * static_cast<double>(dataset_.targets.width);
  reserved_ = 0.3 + slowest_end_ + 1.3 * steps + 2e-6 * cells;
}

void Race::run() {
  if (shared_ != nullptr) {
    std::vector<size_t> begun(trials_.size());
    std::iota(begun.begin(), begun.end(), size_t{0});
    learn_of_others(begun);
  }
  run_on(portfolio_.first(), compared_folds_);
  std::vector<Candidate> more;
  for (const size_t place : ranked()) {
    const Candidate& candidate = candidates_[place];
    if (candidate.variant != Variant::kPlain || !candidate.uses_edges() || !candidate.uses_features())
      continue;
    for (const Variant variant : {Variant::kQw, Variant::kEdgeWeights, Variant::kCorrectAndSmooth}) {
      if (auto made = portfolio_.with(candidate, variant)) more.push_back(std::move(*made));
    }
    break;
  }
  run_on(more, compared_folds_);
  if (!is_over(kEarly)) run_on(portfolio_.proven(), compared_folds_);
  compare_on_all_folds();
  explore();
  for (bool goes_on = true; goes_on && !is_over(1.0);) {
    const int64_t before = trials_done();
    for (const auto step : {&Race::confirm, &Race::draw_curve, &Race::repeat_winner, &Race::sample_more}) {
      if (trials_done() == before) (this->*step)();
    }
    goes_on = trials_done() > before;
  }
  write_index();
  if (interrupted_) throw TrainingStopped();
  for (RacedTrial& trial : trials_)
    trial.counts = trial.done;  // by time, an earlier call may have come further
}

void Race::run_on(const std::vector<Candidate>& candidates, int64_t folds) {
  Batch batch;
  for (int64_t fold = 0; fold < folds; ++fold) {
    for (const Candidate& candidate : candidates) batch.push_back({candidate, fold});
  }
  run_batch(batch);
}

// Where one fold has few nodes to compare by, and there is time for all of them.
void Race::compare_on_all_folds() {
  if (folds() == 1 || folds_.front().val.size() >= kFewCompared || is_over(kShareOfFirst)) return;
  const double used = options_.trials > 0
                          ? static_cast<double>(trials_done()) / static_cast<double>(options_.trials)
                          : seconds() / options_.seconds;
  if (used * static_cast<double>(folds()) > kShareOfFirst) return;
  std::vector<Candidate> all;
  for (const size_t place : ranked()) all.push_back(candidates_[place]);
  run_on(all, folds());
  compared_folds_ = folds();
}

void Race::explore() {
  const double share = folds() > 1 ? kExploring : kExploringOneFold;
  while (!is_over(share)) {
    const std::vector<Candidate> candidates = next_samples();
    if (candidates.empty()) return;
    run_on(candidates, compared_folds_);
  }
}

// From the families that lead, one of the others by turns, and a variant of the network that leads.
std::vector<Candidate> Race::next_samples() {
  std::vector<std::string> families;
  for (const size_t place : ranked()) {
    const std::string& family = candidates_[place].family;
    if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  std::vector<Candidate> candidates;
  const auto draw = [&](const std::string& family, int count) {
    for (int k = 0; k < count; ++k) {
      if (auto sampled = portfolio_.sample(family, samples_[family]++))
        candidates.push_back(std::move(*sampled));
    }
  };
  const size_t leading = std::min<size_t>(kFamiliesSampled, families.size());
  for (size_t k = 0; k < leading; ++k) draw(families[k], kSamplesEach);
  if (families.size() > leading)
    draw(families[leading + candidates_tried() % (families.size() - leading)], 1);
  add_untried_variants(candidates);
  return candidates;
}

// The next of the network that leads.
void Race::add_untried_variants(std::vector<Candidate>& candidates) const {
  const auto was_tried = [&](const Candidate& candidate) {
    return std::any_of(trials_.begin(), trials_.end(), [&](const RacedTrial& trial) {
      return trial.counts && candidates_[trial.candidate] == candidate;
    });
  };
  int networks = 0;
  for (const size_t place : ranked()) {
    if (networks == kNetworksVaried) return;
    if (candidates_[place].repeat > 0) continue;
    const std::vector<Candidate> variants = portfolio_.variants_of(portfolio_.plain_of(candidates_[place]));
    networks += !variants.empty();
    const auto next = std::find_if_not(variants.begin(), variants.end(), was_tried);
    if (next != variants.end() && std::find(candidates.begin(), candidates.end(), *next) == candidates.end())
      candidates.push_back(*next);
  }
}

// The best, and those that the verdicts ask for, on the folds that they lack; first those without whom
// nothing is known of the graph and the features.
void Race::confirm() {
  const std::vector<size_t> order = ranked();
  std::vector<Candidate> chosen;
  const auto choose = [&](const Candidate& candidate) {
    if (std::find(chosen.begin(), chosen.end(), candidate) == chosen.end()) chosen.push_back(candidate);
  };
  const auto choose_best = [&](size_t count, const auto& suits) {
    for (const size_t place : order) {
      if (count == 0) return;
      if (!suits(candidates_[place])) continue;
      choose(candidates_[place]);
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
  run_on(chosen, folds());
  choose_best(2, is_plain_network);
  for (const Variant variant : {Variant::kQw, Variant::kEdgeWeights}) {
    choose_best(1, [&](const Candidate& each) { return each.variant == variant; });
  }
  choose_best(kConfirmed, anybody);
  for (const Candidate& each : std::vector<Candidate>(chosen)) {  // a verdict needs both
    if (each.variant == Variant::kQw || each.variant == Variant::kEdgeWeights)
      choose(portfolio_.plain_of(each));
  }
  run_on(chosen, folds());
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

void Race::sample_more() { run_on(next_samples(), compared_folds_); }

// With other initial values.
void Race::repeat_winner() {
  std::optional<Candidate> winner;
  for (const size_t place : ranked()) {
    if (winner || candidates_[place].repeat > 0) continue;
    winner = candidates_[place];
  }
  if (!winner || !winner->uses_features()) return;
  Batch again;
  for (int64_t repeat = 1; repeat <= kMostRepeats; ++repeat) {
    winner->repeat = repeat;
    for (int64_t fold = 0; fold < folds(); ++fold) again.push_back({*winner, fold});
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
      trials_[trial].error = row.value("error", "");
      trials_[trial].cut_off = row.value("cut_off", false);
      trials_[trial].step_seconds = row.value("step_seconds", 0.0);
      trials_[trial].done = shared_ == nullptr && row.at("done").get<bool>() &&  // else the store knows
                            trials_[trial].error != kTooLarge;  // perhaps there is more memory now
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
    if (!trial.error.empty()) row["error"] = trial.error;
    if (trial.cut_off) row["cut_off"] = true;
    if (trial.step_seconds > 0) row["step_seconds"] = trial.step_seconds;
    rows.push_back(std::move(row));
  }
  const Json document{
      {"asked", asked_for(options_)}, {"data", data_}, {"seconds", seconds()}, {"trials", rows}};
  write_file_atomically(folder_ / "trials.json", json_text(document, 1) + "\n");
}

}  // namespace qw
