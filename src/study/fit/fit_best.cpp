#include "qw/study/fit_best.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "learn/run_files.h"
#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/core/random.h"
#include "qw/learn/ensemble.h"
#include "study/fit/finalists.h"
#include "study/fit/fit_scaling.h"
#include "study/fit/folds.h"
#include "study/fit/leakage.h"
#include "study/fit/learning_curve.h"
#include "study/fit/selection.h"
#include "study/fit/shared_trials.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kManyJudged = 20'000;  // nodes: of more, every second or third one decides who speaks

// Who of the finalists speaks.
struct Choice {
  std::vector<double> weights;  // [places]
  size_t single = 0;            // the best alone
};

Choice choose(const Finalists& finalists) {
  const size_t stride = 1 + finalists.judge().nodes().size() / kManyJudged;
  if (stride == 1)
    return {select_ensemble(finalists.judge(), finalists.predicted()),
            best_alone(finalists.judge(), finalists.predicted())};
  const Judge judge = finalists.judge().every(stride);
  std::vector<std::vector<double>> some;
  for (const std::vector<double>& each : finalists.predicted())
    some.push_back(finalists.judge().every(stride, each));
  return {select_ensemble(judge, some), best_alone(judge, some)};
}

// [n * width] of all together, for the judge's nodes.
std::vector<double> together(const Finalists& finalists, const Choice& choice) {
  std::vector<double> sum(finalists.predicted().front().size(), 0.0);
  for (size_t k = 0; k < finalists.places().size(); ++k) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += choice.weights[k] * finalists.predicted()[k][i];
  }
  return sum;
}

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

