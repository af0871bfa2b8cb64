#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/histogram.h"
#include "report/quality_parts.h"
#include "report/sections.h"
#include "report/stored_flow.h"

namespace qw {
namespace {

constexpr int64_t kBins = 40;
constexpr size_t kMostPaths = 15;
constexpr size_t kMostNamed = 7;            // nodes of a path; the middle of longer ones is left out
constexpr int64_t kMostTraced = 1'000'000;  // entries that carry flow; paths of more take too long

// "3 of 34 nodes (8.8 %)"
std::string of_all(int64_t part, int64_t all, const std::string& things) {
  return fmt::format("{} of {} {} ({})", with_thousands(part), with_thousands(all), things,
                     percent(static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, all))));
}

std::string effect_text(const RunRecord& record) {
  const TransportEffect& effect = record.predicted.transport;
  if (effect.nodes == 0) return "";
  std::string text = fmt::format("Transport moved {}", of_all(effect.moved, effect.nodes, "nodes"));
  switch (record.trained_on.targets.task) {
    case Task::kRegression:
      text += fmt::format(", by {} on average.", number_text(effect.shift));
      if (std::isfinite(effect.error_with))
        text +=
            fmt::format(" The mean absolute error of test nodes is {} with it, and {} of the network alone.",
                        number_text(effect.error_with), number_text(effect.error_without));
      return text;
    case Task::kClassification:
      text += fmt::format(" and changed {}.", of_all(effect.changed, effect.nodes, "predictions"));
      if (!record.predicted.nodes.empty())
        text += fmt::format(" Of the test nodes, {} became right by it and {} wrong.",
                            with_thousands(effect.righted), with_thousands(effect.wronged));
      return text;
    default:
      return text + fmt::format(" and changed the predicted labels of {}.",
                                of_all(effect.changed, effect.nodes, "nodes"));
  }
}

Figure histogram_of(const StoredFlow& flow, const std::string& counted, Task task) {
  std::vector<double> sizes;
  for (const float value : flow.values) {
    if (value != 0) sizes.push_back(std::fabs(value));
  }
  const int64_t entries = static_cast<int64_t>(flow.values.size());
  const auto zeros = entries - static_cast<int64_t>(sizes.size());
  Panel panel{.x_label = "size of the flow on an edge, in units of the scores",
              .y_label = counted,
              .kind = PanelKind::kHistogram};
  panel.series = {spread_histogram("flow", sizes, kBins, panel.log_x)};
  return {"Flow over edges",
          fmt::format("How much each edge carries{}. {} are exactly zero and not drawn.",
                      flow.columns == 1               ? ""
                      : task == Task::kClassification ? ", once for each class"
                      : task == Task::kRegression     ? ", once for each value"
                                                      : ", once for each label",
                      of_all(zeros, entries, counted)),
          {panel},
          1};
}

std::string way_text(const RunRecord& record, const std::vector<NodeId>& nodes) {
  std::string text;
  const size_t left_out = nodes.size() > kMostNamed ? nodes.size() - kMostNamed + 1 : 0;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const bool hidden = left_out > 0 && k >= kMostNamed / 2 && k < kMostNamed / 2 + left_out;
    if (hidden && k > kMostNamed / 2) continue;
    if (!text.empty()) text += " → ";
    text += hidden ? fmt::format("({} more)", left_out) : record.trained_on.node_id(nodes[k]);
  }
  return text;
}

void add_paths(Page& page, const RunRecord& record, const StoredFlow& flow) {
  const auto carrying = static_cast<int64_t>(
      std::count_if(flow.values.begin(), flow.values.end(), [](float value) { return value != 0; }));
  if (carrying > kMostTraced) {
    page.paragraph(fmt::format("Paths are not traced: {} flows are not zero, more than {}.",
                               with_thousands(carrying), with_thousands(kMostTraced)));
    return;
  }
  PageTable table{"The largest paths",
                  {{record.has_classes() ? "class" : "of", false},
                   {"amount", true},
                   {"from", false},
                   {"to", false},
                   {"edges", true},
                   {"way", false}},
                  {}};
  for (const ColumnPath& each : largest_paths(flow, kMostPaths)) {
    table.rows.push_back(
        {record.class_name(each.column), number_text(each.path.amount),
         record.trained_on.node_id(each.path.source), record.trained_on.node_id(each.path.sink),
         fmt::format("{}", each.path.edges.size()), way_text(record, nodes_along(flow.graph, each.path))});
  }
  if (table.rows.empty()) return;
  page.paragraph(
      "A path lowers the score of its class where it begins and raises it where it ends, by its amount.");
  page.table(table);
}

}  // namespace

void add_transport(Page& page, const RunRecord& record) {
  page.section("Transport");
  if (record.fit) {
    page.paragraph(
        "The ensemble's members may each have a flow of their own; a report of a single training shows it.");
    return;
  }
  if (record.flow_file.empty()) {
    page.paragraph(fmt::format("The solver {} learns no flow: predictions are the network's alone.",
                               record.summary.at("config").at("learn").at("solver").get<std::string>()));
    return;
  }
  const StoredFlow flow = read_flow(record.flow_file, record.trained_on);
  const bool nothing =
      std::all_of(flow.values.begin(), flow.values.end(), [](float value) { return value == 0; });
  if (nothing && !flow.values.empty()) {
    page.paragraph(
        fmt::format("Nothing flows{}: the flow of every edge is exactly zero, and predictions are the "
                    "network's alone.",
                    record.trained_on.splits.size() > 1 ? " in the first run" : ""));
    return;
  }
  if (record.trained_on.splits.size() > 1) page.paragraph("Of the first run.");
  if (const std::string text = effect_text(record); !text.empty()) page.paragraph(text);
  if (flow.values.empty()) {
    page.paragraph("No edge may carry flow.");
    return;
  }
  page.chart(histogram_of(flow, flow.columns == 1 ? "edges" : "flows", record.trained_on.targets.task));
  add_paths(page, record, flow);
}

}  // namespace qw
