#include "qw/learn/ensemble.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <numeric>

#include "learn/run_files.h"
#include "nn/tensors.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// The parts of a run's split, at the nodes of the data at hand.
std::vector<NodePart> parts_here(const Split& split, const TrainedOn& trained_on, const Reloaded& reloaded) {
  const std::vector<NodePart> trained = parts_of(split, trained_on.graph.num_nodes());
  std::vector<NodePart> parts;
  parts.reserve(reloaded.trained_as.size());
  for (const NodeId node : reloaded.trained_as) parts.push_back(node < 0 ? NodePart::kNew : trained[node]);
  return parts;
}

void add_to(at::Tensor& sum, const at::Tensor& part) {
  const at::Tensor here = part.to(at::kDouble).cpu();
  sum = sum.defined() ? sum + here : here;
}

}  // namespace

Ensemble::Ensemble(const std::vector<std::filesystem::path>& run_folders, const TrainRequest& request,
                   const TrainingMemory& memory, const Dataset& dataset)
    : task_(memory.trained_on.schema.task), width_(memory.trained_on.schema.width) {
  QW_ASSERT(!run_folders.empty());
  std::vector<NodeId> nodes(dataset.graph.num_nodes());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  const bool one = run_folders.size() == 1;
  const auto runs = static_cast<double>(run_folders.size());
  at::Tensor network, transport;
  double seen = 0;
  std::vector<char> validates(nodes.size(), 1);
  for (const std::filesystem::path& folder : run_folders) {
    const Reloaded reloaded = reload(folder, request, memory, dataset);
    const std::vector<double> predicted =
        calibrated(task_, nodes, width_, reloaded.scores, reloaded.calibration.temperature);
    const bool first = mean_.empty();
    mean_.resize(predicted.size(), 0.0);
    spread_.resize(predicted.size(), 0.0);
    ++seen;
    for (size_t i = 0; i < predicted.size(); ++i) {  // Welford: values may be large and their spread small
      const double difference = predicted[i] - mean_[i];
      mean_[i] += difference / seen;
      spread_[i] += difference * (predicted[i] - mean_[i]);
    }
    const std::vector<NodePart> parts =
        parts_here(memory.trained_on.splits.at(read_result(folder)->run), memory.trained_on, reloaded);
    for (size_t i = 0; i < parts.size(); ++i) validates[i] = validates[i] && parts[i] == NodePart::kVal;
    add_parts(parts, first);
    if (one) {
      scores_ = reloaded.scores;
      calibration_ = reloaded.calibration;
    }
    add_to(network, reloaded.scores.network);
    if (reloaded.scores.transport.numel() > 0) add_to(transport, reloaded.scores.transport);
  }
  for (double& spread : spread_) spread = std::sqrt(spread / runs);
  if (one) return;
  scores_.network = network / runs;
  scores_.transport = transport.defined() ? transport / runs : at::empty({0}, at::kDouble);
  std::vector<NodeId> common;
  for (const NodeId node : nodes) {
    if (validates[node] && dataset.targets.known(node)) common.push_back(node);
  }
  if (common.empty()) return;
  calibration_ = calibrate(dataset.targets, common, predicted());
}

void Ensemble::add_parts(const std::vector<NodePart>& parts, bool first) {
  if (first) {
    parts_ = parts;
    return;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto either = [&](NodePart part) { return parts_[i] == part || parts[i] == part; };
    for (const NodePart part : {NodePart::kTrain, NodePart::kVal, NodePart::kTest}) {
      if (!either(part)) continue;
      parts_[i] = part;
      break;
    }
  }
}

Scores Ensemble::predicted() const {
  const auto nodes = static_cast<int64_t>(parts_.size());
  Scores scores;
  scores.network = tensor_of(mean_).reshape({nodes, width_});
  scores.transport = at::empty({0}, at::kDouble);
  scores.in_label_space = task_ != Task::kRegression;
  return scores;
}

std::vector<NodeId> Ensemble::nodes_of(NodePart part) const {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i] == part) nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

}  // namespace qw
