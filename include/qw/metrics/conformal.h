// Split conformal prediction: sets of classes, and intervals of values, that hold the truth with a coverage
// chosen in advance.
//
// Calibration nodes, which the model has not learned from, are scored by how strange their truth looks to the
// model. The threshold is an order statistic of these scores, and a prediction set holds whatever is no
// stranger than that.
//
// The guarantee: when calibration nodes and a new node are exchangeable, the set holds the new node's truth
// with probability at least `coverage`, and, where scores have no ties, at most coverage + 1 / (n + 1). It is
// a mean over nodes and over draws of the calibration nodes: not a promise for each class or each kind of
// node. Nodes whose choice depends on the graph (one region, one year) need not be exchangeable with others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// The ceil((n + 1) * coverage)-th smallest of n scores. Infinity, so that sets hold everything, when that
// rank is beyond n: n calibration nodes allow coverages up to n / (n + 1). Throws qw::UsageError unless
// 0 < coverage < 1, and qw::Error when a score is NaN.
double conformal_threshold(std::vector<double> scores, double coverage);

// At most `most` >= 1 of the scores, ascending, to be stored in place of all. conformal_threshold of them is
// never below that of all of them, so that the coverage is kept; it exceeds it by the score of about
// 2 / most more of the nodes, and is infinite for coverages above most / (most + 1).
std::vector<double> thinned(std::vector<double> scores, int64_t most);

// Classes. The score of a node is 1 - probability of its true class. A set may be empty: no class is as
// likely as the true classes of most calibration nodes were, and the model knows this node to be unlike them.
// An empty set counts as a miss, and misses are within the guarantee; whoever shows the likeliest class
// instead only adds to the coverage.
std::vector<double> class_scores(std::span<const double> probability, int64_t classes,
                                 std::span<const int32_t> truth);
// [n * classes]: 1 where the class is in the node's set.
std::vector<char> class_sets(std::span<const double> probability, int64_t classes, double threshold);

// Values, one column at a time. The score is |predicted - truth|, of nodes whose truth is known (not NaN);
// the interval is predicted - threshold .. predicted + threshold. The guarantee holds for each column, not
// for all of them at once.
std::vector<double> value_scores(std::span<const double> predicted, std::span<const double> truth,
                                 int64_t columns, int64_t column);

// 0/1 labels, one label and one truth at a time. A label that few nodes have would reach its coverage by a
// set of {0} everywhere, so that both truths have thresholds of their own, and the guarantee holds among the
// nodes that have the label and among those that do not. The score of a node is 1 - probability of its truth;
// scores are of the nodes whose truth is `value`, 0 or 1.
std::vector<double> label_scores(std::span<const double> probability, std::span<const double> truth,
                                 int64_t labels, int64_t label, int value);

// The set of one label of one node: {0}, {1}, both or none.
struct LabelSet {
  bool zero = false;  // 0 is in the set
  bool one = false;   // 1 is in the set
};
LabelSet label_set(double probability, double threshold_of_zero, double threshold_of_one);

}  // namespace qw
