#include "qw/learn/scaling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nn/tensors.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::string chosen_scaling(const std::string& kind, const Dataset& data) {
  if (kind != "auto") return kind;
  if (data.of_paper && !data.targets.classes.empty()) return "rows";
  return data.format == "generator" ? "none" : "columns";
}

struct Moments {
  double mean = 0, deviation = 1;
};

// Of the values that `visit` shows to its argument; a constant has the deviation 1.
template <class Visit>
Moments moments_of(const Visit& visit) {
  double sum = 0, squares = 0;
  int64_t count = 0;
  visit([&](double value) { sum += value, ++count; });
  Moments moments;
  if (count == 0) return moments;
  moments.mean = sum / static_cast<double>(count);
  visit([&](double value) { squares += (value - moments.mean) * (value - moments.mean); });
  const double deviation = std::sqrt(squares / static_cast<double>(count));
  if (deviation > 0) moments.deviation = deviation;
  return moments;
}

// Few rows of a table may be sparse by chance, where all of it was not.
Features dense_copy(const Features& features) {
  if (!features.sparse) return features;
  Features dense{features.rows, features.columns, false, {}, {}, {}, {}, features.names};
  dense.dense.assign(features.rows * features.columns, 0.0f);
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t at = features.offsets[row]; at < features.offsets[row + 1]; ++at) {
      dense.dense[row * features.columns + features.indices[at]] = features.values[at];
    }
  }
  return dense;
}

// Calls visit(column, value) for every stored number.
template <class Visit>
void for_numbers(const Features& features, const Visit& visit) {
  if (!features.sparse) {
    for (size_t at = 0; at < features.dense.size(); ++at) visit(at % features.columns, features.dense[at]);
    return;
  }
  for (size_t at = 0; at < features.values.size(); ++at) visit(features.indices[at], features.values[at]);
}

ColumnSums sums_of(const Features& features) {
  ColumnSums sums;
  sums.add(features);
  sums.add_squares(features);
  return sums;
}

}  // namespace

void ColumnSums::add(const Features& features) {
  sums.resize(features.columns, 0.0);
  zeros.resize(features.columns, 0.0);
  speaking.resize(features.columns, 1.0);
  squares.resize(features.columns, 0.0);
  rows += features.rows;
  if (features.sparse) {
    for (double& each : zeros) each += static_cast<double>(features.rows);
  }
  for_numbers(features, [&](int64_t column, float value) {
    sums[column] += value;
    zeros[column] -= features.sparse ? 1 : 0;
    const bool is_count = features.sparse && value >= 0 && value == std::trunc(value);
    if (value != 0.0f && value != 1.0f && !is_count) speaking[column] = 0.0;
  });
}

void ColumnSums::add_squares(const Features& features) {
  std::vector<double> means = sums;
  for (double& each : means) each /= static_cast<double>(rows);
  for_numbers(features, [&](int64_t column, float value) {
    const double difference = value - means[column];
    squares[column] += difference * difference;
  });
}

bool FeatureScaling::needs_sums(const std::string& kind, const Dataset& about) {
  return chosen_scaling(kind, about) == "columns";
}

FeatureScaling::FeatureScaling(const std::string& kind, const Dataset& trained_on)
    : FeatureScaling(kind, trained_on, trained_on.features.sparse,
                     needs_sums(kind, trained_on) ? sums_of(trained_on.features) : ColumnSums()) {}

FeatureScaling::FeatureScaling(const std::string& kind, const Dataset& about, bool sparse,
                               const ColumnSums& sums)
    : kind_(chosen_scaling(kind, about)), chosen_(kind == "auto") {
  if (kind_ != "columns") return;
  const auto rows = static_cast<double>(sums.rows);
  for (size_t column = 0; column < sums.sums.size(); ++column) {
    const double mean = sums.sums[column] / rows;
    const double deviation = std::sqrt((sums.squares[column] + sums.zeros[column] * mean * mean) / rows);
    const bool leave = chosen_ && sums.speaking[column] != 0;
    mean_.push_back(leave || sparse ? 0.0 : mean);
    factor_.push_back(leave || !(deviation > 0) ? 1.0 : 1.0 / deviation);
    scaled_columns_ += !leave;
  }
  if (scaled_columns_ > 0) return;
  kind_ = "none";
  mean_.clear();
  factor_.clear();
}

