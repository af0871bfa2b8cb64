#include "qw/graph/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "qw/core/error.h"

namespace qw {

std::string task_name(Task task) {
  switch (task) {
    case Task::kNone:
      return "none";
    case Task::kClassification:
      return "classification";
    case Task::kMultiLabel:
      return "multi-label";
    case Task::kRegression:
      return "regression";
  }
  return "none";
}

bool Targets::known(int64_t node) const {
  if (task == Task::kNone) return false;
  if (task == Task::kClassification) return classes[node] >= 0;
  const double* row = values.data() + node * width;
  return std::any_of(row, row + width, [](double value) { return !std::isnan(value); });
}

int64_t Targets::size() const {
  if (task == Task::kClassification) return static_cast<int64_t>(classes.size());
  return width == 0 ? 0 : static_cast<int64_t>(values.size()) / width;
}

int64_t Targets::labelled() const {
  int64_t count = 0;
  for (int64_t node = 0; node < size(); ++node) count += known(node);
  return count;
}

Targets class_targets(std::vector<int32_t> classes, std::vector<std::string> names) {
  Targets targets;
  targets.task = Task::kClassification;
  int32_t largest = -1;
  for (size_t node = 0; node < classes.size(); ++node) {
    if (classes[node] < -1)
      fail(fmt::format("node {} has class {}; classes count from 0", node, classes[node]));
    largest = std::max(largest, classes[node]);
  }
  if (largest >= static_cast<int64_t>(classes.size())) {
    fail(fmt::format("the largest class is {}, but there are only {} nodes", largest, classes.size()));
  }
  targets.width = std::max<int64_t>(largest + int64_t{1}, static_cast<int64_t>(names.size()));
  targets.classes = std::move(classes);
  if (static_cast<int64_t>(names.size()) == targets.width) targets.names = std::move(names);
  return targets;
}

Targets label_targets(const std::vector<int64_t>& labels, const std::vector<std::string>& names) {
  for (size_t node = 0; node < labels.size(); ++node) {
    if (labels[node] < -1)
      fail(fmt::format("node {} has class {}; classes count from 0", node, labels[node]));
  }
  std::vector<int64_t> occurring;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(occurring), [](int64_t k) { return k >= 0; });
  const size_t labelled = occurring.size();
  std::sort(occurring.begin(), occurring.end());
  occurring.erase(std::unique(occurring.begin(), occurring.end()), occurring.end());
  const int64_t largest = occurring.empty() ? -1 : occurring.back();
  if (!names.empty() && largest >= static_cast<int64_t>(names.size()))
    fail(fmt::format("{} names of classes for {} classes", names.size(), largest + 1));
  if (largest > static_cast<int64_t>(labels.size()) && 2 * occurring.size() > labelled) {
    fail(
        fmt::format("the labels are {} different numbers up to {} on {} nodes, too many to be classes; "
                    "as values they can be learned from a CSV (--task regression)",
                    occurring.size(), largest, labels.size()));
  }
  std::vector<int32_t> classes(labels.size(), -1);
  for (size_t node = 0; node < labels.size(); ++node) {
    if (labels[node] < 0) continue;
    const auto place = std::lower_bound(occurring.begin(), occurring.end(), labels[node]);
    classes[node] = static_cast<int32_t>(place - occurring.begin());
  }
  std::vector<std::string> class_names;
  const bool count_from_0 = largest + 1 == static_cast<int64_t>(occurring.size());
  if (!names.empty() || !count_from_0) {
    for (const int64_t label : occurring)
      class_names.push_back(names.empty() ? std::to_string(label) : names[label]);
  }
  return class_targets(std::move(classes), std::move(class_names));
}

Targets value_targets(std::vector<double> values, std::vector<std::string> names) {
  Targets targets;
  targets.task = Task::kRegression;
  targets.width = std::max<int64_t>(1, static_cast<int64_t>(names.size()));
  QW_ASSERT(static_cast<int64_t>(values.size()) % targets.width == 0);
  targets.values = std::move(values);
  targets.names = std::move(names);
  return targets;
}

Targets one_hot(const Targets& classes) {
  if (classes.task != Task::kClassification)
    fail(fmt::format("one-hot values are made of classes; the task is {}", task_name(classes.task)));
  Targets targets{Task::kRegression, classes.width, classes.classes, {}, classes.names};
  targets.values.assign(classes.classes.size() * classes.width, 0.0);
  auto row = targets.values.begin();
  for (const int32_t label : classes.classes) {
    if (label < 0)
      std::fill_n(row, classes.width, std::nan(""));
    else
      row[label] = 1.0;
    row += classes.width;
  }
  return targets;
}

}  // namespace qw
