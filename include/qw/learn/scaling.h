// Features and targets as networks like them, and back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/learn/learner.h"

namespace QW_PUBLIC qw {

// What a scaling goes by: sums over the columns of features, which may come in pieces, rows in order. First
// all pieces are given to add(), then all to add_squares().
struct ColumnSums {
  int64_t rows = 0;              // so far
  std::vector<double> sums;      // [columns]
  std::vector<double> squares;   // of the differences to the means
  std::vector<double> zeros;     // that a sparse matrix does not store
  std::vector<double> speaking;  // 1 where the column speaks for itself: 0 and 1, or counts of words

  void add(const Features& features);          // sums, zeros, and which columns speak
  void add_squares(const Features& features);  // by the means of all
};

// How features are scaled: "rows" divides each row by its sum, the published preprocessing of bags of words;
// "columns" brings each column to mean 0 and standard deviation 1, of sparse features to the deviation alone,
// since a shift would fill them; "none".
//
// "auto" is rows for the paper's graphs under their names and none for what is generated; for all others it
// is columns, but for columns of 0 and 1 and, in sparse features, of whole numbers from 0 on (bags of words),
// which stay as they are.
class FeatureScaling {
 public:
  FeatureScaling() : kind_("none") {}
  // Learns means and deviations from all nodes of the data; "auto" chooses.
  FeatureScaling(const std::string& kind, const Dataset& trained_on);
  // The same where others hold the features: those of `sums` if it is there, else no columns are scaled.
  FeatureScaling(const std::string& kind, const Dataset& about, bool sparse, const ColumnSums& sums);
  // Whether "kind" would look at the columns of this data.
  static bool needs_sums(const std::string& kind, const Dataset& about);
  // As kind(), mean() and factor() of another say.
  FeatureScaling(std::string kind, std::vector<double> mean, std::vector<double> factor);
  // Scales features of these or of other nodes.
  Features apply(const Features& features) const;
  const std::string& kind() const { return kind_; }  // rows, columns or none
  // x becomes (x - mean) * factor, column by column; both are empty unless columns are scaled.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& factor() const { return factor_; }
  // One line for a person: what was done, and by which rule.
  std::string summary() const;

 private:
  bool shifts() const;

  std::string kind_;
  bool chosen_ = false;  // by "auto"
  int64_t scaled_columns_ = 0;
  std::vector<double> mean_, factor_;  // of columns
};

// Values to be learned are shifted and divided to mean 0 and standard deviation 1, column by column, by what
// the training nodes alone say; other targets stay as they are.
class TargetScaling {
 public:
  TargetScaling() = default;  // leaves everything as it is
  // Learns means and deviations from the training nodes.
  TargetScaling(const Targets& targets, std::span<const NodeId> training);
  // As mean() and deviation() of another say.
  TargetScaling(std::vector<double> mean, std::vector<double> deviation);

  // To what the network learns, and from its scores back to the units of the targets.
  Targets apply(const Targets& targets) const;
  Scores undo(const Scores& scores) const;
  at::Tensor in_units(const at::Tensor& differences) const;  // [.., width], not shifted

  // x becomes (x - mean) / deviation, column by column; both are empty where nothing is scaled.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& deviation() const { return deviation_; }

 private:
  std::vector<double> mean_, deviation_;
};

}  // namespace qw
