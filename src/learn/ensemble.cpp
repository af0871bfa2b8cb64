#include "qw/learn/ensemble.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
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

void add_to(at::Tensor& sum, const at::Tensor& part, double weight) {
  const at::Tensor here = part.to(at::kDouble).cpu() * weight;
  sum = sum.defined() ? sum + here : here;
}

constexpr const char* kMembersFile = "ensemble.json";

}  // namespace

void write_members(const std::filesystem::path& folder, const EnsembleMembers& members) {
  const nlohmann::ordered_json document{{"runs", members.runs},
                                        {"weights", members.weights},
                                        {"single", members.single},
                                        {"calibration", to_json(members.calibration)},
                                        {"single_calibration", to_json(members.single_calibration)}};
  const std::string text = json_text(document, 1) + "\n";
  write_file_atomically(folder / kMembersFile, text);
  Manifest manifest = Manifest::read(folder);
  manifest.add(kMembersFile, text);
  manifest.write();
}

std::optional<EnsembleMembers> read_members(const std::filesystem::path& folder) {
  const std::string file = (folder / kMembersFile).string();
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::ordered_json document = parse_json(read_run_file(folder, kMembersFile), file);
  try {
    EnsembleMembers members{document.at("runs").get<std::vector<int64_t>>(),
                            document.at("weights").get<std::vector<double>>(),
                            document.at("single").get<std::vector<int64_t>>(),
                            calibration_from_json(document.at("calibration"), file),
                            calibration_from_json(document.at("single_calibration"), file)};
    if (members.runs.empty() || members.runs.size() != members.weights.size())
      fail(file + ": names no members");
    return members;
  } catch (const nlohmann::json::exception&) {
    fail(file + ": is no list of members");
  }
}

Ensemble::Ensemble(const std::vector<std::filesystem::path>& run_folders, const TrainRequest& request,
                   const TrainingMemory& memory, const Dataset& dataset, std::vector<double> weights)
    : task_(memory.trained_on.schema.task), width_(memory.trained_on.schema.width) {
  QW_ASSERT(!run_folders.empty());
  std::vector<NodeId> nodes(dataset.graph.num_nodes());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  const bool one = run_folders.size() == 1;
  if (weights.empty()) weights.assign(run_folders.size(), 1.0);
  QW_ASSERT(weights.size() == run_folders.size());
  const double runs = std::accumulate(weights.begin(), weights.end(), 0.0);
  at::Tensor network, transport;
  double seen = 0;
  std::vector<char> validates(nodes.size(), 1);
  for (size_t k = 0; k < run_folders.size(); ++k) {
    const std::filesystem::path& folder = run_folders[k];
    const double weight = weights[k];
    const Reloaded reloaded = reload(folder, request, memory, dataset);
    const std::vector<double> predicted =
        calibrated(task_, nodes, width_, reloaded.scores, reloaded.calibration.temperature);
    const bool first = mean_.empty();
    mean_.resize(predicted.size(), 0.0);
    spread_.resize(predicted.size(), 0.0);
    seen += weight;
    for (size_t i = 0; i < predicted.size(); ++i) {  // Welford: values may be large and their spread small
      const double difference = predicted[i] - mean_[i];
      mean_[i] += weight * difference / seen;
      spread_[i] += weight * difference * (predicted[i] - mean_[i]);
    }
    const std::vector<NodePart> parts =
        parts_here(memory.trained_on.splits.at(read_result(folder)->run), memory.trained_on, reloaded);
    for (size_t i = 0; i < parts.size(); ++i) validates[i] = validates[i] && parts[i] == NodePart::kVal;
    add_parts(parts, first);
    if (one) {
      scores_ = reloaded.scores;
      calibration_ = reloaded.calibration;
    }
    add_to(network, reloaded.scores.network, weight);
    if (reloaded.scores.transport.numel() > 0) add_to(transport, reloaded.scores.transport, weight);
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
  calibration_ = calibrate_sets(dataset.targets, common, predicted());
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