// Run `to` of `folder` is what the trial was: its files, under its new number.
void adopt(const Race& race, const RacedTrial& trial, const std::filesystem::path& folder, int64_t to) {
  const std::vector<std::string> names{"model.safetensors", "model.json",    "flow.safetensors",
                                       "calibration.json",  "metrics.jsonl", "validation.safetensors"};
  std::vector<std::string> needed = names;
  needed.emplace_back("summary.json");
  const std::filesystem::path from = race.folder_with(trial, needed);
  const std::filesystem::path here = run_folder(folder, to);
  std::filesystem::create_directories(here);
  Json summary = read_json(from / "summary.json");
  summary["run"] = to;
  const std::string text = json_text(summary, 2) + "\n";
  const Json request = to_json(race.request_of(race.candidates()[trial.candidate]));
  const std::string config = json_text(request, 2) + "\n";
  Manifest manifest(here);
  for (const std::string& name : names) {
    if (!std::filesystem::exists(from / name)) continue;
    std::filesystem::copy_file(from / name, here / name, std::filesystem::copy_options::overwrite_existing);
    manifest.add(name);
  }
  manifest.add("config.json", config);
  manifest.add("summary.json", text);
  manifest.write();
  write_file_atomically(here / "config.json", config);
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

// As of a training with one run, on the split that was given: what qw compare reads.
void write_summary_of(const Dataset& dataset, const FitBestOptions& options, const Split& given,
                      const FitBestResult& result, const std::filesystem::path& folder) {
  TrainRequest request = read_request(folder);
  RunResult together;
  together.seed = seed_of_run(request, 0);
  together.val = result.validation;
  together.test = result.test;
  together.certainty = result.certainty;
  together.split = split_sizes(dataset.targets, given);
  request.runs = 1;
  request.learn.metric = options.metric;
  Json summary = summary_json(request, dataset, {together});
  summary["config"]["request"]["model"] = "qw fit";
  summary["config"]["learn"]["solver"] = "ensemble";
  summary["warnings"] = result.warnings;
  write_summary(folder, summary, fingerprint(remember(dataset, {given}, options.split)));
}

class Assembly {
 public:
  Assembly(const Dataset& dataset, const FitBestOptions& options, const Race& race,
           const Finalists& finalists, const Choice& choice, const std::filesystem::path& folder)
      : dataset_(dataset),
        options_(options),
        race_(race),
        finalists_(finalists),
        choice_(choice),
        folder_(folder) {}

  void write(FitBestResult& result) {
    take_over();
    const std::vector<NodeId>& judged = finalists_.judge().nodes();
    const Scores validation = scores_of(dataset_, judged, together(finalists_, choice_));
    members_.calibration = calibrate_sets(dataset_.targets, judged, validation);
    members_.single_calibration = calibrate_sets(
        dataset_.targets, judged, scores_of(dataset_, judged, finalists_.predicted()[choice_.single]));
    result.validation = measure(dataset_.targets, judged, validation, {options_.metric});
    TrainRequest request = read_request(run_folder(folder_, members_.single.front()));
    request.runs = static_cast<int64_t>(splits_.size());
    request.command = options_.command;
    const TrainingMemory memory{remember(dataset_, splits_, options_.split),
                                scaling_for_fit(dataset_, options_.scale_features)};
    write_memory(folder_, memory, request);
    write_members(folder_, members_);
    Ensemble ensemble(folders(members_.runs), request, memory, dataset_, members_.weights);
    ensemble.use_calibration(members_.calibration);
    const std::vector<NodeId>& test = splits_.front().test;
    if (!test.empty()) {
      result.test = measure(dataset_.targets, test, ensemble.predicted(), {options_.metric});
      const Ensemble single(folders(members_.single), request, memory, dataset_);
      result.single_test = measure(dataset_.targets, test, single.predicted(), {options_.metric});
    }
    const std::optional<PredictionSets> sets(std::in_place, dataset_.targets.task, dataset_.targets.width,
                                             ensemble.calibration(), options_.coverage);
    result.coverage_asked = options_.coverage;
    result.certainty =
        measure_coverage(dataset_.targets, test, ensemble.predicted(), ensemble.calibration(), *sets);
    Predictions predictions(dataset_, dataset_.targets, ensemble.scores(), ensemble.calibration(), sets,
                            ensemble.parts());
    if (members_.runs.size() > 1) predictions.use_ensemble(ensemble.mean(), ensemble.spread());
    write_file_atomically(folder_ / "predictions.csv", predictions.csv());
  }

 private:
  // The runs of a candidate, made if need be.
  std::vector<int64_t> runs_of(size_t k) {
    std::vector<int64_t> runs;
    for (int64_t fold = 0; fold < finalists_.folds(); ++fold) {
      const auto run = static_cast<int64_t>(splits_.size());
      adopt(race_, *race_.find(finalists_.places()[k], fold), folder_, run);
      splits_.push_back(race_.split_of_fold(fold));
      runs.push_back(run);
    }
    return runs;
  }

  // The loudest first, so that run 0 is one of them.
  void take_over() {
    std::vector<size_t> order(finalists_.places().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return choice_.weights[a] > choice_.weights[b]; });
    for (const size_t k : order) {
      const bool speaks = choice_.weights[k] > 0;
      if (!speaks && k != choice_.single) continue;
      const std::vector<int64_t> runs = runs_of(k);
      if (k == choice_.single) members_.single = runs;
      if (!speaks) continue;
      members_.runs.insert(members_.runs.end(), runs.begin(), runs.end());
      members_.weights.insert(members_.weights.end(), runs.size(),
                              choice_.weights[k] / static_cast<double>(runs.size()));
    }
  }

  std::vector<std::filesystem::path> folders(const std::vector<int64_t>& runs) const {
    std::vector<std::filesystem::path> all;
    all.reserve(runs.size());
    for (const int64_t run : runs) all.push_back(run_folder(folder_, run));
    return all;
  }

  const Dataset& dataset_;
  const FitBestOptions& options_;
  const Race& race_;
  const Finalists& finalists_;
  const Choice& choice_;
  std::filesystem::path folder_;
  std::vector<Split> splits_;
  EnsembleMembers members_;
};

