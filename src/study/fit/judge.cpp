#include "study/fit/judge.h"

#include <algorithm>
#include <cmath>

namespace qw {
namespace {

std::vector<int32_t> likeliest(std::span<const double> predicted, int64_t width) {
  std::vector<int32_t> classes;
  for (auto row = predicted.begin(); row != predicted.end(); row += width)
    classes.push_back(static_cast<int32_t>(std::max_element(row, row + width) - row));
  return classes;
}

std::vector<char> above_half(std::span<const double> predicted) {
  std::vector<char> labels(predicted.size());
  std::transform(predicted.begin(), predicted.end(), labels.begin(), [](double p) { return p > 0.5; });
  return labels;
}

}  // namespace

Judge::Judge(const Targets& targets, std::vector<NodeId> nodes, const std::string& metric)
    : task_(targets.task),
      width_(targets.width),
      nodes_(std::move(nodes)),
      metric_(find_metric(targets.task, metric)) {
  for (const NodeId node : nodes_) {
    if (task_ == Task::kClassification) {
      classes_.push_back(targets.classes[node]);
    } else {
      const auto row = targets.values.begin() + node * width_;
      values_.insert(values_.end(), row, row + width_);
    }
  }
}

Judge Judge::every(size_t stride) const {
  Judge some = *this;
  some.nodes_.clear();
  some.classes_.clear();
  for (size_t i = 0; i < nodes_.size(); i += stride) {
    some.nodes_.push_back(nodes_[i]);
    if (!classes_.empty()) some.classes_.push_back(classes_[i]);
  }
  if (!values_.empty()) some.values_ = every(stride, values_);
  return some;
}

std::vector<double> Judge::every(size_t stride, std::span<const double> predicted) const {
  std::vector<double> some;
  for (size_t i = 0; i < nodes_.size(); i += stride) {
    const auto row = predicted.begin() + static_cast<std::ptrdiff_t>(i * width_);
    some.insert(some.end(), row, row + width_);
  }
  return some;
}

double Judge::measured(const std::string& name, std::span<const double> predicted) const {
  if (task_ == Task::kClassification)
    return class_metric(name, {width_, classes_, likeliest(predicted, width_), predicted, {}});
  if (task_ == Task::kMultiLabel)
    return label_metric(name, {width_, values_, above_half(predicted), predicted, {}});
  return value_metric(name, {width_, values_, predicted, {}});
}

double Judge::metric(std::span<const double> predicted) const { return measured(metric_.name, predicted); }

double Judge::score(std::span<const double> predicted) const {
  return metric_.higher_is_better ? metric(predicted) : -metric(predicted);
}

double Judge::loss(std::span<const double> predicted) const {
  return measured(task_ == Task::kRegression ? "mse" : "log_loss", predicted);
}

std::vector<double> Judge::errors(std::span<const double> predicted) const {
  std::vector<double> errors(nodes_.size(), 0.0);
  if (task_ == Task::kClassification) {
    const std::vector<int32_t> said = likeliest(predicted, width_);
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = said[i] != classes_[i];
    return errors;
  }
  // Of each column: how much one node can add to its mean error.
  std::vector<double> unit(width_, 1.0);
  if (task_ == Task::kRegression) {
    for (int64_t c = 0; c < width_; ++c) {
      double mean = 0, count = 0, spread = 0;
      for (size_t i = 0; i < errors.size(); ++i) {
        const double truth = values_[i * width_ + c];
        if (std::isnan(truth)) continue;
        ++count;
        const double off = truth - mean;
        mean += off / count;
        spread += off * (truth - mean);
      }
      unit[c] = spread > 0 ? count / spread : 0.0;
    }
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    double known = 0;
    for (int64_t c = 0; c < width_; ++c) {
      const double truth = values_[i * width_ + c], said = predicted[i * width_ + c];
      if (std::isnan(truth)) continue;
      ++known;
      errors[i] += task_ == Task::kRegression ? (said - truth) * (said - truth) * unit[c]
                                              : (said > 0.5) != (truth > 0.5);
    }
    if (known > 0) errors[i] /= known;
  }
  return errors;
}

const char* Judge::error_measure() const { return task_ == Task::kRegression ? "r2" : "accuracy"; }

}  // namespace qw
