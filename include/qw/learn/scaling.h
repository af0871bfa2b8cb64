// Features and targets as networks like them, and back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qw/graph/dataset.h"
#include "qw/learn/learner.h"

namespace qw {

// How features are scaled: "rows" divides each row by its sum, the published preprocessing of bags of words;
// "columns" shifts and divides each column to mean 0 and standard deviation 1; "none". "auto" is rows for the
// known classification graphs, columns for a person's own table, none for what is generated or sparse.
class FeatureScaling {
 public:
  FeatureScaling(const std::string& kind, const Dataset& trained_on);
  Features apply(const Features& features) const;

 private:
  std::string kind_;
  std::vector<double> mean_, factor_;  // of columns
};

// Values to be learned are shifted and divided to mean 0 and standard deviation 1, column by column, by what
// the training nodes alone say; other targets stay as they are.
class TargetScaling {
 public:
  TargetScaling() = default;  // leaves everything as it is
  TargetScaling(const Targets& targets, std::span<const NodeId> training);
  TargetScaling(std::vector<double> mean, std::vector<double> deviation);

  Targets apply(const Targets& targets) const;
  Scores undo(const Scores& scores) const;

  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& deviation() const { return deviation_; }

 private:
  std::vector<double> mean_, deviation_;
};

}  // namespace qw
