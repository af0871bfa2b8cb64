// Who trains, who validates, who tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/graph/targets.h"

namespace QW_PUBLIC qw {

// Disjoint, ascending.
struct Split {
  std::vector<NodeId> train;  // to learn from
  std::vector<NodeId> val;    // to choose epochs and options by
  std::vector<NodeId> test;   // to measure with, and nothing else
};

// The ten seeds of the published experiments.
inline constexpr std::array<uint32_t, 10> kPublishedSeeds = {1941488137, 4198936517, 983997847,  4023022221,
                                                             4019585660, 2108550661, 1648766618, 629014539,
                                                             3212139042, 2424918363};

// The published protocol, bit for bit (numpy's legacy RandomState): from each class in order
// round(train_rate * N / C) nodes, or the whole class if it is smaller, then round(val_rate * N) of the rest
// for validation, and all others for test. Rounding is to even at halves. N counts all nodes; nodes without a
// label go nowhere.
Split published_split(const Targets& targets, uint32_t seed, double train_rate = 0.6, double val_rate = 0.2);

// `per_class` nodes of each class, then `val` and `test` of the rest, in the order of one random permutation.
Split per_class_split(const Targets& targets, uint32_t seed, int64_t per_class = 20, int64_t val = 500,
                      int64_t test = 1000);

// Shares of the labelled nodes, whatever the task; test is what remains.
Split random_split(const Targets& targets, uint32_t seed, double train_rate, double val_rate);

// Shares of every stratum: of each class; of values, each of up to ten groups of neighbouring values; of
// several 0/1 labels, the nodes with the same rarest label. A stratum of three nodes or more has one at least
// in every part whose share is not 0; of two, one trains and one tests.
Split stratified_split(const Targets& targets, uint32_t seed, double train_rate = 0.6, double val_rate = 0.2);

// The labelled nodes dealt into `folds` parts of equal size, stratum by stratum: fold `fold` is for test, the
// next one for validation, the others train. The same seed deals the same folds. Throws qw::UsageError unless
// folds >= 3 and 0 <= fold < folds.
Split kfold_split(const Targets& targets, uint32_t seed, int64_t folds, int64_t fold);

// Throws qw::Error when a node stands in two parts, outside the graph, or has no label.
void check_split(const Split& split, const Targets& targets);

}  // namespace qw
