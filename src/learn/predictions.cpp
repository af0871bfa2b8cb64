#include "qw/learn/predictions.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Nothing, a number, or a text.
using Cell = std::variant<std::monostate, double, std::string>;

std::vector<float> float_rows(const at::Tensor& matrix) {
  const at::Tensor rows = matrix.to(at::kFloat).cpu().contiguous();
  return {rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel()};
}

std::vector<NodeId> all_nodes(const Dataset& dataset) {
  std::vector<NodeId> nodes(dataset.graph.num_nodes());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return nodes;
}

std::string cell_text(const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{:.9g}", *number);
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : csv_field(*text);
}

Json cell_json(const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell))
    return std::isfinite(*number) ? Json(*number) : Json(nullptr);
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? Json(nullptr) : Json(*text);
}

}  // namespace

const char* part_name(NodePart part) {
  static constexpr const char* kNames[] = {"", "train", "val", "test", "new"};
  return kNames[static_cast<size_t>(part)];
}

std::vector<NodePart> parts_of(const Split& split, int64_t nodes) {
  std::vector<NodePart> parts(nodes, NodePart::kNone);
  for (const NodeId node : split.train) parts[node] = NodePart::kTrain;
  for (const NodeId node : split.val) parts[node] = NodePart::kVal;
  for (const NodeId node : split.test) parts[node] = NodePart::kTest;
  return parts;
}

Predictions::Predictions(const Dataset& dataset, const Targets& targets, const Scores& scores,
                         const Calibration& calibration, const std::optional<PredictionSets>& sets,
                         const std::vector<NodePart>& parts)
    : dataset_(dataset),
      targets_(targets),
      sets_(sets),
      parts_(parts),
      predicted_(
          calibrated(targets.task, all_nodes(dataset), targets.width, scores, calibration.temperature)),
      network_(float_rows(scores.network)),
      transport_(scores.transport.numel() == 0 ? std::vector<float>(network_.size(), 0.0f)
                                               : float_rows(scores.transport)) {
  QW_ASSERT(parts.size() == static_cast<size_t>(dataset.graph.num_nodes()));
}

void Predictions::use_ensemble(std::vector<double> mean, std::vector<double> spread) {
  QW_ASSERT(mean.size() == predicted_.size() && spread.size() == predicted_.size());
  predicted_ = std::move(mean);
  spread_ = std::move(spread);
}

std::string Predictions::name_of(int64_t column) const {
  return targets_.names.empty() ? fmt::format("{}", column) : targets_.names[column];
}

std::string Predictions::predicted_name(const double* row) const {
  if (targets_.task == Task::kClassification)
    return name_of(std::max_element(row, row + targets_.width) - row);
  std::vector<std::string> names;
  for (int64_t c = 0; c < targets_.width; ++c) {
    if (row[c] > 0.5) names.push_back(name_of(c));
  }
  return join(names, "|");
}

std::string Predictions::set_text(const double* row) const {
  std::vector<std::string> names;
  if (targets_.task == Task::kClassification) {
    const std::vector<char> set = sets_->classes({row, static_cast<size_t>(targets_.width)});
    for (int64_t c = 0; c < targets_.width; ++c) {
      if (set[c]) names.push_back(name_of(c));
    }
  } else {
    for (int64_t c = 0; c < targets_.width; ++c) {
      const auto [zero, one] = sets_->label(c, row[c]);
      if (one) names.push_back(name_of(c) + (zero ? "?" : ""));
    }
  }
  return join(names, "|");
}

std::string Predictions::label_text(NodeId node) const {
  if (targets_.task == Task::kClassification) return name_of(targets_.classes[node]);
  std::vector<std::string> names;
  for (int64_t c = 0; c < targets_.width; ++c) {
    const double value = targets_.values[node * targets_.width + c];
    if (value > 0.5) names.push_back(name_of(c));
    if (std::isnan(value)) names.push_back(name_of(c) + "?");
  }
  return join(names, "|");
}

template <class Visit>
void Predictions::visit_label(NodeId node, const Visit& visit) const {
  const bool known = targets_.size() > 0 && targets_.known(node);
  if (targets_.task != Task::kRegression) return visit("label", known ? Cell(label_text(node)) : Cell());
  for (int64_t c = 0; c < targets_.width; ++c) {
    const double value = known ? targets_.values[node * targets_.width + c] : std::nan("");
    visit(targets_.width == 1 ? "label" : "label " + name_of(c), std::isnan(value) ? Cell() : Cell(value));
  }
}

// What is predicted and how surely, up to the probabilities.
template <class Visit>
void Predictions::visit_predicted(NodeId node, const double* row, const Visit& visit) const {
  const int64_t width = targets_.width;
  const bool regression = targets_.task == Task::kRegression;
  if (regression) {
    for (int64_t c = 0; c < width; ++c) {
      const std::string of = width == 1 ? "" : " " + name_of(c);
      visit("prediction" + of, Cell(row[c]));
      if (sets_ && std::isfinite(sets_->half_width(c))) {
        visit("low" + of, Cell(row[c] - sets_->half_width(c)));
        visit("high" + of, Cell(row[c] + sets_->half_width(c)));
      }
      if (!spread_.empty()) visit("spread" + of, Cell(spread_[node * width + c]));
    }
    return;
  }
  visit("prediction", Cell(predicted_name(row)));
  int64_t least_sure = std::max_element(row, row + width) - row;
  double confidence = width == 0 ? 1 : row[least_sure];
  if (targets_.task == Task::kMultiLabel) {
    for (int64_t c = 0; c < width; ++c) {
      const double sure = std::max(row[c], 1 - row[c]);
      if (c == 0 || sure < confidence) std::tie(least_sure, confidence) = std::tuple(c, sure);
    }
  }
  visit("confidence", Cell(confidence));
  if (sets_) visit("set", Cell(set_text(row)));
  if (!spread_.empty()) visit("spread", Cell(spread_[node * width + least_sure]));
  for (int64_t c = 0; c < width; ++c) visit("probability " + name_of(c), Cell(row[c]));
}

template <class Visit>
void Predictions::visit_row(NodeId node, const Visit& visit) const {
  const int64_t width = targets_.width;
  visit("id", Cell(dataset_.node_id(node)));
  visit_predicted(node, predicted_.data() + node * width, visit);
  visit_label(node, visit);
  visit("part", Cell(std::string(part_name(parts_[node]))));
  for (int64_t c = 0; c < width; ++c)
    visit("network " + name_of(c), Cell(double{network_[node * width + c]}));
  for (int64_t c = 0; c < width; ++c)
    visit("transport " + name_of(c), Cell(double{transport_[node * width + c]}));
}

std::string Predictions::csv() const {
  std::string text;
  const int64_t nodes = dataset_.graph.num_nodes();
  for (NodeId node = 0; node < nodes; ++node) {
    if (node == 0) {
      visit_row(node, [&](const std::string& name, const Cell&) {
        text += (text.empty() ? "" : ",") + csv_field(name);
      });
      text += "\n";
    }
    bool first = true;
    visit_row(node, [&](const std::string&, const Cell& cell) {
      if (!first) text += ",";
      first = false;
      text += cell_text(cell);
    });
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json Predictions::json() const {
  Json rows = Json::array();
  for (NodeId node = 0; node < dataset_.graph.num_nodes(); ++node) {
    Json row = Json::object();
    visit_row(node, [&](const std::string& name, const Cell& cell) { row[name] = cell_json(cell); });
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace qw
