#include "qw/study/fit_best.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "learn/run_files.h"
#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/core/random.h"
#include "qw/learn/ensemble.h"
#include "study/fit/folds.h"
#include "study/fit/leakage.h"
#include "study/fit/race.h"
#include "study/fit/selection.h"
#include "study/fit/verdicts.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFewComplete = 3;  // candidates on all folds, that make an ensemble of them worth while
constexpr size_t kMostJudged = 30;  // candidates
constexpr int kGroupsOfOneFold = 5;

// How many folds enough candidates have.
int64_t common_folds(const Race& race, size_t folds) {
  for (auto level = static_cast<int64_t>(folds); level > 1; --level) {
    size_t complete = 0;
    for (size_t k = 0; k < race.candidates().size(); ++k) complete += race.folds_of(k) >= level;
    if (complete >= kFewComplete) return level;
  }
  return 1;
}

// What the race has come to on the first `level` folds.
class Outcome {
 public:
  Outcome(const Dataset& dataset, const std::vector<Split>& folds, const Race& race,
          const std::string& metric, int64_t level)
      : folds_(folds), race_(race), level_(level), judge_(dataset.targets, judged_nodes(), metric) {
    std::vector<size_t> places;
    for (size_t k = 0; k < race.candidates().size(); ++k) {
      if (race.folds_of(k) >= level_) places.push_back(k);
    }
    std::stable_sort(places.begin(), places.end(),
                     [&](size_t a, size_t b) { return race.mean_score(a) > race.mean_score(b); });
    if (places.size() > kMostJudged) places.resize(kMostJudged);
    for (const size_t place : places) {
      places_.push_back(place);
      predicted_.push_back(predictions_of(place));
    }
    weights_ = select_ensemble(judge_, predicted_);
    single_ = best_alone(judge_, predicted_);
  }

  int64_t folds() const { return level_; }
  const Judge& judge() const { return judge_; }
  const std::vector<size_t>& places() const { return places_; }  // of candidates, best first by their folds
  const std::vector<double>& weights() const { return weights_; }
  size_t single() const { return single_; }