FeatureScaling::FeatureScaling(std::string kind, std::vector<double> mean, std::vector<double> factor)
    : kind_(std::move(kind)), mean_(std::move(mean)), factor_(std::move(factor)) {
  scaled_columns_ = std::count_if(factor_.begin(), factor_.end(), [](double each) { return each != 1.0; });
}

// Sparse columns are only divided: a shift would fill them.
bool FeatureScaling::shifts() const {
  return std::any_of(mean_.begin(), mean_.end(), [](double each) { return each != 0.0; });
}

std::string FeatureScaling::summary() const {
  const auto columns = static_cast<int64_t>(factor_.size());
  std::string done = kind_ == "rows"      ? "each row is divided by its sum"
                     : kind_ == "columns" ? fmt::format("{} of {} columns are {}", scaled_columns_, columns,
                                                        shifts() ? "brought to mean 0 and deviation 1"
                                                                 : "divided by their deviation")
                                          : "as they are";
  return fmt::format("features: {}{}", done, chosen_ ? " (--scale-features)" : "");
}

Features FeatureScaling::apply(const Features& features) const {
  if (kind_ == "rows") return row_normalised(features);
  if (kind_ != "columns") return features;
  if (features.sparse && !shifts()) {
    Features scaled = features;
    for (size_t at = 0; at < scaled.values.size(); ++at) {
      scaled.values[at] = static_cast<float>(scaled.values[at] * factor_[scaled.indices[at]]);
    }
    return scaled;
  }
  Features scaled = dense_copy(features);
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t column = 0; column < features.columns; ++column) {
      float& value = scaled.dense[row * features.columns + column];
      value = static_cast<float>((static_cast<double>(value) - mean_[column]) * factor_[column]);
    }
  }
  return scaled;
}

TargetScaling::TargetScaling(const Targets& targets, std::span<const NodeId> training) {
  if (targets.task != Task::kRegression || !targets.classes.empty()) return;
  constexpr double kLargest = 1e150;  // squares of more are no numbers
  const auto too_large = std::find_if(targets.values.begin(), targets.values.end(),
                                      [](double value) { return std::abs(value) > kLargest; });
  if (too_large != targets.values.end()) {
    fail(fmt::format(
        "the target {:g} is too large: squares of values beyond {:g} are no numbers; divide the column",
        *too_large, kLargest));
  }
  for (int64_t column = 0; column < targets.width; ++column) {
    const Moments moments = moments_of([&](const auto& each) {
      for (const NodeId node : training) {
        const double value = targets.values[node * targets.width + column];
        if (!std::isnan(value)) each(value);
      }
    });
    mean_.push_back(moments.mean);
    deviation_.push_back(moments.deviation);
  }
}

TargetScaling::TargetScaling(std::vector<double> mean, std::vector<double> deviation)
    : mean_(std::move(mean)), deviation_(std::move(deviation)) {}

Targets TargetScaling::apply(const Targets& targets) const {
  Targets scaled = targets;
  if (mean_.empty()) return scaled;
  for (size_t i = 0; i < scaled.values.size(); ++i) {
    const size_t column = i % mean_.size();
    scaled.values[i] = (scaled.values[i] - mean_[column]) / deviation_[column];
  }
  return scaled;
}

at::Tensor TargetScaling::in_units(const at::Tensor& differences) const {
  return mean_.empty() ? differences : differences * tensor_of(deviation_).to(differences.options());
}

Scores TargetScaling::undo(const Scores& scores) const {
  if (mean_.empty()) return scores;
  const at::Tensor mean = tensor_of(mean_).to(scores.network.options());
  return {in_units(scores.network) + mean,
          scores.transport.numel() == 0 ? scores.transport : in_units(scores.transport),
          scores.in_label_space};
}

}  // namespace qw