std::vector<RankedCandidate> ranking(const Race& race, const Finalists& finalists, const Choice& choice,
                                     bool higher) {
  std::vector<RankedCandidate> all;
  for (size_t k = 0; k < race.candidates().size(); ++k) {
    if (race.folds_of(k) == 0) continue;
    const Candidate& candidate = race.candidates()[k];
    RankedCandidate row{candidate.name(), candidate.options, race.folds_of(k), race.mean_score(k), 0};
    const auto found = std::find(finalists.places().begin(), finalists.places().end(), k);
    if (found != finalists.places().end()) row.weight = choice.weights[found - finalists.places().begin()];
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

// A question that has no answer on all folds of the finalists may have one on fewer.
void add_verdicts(const Dataset& dataset, const Race& race, const Finalists& finalists,
                  const std::string& metric, FitBestResult& result) {
  const auto add = [&](std::vector<FitVerdict> verdicts) {
    for (FitVerdict& verdict : verdicts) {
      const auto same = [&](const FitVerdict& each) { return each.question == verdict.question; };
      if (std::none_of(result.verdicts.begin(), result.verdicts.end(), same))
        result.verdicts.push_back(std::move(verdict));
    }
  };
  add(finalists.verdicts());
  for (int64_t folds = finalists.folds() - 1; folds >= 1; --folds)
    add(Finalists(dataset, race, metric, folds).verdicts());
  LearningCurve curve = learning_curve(dataset, race, metric);
  result.learning_curve = std::move(curve.points);
  if (curve.verdict) result.verdicts.push_back(std::move(*curve.verdict));
}

void require_result(const Race& race) {
  for (size_t k = 0; k < race.candidates().size(); ++k) {
    if (race.folds_of(k) > 0) return;
  }
  const std::string error = race.first_error();
  fail(error.empty() ? "no training came to an end in this time; give it more with --time"
                     : "no training went well: " + error);
}

// What came out of the same call before.
FitBestResult finished_result(const FitBestOptions& options, const std::filesystem::path& folder) {
  FitBestResult result = fit_result_from_json(read_json(folder / "fit.json"));
  const bool same = result.trials_asked == options.trials &&
                    (options.trials > 0 || result.seconds_asked == options.seconds);
  if (!same || !std::filesystem::exists(folder / "search" / "trials.json")) {
    fail(fmt::format("{} is finished already; choose another --out, or look at it with qw eval {}",
                     folder.string(), folder.string()));
  }
  if (result.coverage_asked != options.coverage) {
    fail_usage(
        fmt::format("{} is finished, with sets for a coverage of {:g}; qw predict {} --coverage {:g} gives "
                    "others",
                    folder.string(), result.coverage_asked, folder.string(), options.coverage));
  }
  return result;
}

}  // namespace

FitBestResult fit_best(const Dataset& dataset, const FitBestOptions& asked,
                       const std::filesystem::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  FitBestOptions options = asked;
  if (dataset.targets.task == Task::kNone || dataset.targets.labelled() == 0)
    fail(fmt::format("{}: no node has a label to learn from", dataset.name));
  find_metric(dataset.targets.task, options.metric);
  const FolderLock lock(folder);
  if (std::filesystem::exists(folder / "config.json") && !std::filesystem::exists(folder / "search"))
    fail(fmt::format("{} is a training's folder, which qw fit would overwrite; choose another --out",
                     folder.string()));
  TrainRequest request;
  request.split = options.split;
  request.seed = options.seed;
  const Split given = split_of(request, dataset, 0);
  const auto seed = static_cast<uint32_t>(seed_of_run(request, 0));
  const std::vector<Split> folds = make_folds(dataset.targets, given, seed);
  std::optional<FitBestResult> done;
  if (std::filesystem::exists(folder / "fit.json")) done = finished_result(options, folder);
  const std::unique_ptr<SharedTrials> shared =
      done || options.store.empty() ? nullptr : open_shared_trials(dataset, options);
  options.spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Race race(dataset, folds, options, folder, shared.get());
  if (done) {
    remove_models(race);
    return *std::move(done);
  }
  std::vector<std::string> warnings = leakage_warnings(dataset, given);  // in the time, as all else
  race.run();
  FitBestResult result;
  result.seconds_asked = options.trials > 0 ? 0 : options.seconds;
  result.trials_asked = options.trials;
  result.warnings = std::move(warnings);
  require_result(race);
  const Finalists finalists(dataset, race, options.metric, common_folds(race));
  const Choice choice = choose(finalists);
  Assembly(dataset, options, race, finalists, choice, folder).write(result);
  result.candidates = ranking(race, finalists, choice, higher_is_better(options.metric));
  add_verdicts(dataset, race, finalists, options.metric, result);
  result.folds = finalists.folds();
  result.trials = race.trials_done();
  result.seconds = race.seconds();
  write_summary_of(dataset, options, given, result, folder);
  write_file_atomically(folder / "fit.json", json_text(to_json(result), 1) + "\n");
  remove_models(race);
  return result;
}

}  // namespace qw
