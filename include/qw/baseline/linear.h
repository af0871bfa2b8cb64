// What is reached without the graph: linear models on node features, and models that see nothing at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/features.h"
#include "qw/graph/split.h"
#include "qw/graph/targets.h"

namespace QW_PUBLIC qw {

// Multinomial logistic regression for classes (binary where two occur in training), one logistic regression
// per label, ridge regression for values. Minimises, over the training nodes whose target is known,
//   sum of losses + strength / 2 * |weights of standardised features|^2,
// a loss being -log likelihood, or half a squared error: strength is scikit-learn's 1 / C and alpha. The
// intercept is not penalised. Standardised features have deviation 1 on the training nodes; a feature that is
// constant there has weight 0.
struct LinearModel {
  Task task = Task::kNone;        // what was learned: classes, labels or values
  int64_t columns = 0;            // features
  int64_t width = 0;              // classes, labels or values
  std::vector<double> weights;    // [columns * width], of the features as they are given
  std::vector<double> intercept;  // [width]; infinite for certainty: see predict()
  double strength = 1;            // of the penalty
  double validation_loss = 0;  // log loss, or mean squared error, that chose it; NaN without validation nodes

  // [rows * width]: probabilities, or values. A class that no training node has gets probability 0; a label
  // that all training nodes have, or none, gets 1 or 0; a label or value known of no training node is NaN.
  // Throws qw::Error when the number of columns is another.
  std::vector<double> predict(const Features& features) const;
};

// The strength is the one of 10^5, 10^4, .. 10^-3 with the least loss on the validation nodes (the weaker
// ones are not tried once two in a row were worse than the best), or 1 where validation nodes allow no
// choice: there are none whose target is known, or the loss on them is not finite. Nothing when it takes more
// than `seconds`: what is returned depends on no clock. The same bits for any number of threads. Throws
// qw::Error when no training node has a target, when features and targets have different numbers of nodes,
// and when a training node has a feature that is not finite.
std::optional<LinearModel> fit_linear(const Features& features, const Targets& targets, const Split& split,
                                      double seconds);

// The same with a strength that is given, > 0.
std::optional<LinearModel> fit_linear(const Features& features, const Targets& targets,
                                      std::span<const NodeId> train, double strength, double seconds);

// One prediction for all nodes: shares of the classes (the largest is the majority class), share of the nodes
// that have each label, mean of each value, over the training nodes whose target is known. NaN for a label or
// value known of none.
struct TrivialModel {
  Task task = Task::kNone;  // what was counted: classes, labels or values
  std::vector<double> row;  // [width]

  std::vector<double> predict(int64_t rows) const;  // [rows * width]
};

// Throws qw::Error when no training node has a target.
TrivialModel fit_trivial(const Targets& targets, std::span<const NodeId> train);

}  // namespace qw