  // [n * width] of the ensemble, for the judge's nodes.
  std::vector<double> together() const {
    std::vector<double> sum(predicted_.front().size(), 0.0);
    for (size_t k = 0; k < predicted_.size(); ++k) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights_[k] * predicted_[k][i];
    }
    return sum;
  }

  std::vector<FitVerdict> verdicts() const {
    std::vector<JudgedCandidate> judged;
    for (size_t k = 0; k < places_.size(); ++k)
      judged.push_back({&race_.candidates()[places_[k]], predicted_[k]});
    return make_verdicts(judge_, groups(), judged);
  }

 private:
  std::vector<NodeId> judged_nodes() const {
    std::vector<NodeId> nodes;
    for (int64_t fold = 0; fold < level_; ++fold)
      nodes.insert(nodes.end(), folds_[fold].val.begin(), folds_[fold].val.end());
    return nodes;
  }

  std::vector<double> predictions_of(size_t place) const {
    std::vector<double> all;
    for (int64_t fold = 0; fold < level_; ++fold) {
      const std::vector<double> some = read_validation(race_.folder_of(*race_.find(place, fold)));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  std::vector<int> groups() const {
    std::vector<int> groups;
    const RandomStream random(1, 0);
    for (int64_t fold = 0; fold < level_; ++fold) {
      for (size_t i = 0; i < folds_[fold].val.size(); ++i) {
        groups.push_back(level_ > 1 ? static_cast<int>(fold)
                                    : static_cast<int>(random.below(i, kGroupsOfOneFold)));
      }
    }
    return groups;
  }

  const std::vector<Split>& folds_;
  const Race& race_;
  int64_t level_;
  Judge judge_;
  std::vector<size_t> places_;
  std::vector<std::vector<double>> predicted_;
  std::vector<double> weights_;
  size_t single_ = 0;
};

// Predictions of some nodes as scores of all.
Scores scores_of(const Dataset& dataset, const std::vector<NodeId>& nodes,
                 const std::vector<double>& predicted) {
  const int64_t width = dataset.targets.width;
  Scores scores;
  scores.network = at::zeros({dataset.graph.num_nodes(), width}, at::kDouble);
  auto* rows = scores.network.data_ptr<double>();
  for (size_t i = 0; i < nodes.size(); ++i)
    std::copy_n(predicted.begin() + i * width, width, rows + nodes[i] * width);
  scores.transport = at::empty({0}, at::kDouble);
  scores.in_label_space = dataset.targets.task != Task::kRegression;
  return scores;
}

// Run `to` of `folder` is what `from` was: its files, under its new number.
void adopt(const std::filesystem::path& from, const std::filesystem::path& folder, int64_t to) {
  const std::filesystem::path here = run_folder(folder, to);
  std::filesystem::create_directories(here);
  Json summary = read_json(from / "summary.json");
  summary["run"] = to;
  const std::string text = json_text(summary, 2) + "\n";
  Manifest manifest(here);
  for (const char* name : {"model.safetensors", "model.json", "flow.safetensors", "calibration.json",
                           "metrics.jsonl", "config.json", "validation.safetensors"}) {
    if (!std::filesystem::exists(from / name)) continue;
    std::filesystem::copy_file(from / name, here / name, std::filesystem::copy_options::overwrite_existing);
    manifest.add(name);
  }
  manifest.add("summary.json", text);
  manifest.write();
  write_file_atomically(here / "summary.json", text);
}

// Models of those that lost are not needed again.
void remove_models(const Race& race) {
  std::error_code ignored;
  for (const RacedTrial& trial : race.trials()) {
    for (const char* name : {"model.safetensors", "flow.safetensors", "checkpoint.safetensors"})
      std::filesystem::remove(race.folder_of(trial) / name, ignored);
  }
}

class Assembly {
 public:
  Assembly(const Dataset& dataset, const FitBestOptions& options, const std::vector<Split>& folds,
           const Race& race, const Outcome& outcome, const std::filesystem::path& folder)
      : dataset_(dataset),
        options_(options),
        folds_(folds),
        race_(race),
        outcome_(outcome),
        folder_(folder) {}

  void write(FitBestResult& result) {
    take_over();
    const std::vector<NodeId>& judged = outcome_.judge().nodes();
    const Scores validation = scores_of(dataset_, judged, outcome_.together());
    members_.calibration = calibrate(dataset_.targets, judged, validation);
    members_.calibration.temperature = 1;  // members are calibrated already
    result.validation = measure(dataset_.targets, judged, validation, {options_.metric});
    TrainRequest request = read_request(run_folder(folder_, members_.single.front()));
    request.runs = static_cast<int64_t>(splits_.size());
    const TrainingMemory memory{remember(dataset_, splits_, options_.split),
                                FeatureScaling(options_.scale_features, dataset_)};
    write_memory(folder_, memory, request);
    write_members(folder_, members_);
    Ensemble ensemble(folders(members_.runs), request, memory, dataset_, members_.weights);
    ensemble.use_calibration(members_.calibration);
    const std::vector<NodeId>& test = folds_.front().test;
    if (!test.empty()) {
      result.test = measure(dataset_.targets, test, ensemble.predicted(), {options_.metric});
      const Ensemble single(folders(members_.single), request, memory, dataset_);
      result.single_test = measure(dataset_.targets, test, single.predicted(), {options_.metric});
    }
    const std::optional<PredictionSets> sets(std::in_place, dataset_.targets.task, dataset_.targets.width,
                                             ensemble.calibration(), options_.coverage);
    Predictions predictions(dataset_, dataset_.targets, ensemble.scores(), ensemble.calibration(), sets,
                            ensemble.parts());
    predictions.use_ensemble(ensemble.mean(), ensemble.spread());
    write_file_atomically(folder_ / "predictions.csv", predictions.csv());
  }

 private:
  // The runs of a candidate, made if need be.
  std::vector<int64_t> runs_of(size_t k) {
    std::vector<int64_t> runs;
    for (int64_t fold = 0; fold < outcome_.folds(); ++fold) {
      const auto run = static_cast<int64_t>(splits_.size());
      adopt(race_.folder_of(*race_.find(outcome_.places()[k], fold)), folder_, run);
      splits_.push_back(folds_[fold]);
      runs.push_back(run);
    }
    return runs;
  }

  // The loudest first, so that run 0 is one of them.
  void take_over() {
    std::vector<size_t> order(outcome_.places().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return outcome_.weights()[a] > outcome_.weights()[b]; });
    for (const size_t k : order) {
      const bool speaks = outcome_.weights()[k] > 0;
      if (!speaks && k != outcome_.single()) continue;
      const std::vector<int64_t> runs = runs_of(k);
      if (k == outcome_.single()) members_.single = runs;
      if (!speaks) continue;
      members_.runs.insert(members_.runs.end(), runs.begin(), runs.end());
      members_.weights.insert(members_.weights.end(), runs.size(),
                              outcome_.weights()[k] / static_cast<double>(runs.size()));
    }
  }

  std::vector<std::filesystem::path> folders(const std::vector<int64_t>& runs) const {
    std::vector<std::filesystem::path> all;
    for (const int64_t run : runs) all.push_back(run_folder(folder_, run));
    return all;
  }

  const Dataset& dataset_;
  const FitBestOptions& options_;
  const std::vector<Split>& folds_;
  const Race& race_;
  const Outcome& outcome_;
  std::filesystem::path folder_;
  std::vector<Split> splits_;
  EnsembleMembers members_;
};

