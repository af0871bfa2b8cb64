// What a training predicts, node by node, for people and for other programs.
//
// A row has: id; prediction; confidence (the calibrated probability of what is predicted; not for values);
// set or low and high (of a value); the probabilities; label, where it is known; part (train, val, test, new,
// or nothing); what the network says and what transport adds, for each class, label or value. Several names
// have a | between them; a ? stands behind a label of a set that may be missing, and behind one that is not
// known. Several values have a column each. An ensemble also has spread: the standard deviation between its
// runs of the probability (or value) of what is predicted.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/learn/certainty.h"
#include "qw/learn/learner.h"

namespace QW_PUBLIC qw {

// What a node was in a training; kNew: it was not in the data.
enum class NodePart : char { kNone, kTrain, kVal, kTest, kNew };
const char* part_name(NodePart part);  // "", "train", "val", "test", "new"
// [nodes]: the part of each in the split, kNone for those in no part.
std::vector<NodePart> parts_of(const Split& split, int64_t nodes);

// The rows of predictions.csv.
class Predictions {
 public:
  // Of scores in the units of the targets. `targets` names the classes and knows the labels, or none of them.
  // Without sets there is no column for them. Everything must outlive this.
  Predictions(const Dataset& dataset, const Targets& targets, const Scores& scores,
              const Calibration& calibration, const std::optional<PredictionSets>& sets,
              const std::vector<NodePart>& parts);

  // Of several runs: the mean of their probabilities (or values) and the spread between them.
  void use_ensemble(std::vector<double> mean, std::vector<double> spread);

  // With a header.
  std::string csv() const;
  nlohmann::ordered_json json() const;  // a list of rows

 private:
  template <class Visit>
  void visit_row(NodeId node, const Visit& visit) const;
  template <class Visit>
  void visit_predicted(NodeId node, const double* row, const Visit& visit) const;
  std::string name_of(int64_t column) const;
  std::string predicted_name(const double* row) const;
  std::string set_text(const double* row) const;
  template <class Visit>
  void visit_label(NodeId node, const Visit& visit) const;
  std::string label_text(NodeId node) const;  // of classes and labels, where known

  const Dataset& dataset_;
  const Targets& targets_;
  const std::optional<PredictionSets>& sets_;
  const std::vector<NodePart>& parts_;
  std::vector<double> predicted_;           // [N * width] probabilities or values
  std::vector<double> spread_;              // [N * width], or empty
  std::vector<float> network_, transport_;  // [N * width]
};

}  // namespace qw
