#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "report/quality_parts.h"

namespace qw {
namespace {

constexpr size_t kMostClasses = 20;  // of a matrix
constexpr size_t kConfusions = 15;   // that are named, where there are more classes
constexpr size_t kExamples = 15;     // wrong nodes that are named

void add_matrix(Page& page, const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  const auto classes = static_cast<size_t>(record.trained_on.targets.width);
  std::map<std::string, size_t> place;
  Panel panel{.title = "Test nodes", .x_label = "predicted", .y_label = "true", .kind = PanelKind::kMatrix};
  for (size_t c = 0; c < classes; ++c) {
    panel.categories.push_back(record.class_name(static_cast<int64_t>(c)));
    place[panel.categories.back()] = c;
  }
  for (const std::string& name : panel.categories)
    panel.series.push_back({.name = name, .y = std::vector<double>(classes, 0.0)});
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    const auto truth = place.find(nodes.labels[i]), said = place.find(nodes.predicted[i]);
    if (truth != place.end() && said != place.end()) ++panel.series[truth->second].y[said->second];
  }
  page.chart({"Confusion matrix",
              "Test nodes by their class and the class that is predicted for them.",
              {panel},
              1});
}

// The commonest mistakes, of many classes.
void add_mistakes(Page& page, const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  int64_t all = 0;
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    if (nodes.labels[i] == nodes.predicted[i]) continue;
    ++counts[{nodes.labels[i], nodes.predicted[i]}];
    ++all;
  }
  std::vector<std::pair<int64_t, std::pair<std::string, std::string>>> order;
  order.reserve(counts.size());
  for (const auto& [pair, count] : counts) order.emplace_back(-count, pair);
  std::sort(order.begin(), order.end());
  PageTable table{fmt::format("The commonest mistakes of {} classes, of {} test nodes that are wrong",
                              record.trained_on.targets.width, with_thousands(all)),
                  {{"true", false}, {"predicted", false}, {"nodes", true}},
                  {}};
  for (size_t k = 0; k < std::min(kConfusions, order.size()); ++k)
    table.rows.push_back({order[k].second.first, order[k].second.second, with_thousands(-order[k].first)});
  if (!table.rows.empty()) page.table(table);
}

}  // namespace

void add_confusion(Page& page, const RunRecord& record) {
  if (static_cast<size_t>(record.trained_on.targets.width) <= kMostClasses) {
    add_matrix(page, record);
  } else {
    add_mistakes(page, record);
  }
}

void add_wrong_nodes(Page& page, const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  std::vector<size_t> wrong;
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    if (nodes.predicted[i] != nodes.labels[i]) wrong.push_back(i);
  }
  if (wrong.empty() || nodes.confidence.empty()) return;
  const size_t shown = std::min(kExamples, wrong.size());
  std::partial_sort(
      wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(shown), wrong.end(),
      [&](size_t a, size_t b) {
        return nodes.confidence[a] != nodes.confidence[b] ? nodes.confidence[a] > nodes.confidence[b] : a < b;
      });
  PageTable table{fmt::format("Wrong and most sure of it, {} of {} test nodes that are wrong", shown,
                              with_thousands(static_cast<int64_t>(wrong.size()))),
                  {{"node", false}, {"predicted", false}, {"true", false}, {"confidence", true}},
                  {}};
  for (size_t k = 0; k < shown; ++k) {
    const size_t i = wrong[k];
    table.rows.push_back(
        {nodes.ids[i], nodes.predicted[i], nodes.labels[i], fmt::format("{:.3f}", nodes.confidence[i])});
  }
  page.table(table);
}

}  // namespace qw
