#include "qw/learn/labels.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "qw/core/error.h"

namespace qw {

Divergence divergence_for(Task task) {
  switch (task) {
    case Task::kClassification:
      return Divergence::kSoftmax;
    case Task::kMultiLabel:
      return Divergence::kBernoulli;
    case Task::kRegression:
      return Divergence::kLeastSquares;
    case Task::kNone:
      break;
  }
  fail("the data has no labels to learn from; name them with --target");
}

LabelTensors label_tensors(const Targets& targets, std::span<const NodeId> nodes,
                           const at::TensorOptions& options) {
  const auto count = static_cast<int64_t>(nodes.size());
  int64_t known = count;
  const at::TensorOptions whole = at::TensorOptions(at::kInt);
  LabelTensors labels{at::empty({count}, whole), at::empty({0}, whole), at::empty({0}, options),
                      at::empty({0}, options), 0};
  std::copy(nodes.begin(), nodes.end(), labels.nodes.data_ptr<int32_t>());
  if (targets.task == Task::kClassification) {
    labels.classes = at::empty({count}, whole);
    auto* out = labels.classes.data_ptr<int32_t>();
    for (const NodeId node : nodes) *out++ = targets.classes[node];
  } else {
    at::Tensor values = at::empty({count, targets.width}, at::kDouble);
    auto* out = values.data_ptr<double>();
    for (const NodeId node : nodes) {
      out = std::copy_n(targets.values.begin() + node * targets.width, targets.width, out);
    }
    known = std::count_if(values.data_ptr<double>(), out, [](double value) { return std::isfinite(value); });
    labels.targets = values.to(options);
  }
  labels.known = known;
  labels.nodes = labels.nodes.to(options.device());
  labels.classes = labels.classes.to(options.device());
  return labels;
}

double mean_scale(Divergence kind, const LabelTensors& labels, int64_t columns) {
  int64_t terms = labels.known;
  if (labels.targets.numel() != 0 && kind == Divergence::kSoftmax) terms /= std::max<int64_t>(1, columns);
  return terms == 0 ? 1.0 : 1.0 / static_cast<double>(terms);
}

}  // namespace qw
