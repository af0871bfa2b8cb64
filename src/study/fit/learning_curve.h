// What more labels would bring, as far as fewer labels tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qw/study/fit_best.h"
#include "study/fit/race.h"

namespace qw {

struct LearningCurve {
  std::vector<LearningPoint> points;  // fewest labels first; empty: there was no time for it
  std::optional<FitVerdict> verdict;  // all labels beside half of them
};

// Of the candidate that Race trained with fewer labels, on the folds on which it did so.
LearningCurve learning_curve(const Dataset& dataset, const Race& race, const std::string& metric);

}  // namespace qw
