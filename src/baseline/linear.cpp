#include "qw/baseline/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "baseline/newton.h"
#include "core/deadline.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/metrics/calibration.h"
#include "qw/metrics/metrics.h"

namespace qw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kStrengths[] = {1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3};

std::vector<NodeId> known_nodes(const Targets& targets, std::span<const NodeId> nodes) {
  std::vector<NodeId> known;
  for (const NodeId node : nodes) {
    QW_ASSERT(node >= 0 && node < targets.size());
    if (targets.known(node)) known.push_back(node);
  }
  return known;
}

std::vector<NodeId> training_nodes(const Targets& targets, std::span<const NodeId> train) {
  std::vector<NodeId> known = known_nodes(targets, train);
  if (known.empty()) fail("baseline: no training node has a target; nothing can be learned");
  return known;
}

// [nodes * width]: classes as 0 and 1.
std::vector<double> target_rows(const Targets& targets, const std::vector<NodeId>& nodes) {
  std::vector<double> rows;
  rows.reserve(nodes.size() * targets.width);
  for (const NodeId node : nodes) {
    for (int64_t c = 0; c < targets.width; ++c) {
      const bool is_class = targets.task == Task::kClassification;
      rows.push_back(is_class ? static_cast<double>(targets.classes[node] == c)
                              : targets.values[node * targets.width + c]);
    }
  }
  return rows;
}

// Of one target over the training nodes.
struct TargetColumn {
  double mean = kNothing, deviation = 0;
  bool varies = false;
};

TargetColumn measure(const std::vector<double>& rows, int64_t width, int64_t column) {
  double sum = 0, squares = 0, count = 0, least = kInfinity, most = -kInfinity;
  for (size_t at = column; at < rows.size(); at += width) {
    if (std::isnan(rows[at])) continue;
    sum += rows[at];
    count += 1;
    least = std::min(least, rows[at]);
    most = std::max(most, rows[at]);
  }
  if (count == 0) return {};
  const double mean = sum / count;
  for (size_t at = column; at < rows.size(); at += width) {
    if (!std::isnan(rows[at])) squares += (rows[at] - mean) * (rows[at] - mean);
  }
  if (least == most) return {least, 0, false};
  return {mean, std::sqrt(squares / count), true};
}

// The targets as the solver is to see them. Columns that are the same for all training nodes are settled
// without it, by their intercept.
class Fit {
 public:
  Fit(const Features& features, const Targets& targets, std::span<const NodeId> train)
      : task_(targets.task), width_(targets.width), design_(features, training_nodes(targets, train)) {
    const std::vector<double> rows = target_rows(targets, design_.nodes());
    for (int64_t c = 0; c < width_; ++c) {
      const TargetColumn column = measure(rows, width_, c);
      intercept_.push_back(settled(column));
      if (column.varies) solved_.push_back({c, column});
    }
    // Two classes are one question, as they are for scikit-learn; the first of them keeps the score 0.
    const bool two_classes = task_ == Task::kClassification && solved_.size() == 2;
    if (two_classes) {
      intercept_[solved_[0].column] = 0;
      solved_.erase(solved_.begin());
    }
    loss_ = task_ == Task::kRegression                       ? LinearLoss::kSquared
            : task_ == Task::kClassification && !two_classes ? LinearLoss::kSoftmax
                                                             : LinearLoss::kBernoulli;
    for (int64_t row = 0; row < design_.rows(); ++row) {
      for (const Solved& each : solved_) truth_.push_back(to_solver(rows[row * width_ + each.column], each));
    }
    parameters_.resize((design_.columns() + 1) * solved_.size());
  }

  // Whether a column has been seen in training at all.
  bool knows(int64_t column) const { return !std::isnan(intercept_[column]); }

  // From where the last call ended; nothing when the deadline has passed.
  std::optional<LinearModel> at_strength(double strength, const Deadline& deadline) {
    const auto width = static_cast<int64_t>(solved_.size());
    if (width > 0 && !minimise({design_, loss_, width, truth_}, strength, deadline, parameters_)) {
      return std::nullopt;
    }
    LinearModel model{task_,      design_.columns(), width_,  std::vector<double>(design_.columns() * width_),
                      intercept_, strength,          kNothing};
    const std::vector<double> parameters = design_.unscaled(parameters_, width);
    for (int64_t s = 0; s < width; ++s) {
      const double unit = task_ == Task::kRegression ? solved_[s].target.deviation : 1.0;
      const double zero = task_ == Task::kRegression ? solved_[s].target.mean : 0.0;
      for (int64_t j = 0; j < design_.columns(); ++j) {
        model.weights[j * width_ + solved_[s].column] = unit * parameters[j * width + s];
      }
      model.intercept[solved_[s].column] = zero + unit * parameters[design_.columns() * width + s];
    }
    return model;
  }

 private:
  struct Solved {
    int64_t column;
    TargetColumn target;
  };

  // The intercept of a column that does not vary: certainty, or the value itself; NaN where it is unknown.
  double settled(const TargetColumn& column) const {
    if (std::isnan(column.mean) || task_ == Task::kRegression) return column.mean;
    if (task_ == Task::kClassification) return column.mean == 1 ? 0 : -kInfinity;
    return column.mean == 1 ? kInfinity : -kInfinity;
  }