std::vector<RankedCandidate> ranking(const Race& race, const Outcome& outcome, bool higher) {
  std::vector<RankedCandidate> all;
  for (size_t k = 0; k < race.candidates().size(); ++k) {
    if (race.folds_of(k) == 0) continue;
    const Candidate& candidate = race.candidates()[k];
    RankedCandidate row{candidate.name(), candidate.options, race.folds_of(k), race.mean_score(k), 0};
    const auto found = std::find(outcome.places().begin(), outcome.places().end(), k);
    if (found != outcome.places().end()) row.weight = outcome.weights()[found - outcome.places().begin()];
    all.push_back(std::move(row));
  }
  std::stable_sort(all.begin(), all.end(), [](const RankedCandidate& a, const RankedCandidate& b) {
    return std::pair(a.folds, a.score) > std::pair(b.folds, b.score);
  });
  if (!higher) {
    for (RankedCandidate& row : all) row.score = -row.score;
  }
  return all;
}

}  // namespace

nlohmann::ordered_json to_json(const FitBestResult& result) {
  Json document{{"trials", result.trials},           {"folds", result.folds},
                {"seconds", result.seconds},         {"validation", metrics_json(result.validation)},
                {"test", metrics_json(result.test)}, {"single_test", metrics_json(result.single_test)},
                {"warnings", result.warnings}};
  for (const FitVerdict& verdict : result.verdicts) {
    document["verdicts"].push_back({{"question", verdict.question},
                                    {"answer", verdict.answer},
                                    {"candidate", verdict.candidate},
                                    {"against", verdict.against},
                                    {"difference", verdict.difference},
                                    {"half_width", verdict.half_width},
                                    {"measure", verdict.measure}});
  }
  for (const RankedCandidate& row : result.candidates) {
    document["candidates"].push_back({{"name", row.name},
                                      {"options", row.options},
                                      {"folds", row.folds},
                                      {"score", row.score},
                                      {"weight", row.weight}});
  }
  return document;
}

FitBestResult fit_best(const Dataset& dataset, const FitBestOptions& options,
                       const std::filesystem::path& folder) {
  if (dataset.targets.task == Task::kNone || dataset.targets.labelled() == 0)
    fail(fmt::format("{}: no node has a label to learn from", dataset.name));
  find_metric(dataset.targets.task, options.metric);
  const FolderLock lock(folder);
  if (std::filesystem::exists(folder / "fit.json"))
    fail(fmt::format("{} is finished already; choose another --out, or look at it with qw eval {}",
                     folder.string(), folder.string()));
  if (std::filesystem::exists(folder / "config.json") && !std::filesystem::exists(folder / "search"))
    fail(fmt::format("{} is a training's folder, which qw fit would overwrite; choose another --out",
                     folder.string()));
  TrainRequest request;
  request.split = options.split;
  request.seed = options.seed;
  const Split given = split_of(request, dataset, 0);
  const auto seed = static_cast<uint32_t>(seed_of_run(request, 0));
  const std::vector<Split> folds = make_folds(dataset.targets, given, seed);
  Race race(dataset, folds, options, folder);
  race.run();
  FitBestResult result;
  result.warnings = leakage_warnings(dataset, given);
  if (race.trials_done() == 0) fail("no training came to an end in this time; give it more with --time");
  const Outcome outcome(dataset, folds, race, options.metric, common_folds(race, folds.size()));
  Assembly(dataset, options, folds, race, outcome, folder).write(result);
  result.candidates = ranking(race, outcome, higher_is_better(options.metric));
  for (int64_t level = outcome.folds(); level >= 1; --level) {
    const Outcome some(dataset, folds, race, options.metric, level);
    for (FitVerdict& verdict : some.verdicts()) {
      const auto same = [&](const FitVerdict& each) { return each.question == verdict.question; };
      if (std::none_of(result.verdicts.begin(), result.verdicts.end(), same))
        result.verdicts.push_back(std::move(verdict));
    }
  }
  result.folds = outcome.folds();
  result.trials = race.trials_done();
  result.seconds = race.seconds();
  write_file_atomically(folder / "fit.json", json_text(to_json(result), 1) + "\n");
  remove_models(race);
  return result;
}

}  // namespace qw
