// Predictions of validation nodes against the truth, as plain arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qw/graph/graph.h"
#include "qw/graph/targets.h"
#include "qw/learn/metrics.h"

namespace qw {

// Predictions are [n * width]: probabilities, or values, in the order of the nodes.
class Judge {
 public:
  Judge(const Targets& targets, std::vector<NodeId> nodes, const std::string& metric);

  const std::vector<NodeId>& nodes() const { return nodes_; }
  // Every stride-th node, from the first on, and predictions of these.
  Judge every(size_t stride) const;
  std::vector<double> every(size_t stride, std::span<const double> predicted) const;
  // The metric that counts; more is better in what this returns, whatever the metric.
  double score(std::span<const double> predicted) const;
  // The metric itself.
  double metric(std::span<const double> predicted) const;
  // What decides between equal scores: log loss, or the mean squared error; less is better.
  double loss(std::span<const double> predicted) const;

  // What each node is wrong by; the mean over nodes is 1 - accuracy (of classes), the share of wrong labels,
  // or 1 - r2 (of values).
  std::vector<double> errors(std::span<const double> predicted) const;
  const char* error_measure() const;  // what falls as errors rise: accuracy or r2

 private:
  double measured(const std::string& name, std::span<const double> predicted) const;

  Task task_;
  int64_t width_;
  std::vector<NodeId> nodes_;
  std::vector<int32_t> classes_;
  std::vector<double> values_;
  const MetricInfo& metric_;
};

}  // namespace qw