  double to_solver(double value, const Solved& each) const {
    return task_ == Task::kRegression ? (value - each.target.mean) / each.target.deviation : value;
  }

  Task task_;
  int64_t width_;
  Design design_;
  LinearLoss loss_ = LinearLoss::kSoftmax;
  std::vector<Solved> solved_;
  std::vector<double> intercept_;
  std::vector<double> truth_;
  std::vector<double> parameters_;
};

std::vector<double> predict_nodes(const LinearModel& model, const Features& features,
                                  std::span<const NodeId> nodes) {
  const int64_t width = model.width, count = static_cast<int64_t>(nodes.size());
  std::vector<double> scores(count * width);
  const auto add = [&](double* row, int64_t column, double value) {
    const double* weights = &model.weights[column * width];
    for (int64_t c = 0; c < width; ++c) row[c] += value * weights[c];
  };
  parallel_for(count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* row = &scores[i * width];
      const int64_t node = nodes[i];
      std::copy(model.intercept.begin(), model.intercept.end(), row);
      if (features.sparse) {
        for (int64_t at = features.offsets[node]; at < features.offsets[node + 1]; ++at) {
          add(row, features.indices[at], features.values[at]);
        }
      } else {
        for (int64_t j = 0; j < features.columns; ++j)
          add(row, j, features.dense[node * features.columns + j]);
      }
    }
  });
  if (model.task == Task::kRegression) return scores;
  return model.task == Task::kClassification ? softmax_rows(scores, width) : sigmoids(scores);
}

double validation_loss(const LinearModel& model, const Fit& fit, const Features& features,
                       const Targets& targets, const std::vector<NodeId>& nodes) {
  const std::vector<double> predicted = predict_nodes(model, features, nodes);
  if (model.task == Task::kClassification) {
    std::vector<int32_t> truth;
    truth.reserve(nodes.size());
    for (const NodeId node : nodes) truth.push_back(targets.classes[node]);
    return class_metric("log_loss", {model.width, truth, truth, predicted, {}});
  }
  std::vector<double> truth = target_rows(targets, nodes);
  for (size_t at = 0; at < truth.size(); ++at) {
    if (!fit.knows(static_cast<int64_t>(at) % model.width)) truth[at] = kNothing;
  }
  if (model.task == Task::kRegression) return value_metric("mse", {model.width, truth, predicted, {}});
  const std::vector<char> guesses(truth.size());
  return label_metric("log_loss", {model.width, truth, guesses, predicted, {}});
}

void check(const Features& features, const Targets& targets) {
  if (targets.task == Task::kNone) fail("baseline: there are no targets; nothing can be learned");
  if (features.rows == targets.size()) return;
  fail(fmt::format("baseline: there are features of {} nodes and targets of {}", features.rows,
                   targets.size()));
}

}  // namespace

std::vector<double> LinearModel::predict(const Features& features) const {
  if (features.columns != columns) {
    fail(fmt::format("linear model: it was fitted to {} features, and there are {}", columns,
                     features.columns));
  }
  std::vector<NodeId> all(features.rows);
  std::iota(all.begin(), all.end(), NodeId{0});
  return predict_nodes(*this, features, all);
}

std::optional<LinearModel> fit_linear(const Features& features, const Targets& targets,
                                      std::span<const NodeId> train, double strength, double seconds) {
  check(features, targets);
  if (!(strength > 0))
    fail_usage(fmt::format("linear model: the strength is {}, expected more than 0", strength));
  const Deadline deadline = Deadline::after_seconds(seconds);
  return Fit(features, targets, train).at_strength(strength, deadline);
}

std::optional<LinearModel> fit_linear(const Features& features, const Targets& targets, const Split& split,
                                      double seconds) {
  check(features, targets);
  const std::vector<NodeId> validation = known_nodes(targets, split.val);
  if (validation.empty()) return fit_linear(features, targets, split.train, 1.0, seconds);
  const Deadline deadline = Deadline::after_seconds(seconds);
  Fit fit(features, targets, split.train);
  std::optional<LinearModel> best;
  int worse = 0;
  for (const double strength : kStrengths) {
    std::optional<LinearModel> model = fit.at_strength(strength, deadline);
    if (!model) return std::nullopt;
    model->validation_loss = validation_loss(*model, fit, features, targets, validation);
    if (!std::isfinite(model->validation_loss)) return fit.at_strength(1.0, deadline);
    if (!best || model->validation_loss < best->validation_loss) {
      best = std::move(model);
      worse = 0;
    } else if (++worse == 2) {
      break;
    }
  }
  return best;
}

std::vector<double> TrivialModel::predict(int64_t rows) const {
  std::vector<double> all;
  all.reserve(rows * row.size());
  for (int64_t i = 0; i < rows; ++i) all.insert(all.end(), row.begin(), row.end());
  return all;
}

TrivialModel fit_trivial(const Targets& targets, std::span<const NodeId> train) {
  if (targets.task == Task::kNone) fail("baseline: there are no targets; nothing can be learned");
  const std::vector<double> rows = target_rows(targets, training_nodes(targets, train));
  TrivialModel model{targets.task, {}};
  for (int64_t c = 0; c < targets.width; ++c) model.row.push_back(measure(rows, targets.width, c).mean);
  return model;
}

}  // namespace qw
