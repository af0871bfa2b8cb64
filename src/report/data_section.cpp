#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/graph/statistics.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kMostClasses = 20;  // of a chart

// Nodes of each class that train, validate and test in the first run.
Figure class_figure(const RunRecord& record) {
  const Targets& targets = record.trained_on.targets;
  const Split& split = record.trained_on.splits.front();
  Panel panel{.x_label = "class", .y_label = "nodes", .kind = PanelKind::kBars};
  const size_t classes = std::min<size_t>(kMostClasses, targets.width);
  for (size_t c = 0; c < classes; ++c) panel.categories.push_back(record.class_name(static_cast<int64_t>(c)));
  for (const auto& [name, nodes] : {std::pair{"train", &split.train}, std::pair{"validation", &split.val},
                                    std::pair{"test", &split.test}}) {
    std::vector<double> counts(classes, 0.0);
    for (const NodeId node : *nodes) {
      const auto c = static_cast<size_t>(targets.classes[node]);
      if (c < classes) ++counts[c];
    }
    panel.series.push_back({.name = name, .y = std::move(counts)});
  }
  return {"Labelled nodes by class",
          "How many nodes of each class train, validate and test in the first run.",
          {panel},
          1};
}

Figure degree_figure(const Graph& graph) {
  std::vector<int64_t> degrees(graph.num_nodes(), 0);
  for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
    ++degrees[graph.heads()[edge]];
    ++degrees[graph.tails()[edge]];
  }
  const int64_t largest = degrees.empty() ? 0 : *std::max_element(degrees.begin(), degrees.end());
  Series series{.name = "nodes"};
  // Bins double, so that a few hubs do not hide all others.
  for (int64_t edge = 1; series.x.empty() || edge <= 2 * largest; edge *= 2)
    series.x.push_back(static_cast<double>(edge));
  series.y.assign(std::max<size_t>(1, series.x.size() - 1), 0.0);
  if (series.x.size() < 2) series.x.push_back(2);
  for (const int64_t degree : degrees) {
    if (degree == 0) continue;
    const auto bin = static_cast<size_t>(std::log2(static_cast<double>(degree)));
    ++series.y[std::min(bin, series.y.size() - 1)];
  }
  Panel panel{.x_label = "neighbours", .y_label = "nodes", .kind = PanelKind::kHistogram, .log_x = true};
  panel.series.push_back(std::move(series));
  return {
      "Neighbours of a node", "How many nodes have how many neighbours; bins double in width.", {panel}, 1};
}

// Of the edges at a class, which share leads to each class.
Figure linked_figure(const RunRecord& record) {
  const Targets& targets = record.trained_on.targets;
  const Graph& graph = record.trained_on.graph;
  const size_t classes = targets.width;
  std::vector<std::vector<double>> counts(classes, std::vector<double>(classes, 0.0));
  for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
    const int32_t a = targets.classes[graph.heads()[edge]], b = targets.classes[graph.tails()[edge]];
    if (a < 0 || b < 0) continue;
    ++counts[a][b];
    ++counts[b][a];
  }
  Panel panel{.x_label = "neighbour's class", .y_label = "class", .kind = PanelKind::kMatrix};
  for (size_t c = 0; c < classes; ++c) {
    panel.categories.push_back(record.class_name(static_cast<int64_t>(c)));
    double all = 0;
    for (const double count : counts[c]) all += count;
    Series& row = panel.series.emplace_back(Series{.name = panel.categories.back()});
    for (const double count : counts[c]) row.y.push_back(all > 0 ? 100 * count / all : std::nan(""));
  }
  return {"Who is linked with whom",
          "Of 100 labelled neighbours of a class, how many are of each class. Large numbers on the diagonal: "
          "neighbours are alike.",
          {panel},
          1};
}

}  // namespace

void add_data(Page& page, const RunRecord& record) {
  const TrainedOn& data = record.trained_on;
  page.section("Data");
  const DegreeStatistics degrees = degree_statistics(data.graph);
  int64_t labelled = 0;
  for (NodeId node = 0; node < data.graph.num_nodes(); ++node) labelled += data.targets.known(node);
  page.facts({{"nodes", with_thousands(data.graph.num_nodes())},
              {"edges", with_thousands(data.graph.num_edges()) + (data.graph.directed() ? ", directed" : "")},
              {"features", with_thousands(data.schema.features)},
              {"nodes with a label", with_thousands(labelled)},
              {"mean number of neighbours", fmt::format("{:.3g}", degrees.mean)},
              {"nodes without a neighbour", with_thousands(degrees.isolated)}});
  if (data.graph.num_edges() > 0) page.chart(degree_figure(data.graph));
  if (!record.has_classes()) return;
  page.chart(class_figure(record));
  if (data.graph.num_edges() > 0 && static_cast<size_t>(data.targets.width) <= kMostClasses)
    page.chart(linked_figure(record));
}

}  // namespace qw
