// What is to be learned: one class per node, or several 0/1 labels, or real values; any of them may be
// missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// What is learned: nothing, one class per node, several 0/1 labels, or values.
enum class Task { kNone, kClassification, kMultiLabel, kRegression };

std::string task_name(Task task);  // "none", "classification", "multi-label", "regression"

// Labels of the nodes, in one of three forms.
struct Targets {
  Task task = Task::kNone;  // says which of `classes` and `values` is filled
  int64_t width = 0;        // classes, labels or values per node

  // Classification, and values that one_hot() made of it: [N], -1 where the label is missing.
  std::vector<int32_t> classes;
  std::vector<double> values;  // multi-label (0 or 1) and regression: [N * width], NaN where missing

  std::vector<std::string> names;  // empty, or one per class, label or value

  int64_t size() const;            // nodes
  bool known(int64_t node) const;  // at least one of its targets is
  int64_t labelled() const;        // how many nodes are known
};

// width = largest class + 1, or the number of names if larger; throws qw::Error on a class below -1 or when
// there are more classes than nodes.
Targets class_targets(std::vector<int32_t> classes, std::vector<std::string> names = {});
// Classes are the labels that occur, in ascending order: 1, 2, 6 are three classes, named so. A label k is
// called names[k] where names are given. -1 is a missing label. Throws qw::Error on a label below -1, on a
// label without a name where there are names, and on labels that look like values: above the number of nodes,
// and most of them different.
Targets label_targets(const std::vector<int64_t>& labels, const std::vector<std::string>& names = {});
// Values [N * width], row by row: one per node without names, else one for each name.
Targets value_targets(std::vector<double> values, std::vector<std::string> names = {});
// Classes as values to be fitted: 1 for a node's class, 0 for the others, NaN where it is missing; splits may
// still draw from each class. Throws qw::Error when there are no classes.
Targets one_hot(const Targets& classes);

}  // namespace qw
