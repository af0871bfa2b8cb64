#include "study/fit/learning_curve.h"

#include <fmt/format.h>

#include "study/fit/finalists.h"
#include "study/fit/verdicts.h"

namespace qw {
namespace {

// Folds on which the candidate was trained with every share of the labels.
std::vector<int64_t> complete_folds(const Race& race, size_t candidate) {
  std::vector<int64_t> folds;
  for (int64_t fold = 0; fold < race.folds(); ++fold) {
    bool complete = true;
    for (size_t level = 0; level <= kCurveShares.size(); ++level)
      complete = complete && race.find(candidate, race.thinned_fold(fold, level)) != nullptr;
    if (complete) folds.push_back(fold);
  }
  return folds;
}

}  // namespace

LearningCurve learning_curve(const Dataset& dataset, const Race& race, const std::string& metric) {
  const std::optional<size_t> candidate = race.curve_candidate();
  if (!candidate) return {};
  const std::vector<int64_t> folds = complete_folds(race, *candidate);
  if (folds.empty()) return {};
  const Judge judge(dataset.targets, validation_nodes(race, folds), metric);
  LearningCurve curve;
  std::vector<JudgedSide> sides;
  for (size_t level = 0; level <= kCurveShares.size(); ++level) {
    std::vector<int64_t> thinned;
    size_t labels = 0;
    for (const int64_t fold : folds) {
      thinned.push_back(race.thinned_fold(fold, level));
      labels += race.split_of_fold(thinned.back()).train.size();
    }
    const std::vector<double> predicted = validation_of(race, *candidate, thinned);
    const auto mean = static_cast<int64_t>(labels / folds.size());
    curve.points.insert(curve.points.begin(), {mean, judge.metric(predicted)});
    sides.push_back({judge.errors(predicted),
                     fmt::format("{} from {} labels", race.candidates()[*candidate].name(), mean)});
  }
  if (judge.nodes().size() > 1)
    curve.verdict =
        compare_sides("would more labels help?", sides[0], sides[1], judge, static_cast<int>(folds.size()));
  return curve;
}

}  // namespace qw
