#include "qw/learn/scaling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "nn/tensors.h"

namespace qw {
namespace {

std::string chosen_scaling(const std::string& kind, const Dataset& data) {
  if (kind != "auto") return kind;
  if (data.format == "csv" || data.features_from_structure) return data.features.sparse ? "none" : "columns";
  const bool generated = data.format == "csbm" || data.format == "karate";
  return !data.targets.classes.empty() && !generated ? "rows" : "none";
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

}  // namespace

FeatureScaling::FeatureScaling(const std::string& kind, const Dataset& trained_on)
    : kind_(chosen_scaling(kind, trained_on)) {
  const Features& features = trained_on.features;
  if (kind_ != "columns") return;
  if (features.sparse) {
    kind_ = "none";  // shifting would fill it
    return;
  }
  for (int64_t column = 0; column < features.columns; ++column) {
    const Moments moments = moments_of([&](const auto& each) {
      for (int64_t row = 0; row < features.rows; ++row) each(features.dense[row * features.columns + column]);
    });
    mean_.push_back(moments.mean);
    factor_.push_back(1.0 / moments.deviation);
  }
}

Features FeatureScaling::apply(const Features& features) const {
  if (kind_ == "rows") return row_normalised(features);
  if (kind_ != "columns") return features;
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

Scores TargetScaling::undo(const Scores& scores) const {
  if (mean_.empty()) return scores;
  const at::Tensor mean = tensor_of(mean_).to(scores.network.options());
  const at::Tensor deviation = tensor_of(deviation_).to(scores.network.options());
  return {scores.network * deviation + mean,
          scores.transport.numel() == 0 ? scores.transport : scores.transport * deviation,
          scores.in_label_space};
}

}  // namespace qw
