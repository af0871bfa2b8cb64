// What every result stands beside: the prediction that looks at nothing, and the linear model that looks at
// the features but not at the graph (qw/baseline/linear.h).
#pragma once

#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/learn/metrics.h"

namespace QW_PUBLIC qw {

// What one baseline reaches.
struct Baseline {
  Metrics val, test;  // empty: it was not made
};

// Both baselines of one split.
struct Baselines {
  Baseline trivial;  // majority class, share of each label, mean
  Baseline linear;   // logistic or ridge regression
};

// On one split. The linear model is left out where it takes more than `seconds`; `metric` counts first.
Baselines make_baselines(const Dataset& dataset, const Split& split, const std::string& metric,
                         double seconds);

// Its name in output: "majority", "shares" or "mean".
std::string trivial_name(Task task);

}  // namespace qw
