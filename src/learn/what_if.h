// What a run says of one node, and what it would say with something left out.
#pragma once

#include <vector>

#include "learn/stored_run.h"

namespace qw {

// Scores of one node [width], in the units of the targets.
struct NodeScores {
  std::vector<double> network, transport, sum;
  std::vector<double> probabilities;  // calibrated; empty of values
};
NodeScores scores_of(const Scores& all, NodeId node, Task task, double temperature);

// Gradient of what the network says of the node in one column, times the features.
struct FeatureShares {
  std::vector<double> own, others;  // [features]: of the node, and of all other nodes together
  std::vector<double> size;         // [features]: sum over the nodes of what is not negative of it
  std::vector<double> of_node;      // [nodes of the region]: sum over the features
};

// A node that lies far from most others is seen with its surroundings alone: as many edges away as the
// network looks, and one more, since matrices are normalised by degrees. Solvers that spread labels, networks
// that belong to one graph and features made from the graph need the whole graph.
class WhatIf {
 public:
  // All must outlive it; `whole` and `said` are of the whole graph.
  WhatIf(const StoredRun& run, const Dataset& dataset, const PredictionInput& whole, const Scores& said,
         double temperature, NodeId node);

  const NodeScores& with_all() const { return with_all_; }
  NodeScores without_neighbour(NodeId neighbour) const;                    // a node of the data
  NodeScores without_features(const std::vector<int64_t>& columns) const;  // at any node
  NodeScores without_label(int64_t row) const;                             // of PredictionInput::labels

  FeatureShares shares(int64_t column) const;
  double share_of(const FeatureShares& shares,
                  NodeId of) const;  // FeatureShares::of_node of a node of the data

  double cost() const;  // of one prediction, about as many numbers as it looks at

 private:
  void take_region(const std::vector<NodeId>& nodes);
  PredictionInput without_edges(const std::vector<EdgeId>& dropped) const;
  NodeScores predict(const PredictionInput& input) const;
  NodeId place_of(NodeId node) const;  // in the region

  const StoredRun& run_;
  const Dataset& dataset_;
  NodeId node_;
  double temperature_;
  bool in_label_space_, is_whole_ = true;
  std::vector<NodeId> nodes_;  // of the data, ascending; empty: all
  std::vector<EdgeId> edges_;  // of the data's graph; of the region's, in its order
  PredictionInput input_;      // of the region
  NodeScores with_all_;
};

}  // namespace qw
