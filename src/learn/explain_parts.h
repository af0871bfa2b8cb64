// The lists of an explanation, each for one class, label or value of one node.
#pragma once

#include <vector>

#include "learn/what_if.h"
#include "qw/learn/explain.h"

namespace qw {

// Names and what training knew of nodes.
class NodeNames {
 public:
  // All must outlive it.
  NodeNames(const Dataset& dataset, const TrainedOn& trained_on, const Split& split);

  NamedNode of(NodeId node) const;
  bool trains(NodeId node) const { return part_of(node) == NodePart::kTrain; }
  // The class, the labels or the values that scores stand for.
  NodeAnswer predicted(const NodeScores& scores) const;
  std::string column(int64_t column) const;
  const Dataset& dataset() const { return dataset_; }

 private:
  NodePart part_of(NodeId node) const {
    return trained_as_[node] < 0 ? NodePart::kNew : parts_[trained_as_[node]];
  }

  const Dataset& dataset_;
  const TrainedOn& trained_on_;
  std::vector<NodeId> trained_as_;  // the node in the training's data, -1: new
  std::vector<NodePart> parts_;     // of the training's nodes
};

// Columns of the table of nodes and the features they became; without a table each feature by itself.
struct FeatureGroup {
  std::string name;
  std::vector<int64_t> columns;
};
std::vector<FeatureGroup> feature_groups(const DataSchema& schema);

// One node with all that its lists need.
struct NodeQuestion {
  const NodeNames& names;
  const StoredRun& run;
  const PredictionInput& whole;
  const at::Tensor& flow;  // [E, C] in the units of the targets, or [0]
  const WhatIf& what_if;
  const std::vector<FeatureGroup>& groups;
  NodeId node;
  std::vector<NodeId> neighbours;  // different ones, ascending
  ExplainOptions options;
  int64_t most_left_out;  // by the work that each costs
};

void explain_paths(const NodeQuestion& question, ColumnExplanation& column);
// The gradient orders the candidates; the node's columns share what is computed without each of them.
class LeftOut {
 public:
  explicit LeftOut(const NodeQuestion& question) : question_(question) {}
  void explain(ColumnExplanation& column);

 private:
  void neighbours(const FeatureShares& shares, ColumnExplanation& column);
  void features(const FeatureShares& shares, ColumnExplanation& column);
  void labels(ColumnExplanation& column);
  ScoreChange change(const NodeScores& without, int64_t column) const;
  size_t listed(size_t count) const;

  const NodeQuestion& question_;
  std::map<NodeId, NodeScores> without_neighbour_;
  std::map<size_t, NodeScores> without_group_;
  std::map<int64_t, NodeScores> without_label_;
};

// Some nodes around the one that is explained, those first that change most.
Neighbourhood neighbourhood_of(const NodeQuestion& question, const Scores& said, double temperature,
                               const ColumnExplanation& column);

}  // namespace qw
