#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "qw/core/error.h"
#include "report/neighbourhood_drawing.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kWrong = 2, kUncertain = 2;  // nodes that are chosen
constexpr int64_t kMostNodes = 100'000;       // of a graph whose nodes are explained without being asked

std::string shown(double value) { return std::isnan(value) ? "" : fmt::format("{:.4g}", value); }
std::string label_of(const NamedNode& node) { return node.trains ? node.label.text() : ""; }

// How wrong each node is: by the confidence of a prediction that is wrong, or the mean error of values.
std::vector<double> wrongness_of(const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  const Targets& targets = record.trained_on.targets;
  std::vector<double> wrongness(nodes.ids.size(), 0.0);
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    if (!nodes.confidence.empty()) {
      wrongness[i] = nodes.predicted[i] == nodes.labels[i] ? 0 : nodes.confidence[i];
      continue;
    }
    double known = 0;
    for (int64_t c = 0; c < targets.width && !nodes.value.empty(); ++c) {
      const double truth = targets.values[nodes.nodes[i] * targets.width + c];
      if (std::isnan(truth)) continue;
      wrongness[i] += std::fabs(nodes.value[i * targets.width + c] - truth);
      ++known;
    }
    if (known > 0) wrongness[i] /= known;
  }
  return wrongness;
}

// Ids of the nodes that are most wrong, then of those that are least sure.
std::vector<std::string> remarkable_nodes(const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  const std::vector<double> wrongness = wrongness_of(record);
  std::vector<size_t> order(nodes.ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::string> chosen;
  const auto take = [&](size_t most, const auto& amount) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return amount(a) > amount(b); });
    for (size_t k = 0; k < order.size() && most > 0 && amount(order[k]) > 0; ++k) {
      const std::string& id = nodes.ids[order[k]];
      if (std::find(chosen.begin(), chosen.end(), id) != chosen.end()) continue;
      chosen.push_back(id);
      --most;
    }
  };
  take(kWrong, [&](size_t i) { return wrongness[i]; });
  if (!nodes.confidence.empty()) take(kUncertain, [&](size_t i) { return 1 - nodes.confidence[i]; });
  return chosen;
}

// "Predicted blue, probability 0.93. It is a test node, and its label is red."
std::string about(const RunRecord& record, const NodeExplanation& explanation) {
  std::string text = "Predicted " + explanation.predicted.text();
  const ColumnExplanation& first = explanation.columns.front();
  const double probability = explanation.scores.at(first.column).probability;
  if (!std::isnan(probability)) text += fmt::format(", probability {:.3f}", probability);
  text += ".";
  const NamedNode& node = explanation.node;
  if (node.trains) return text + " It is a training node with the label " + node.label.text() + ".";
  const auto found = std::find(record.predicted.ids.begin(), record.predicted.ids.end(), node.id);
  if (found == record.predicted.ids.end()) return text;
  const auto place = found - record.predicted.ids.begin();
  if (!record.predicted.labels.empty())
    return text + " It is a test node, and its label is " + record.predicted.labels[place] + ".";
  const Targets& targets = record.trained_on.targets;
  const auto row = targets.values.begin() + record.predicted.nodes[place] * targets.width;
  return text + " It is a test node, and its value is " + NodeAnswer{{}, {row, row + targets.width}}.text() +
         ".";
}

std::vector<std::string> with_change(std::vector<std::string> row, const ScoreChange& change, bool chances) {
  row.push_back(shown(change.score));
  if (chances) row.push_back(shown(change.probability));
  return row;
}

PageTable table_of(const std::string& caption, std::vector<PageColumn> columns, bool changes, bool chances) {
  if (changes) columns.push_back({"change of score", true});
  if (changes && chances) columns.push_back({"of probability", true});
  return {caption, std::move(columns), {}};
}

void add_scores(Page& page, const NodeExplanation& explanation, bool chances) {
  PageTable table{
      "Scores",
      {{chances ? "class" : "value", false}, {"network", true}, {"transport", true}, {"sum", true}},
      {}};
  if (chances) table.columns.push_back({"probability", true});
  for (const ExplainedScore& score : explanation.scores) {
    table.rows.push_back({score.name, shown(score.network), shown(score.transport), shown(score.sum)});
    if (chances) table.rows.back().push_back(shown(score.probability));
  }
  page.table(table);
}

void add_column(Page& page, const NodeExplanation& explanation, const ColumnExplanation& column,
                bool chances) {
  PageTable paths =
      table_of("Paths by which transport reaches it: " + column.name,
               {{"other end", false}, {"its training label", false}, {"amount", true}, {"path", false}},
               false, chances);
  for (const ExplainedPath& path : column.paths)
    paths.rows.push_back({path.end.id, label_of(path.end), shown(path.amount), join(path.nodes, " – ")});
  PageTable neighbours = table_of("Without the edges to a neighbour: " + column.name,
                                  {{"neighbour", false}, {"its training label", false}}, true, chances);
  for (const NeighbourEffect& effect : column.neighbours) {
    neighbours.rows.push_back(
        with_change({effect.neighbour.id, label_of(effect.neighbour)}, effect.without, chances));
  }
  PageTable labels = table_of("Without the label of a training node: " + column.name,
                              {{"node", false}, {"label", false}}, true, chances);
  for (const LabelEffect& effect : column.labels)
    labels.rows.push_back(with_change({effect.of.id, label_of(effect.of)}, effect.without, chances));
  PageTable features = table_of("Gradient times input, and without a feature: " + column.name,
                                {{"feature", false}, {"own", true}, {"neighbourhood", true}}, true, chances);
  for (const FeatureEffect& effect : column.features) {
    features.rows.push_back(
        with_change({effect.name, shown(effect.own), shown(effect.neighbourhood)}, effect.without, chances));
  }
  for (const PageTable* table : {&paths, &neighbours, &labels, &features}) {
    if (!table->rows.empty()) page.table(*table);
  }
  if (!explanation.sees_edges && explanation.neighbours > 0)
    page.paragraph("The network does not look at edges: no neighbour counts.");
  const int64_t unknown =
      column.more_neighbours.unknown + column.more_features.unknown + column.more_labels.unknown;
  if (unknown > 0) {
    page.paragraph(
        fmt::format("{} neighbours, features or labels were not left out one by one, to bound the work.",
                    with_thousands(unknown)));
  }
}

// Which nodes are explained, and by which run.
std::string note_of(const RunRecord& record, bool asked, bool any) {
  std::string note = asked ? ""
                     : any
                         ? "These test nodes are wrong and most sure of it, or least sure; qw report --node "
                           "ID explains others. "
                         : "No test node is wrong or unsure; qw report --node ID explains any.";
  if (!any) return note;
  if (record.fit)
    note += "What is explained is one member of the ensemble, run 0. ";
  else if (record.trained_on.splits.size() > 1)
    note += "What is explained is the first run. ";
  return note +
         "A change is what is predicted without the thing minus what is predicted with it: below 0, it spoke "
         "for the class. Gradient times input is of what the network says.";
}

void add_node(Page& page, const RunRecord& record, const NodeExplanation& explanation) {
  page.subsection("Node " + explanation.node.id);
  page.paragraph(about(record, explanation));
  const bool chances = explanation.task != Task::kRegression;
  if (explanation.around.has_positions)
    page.drawing(draw_neighbourhood(explanation.around, explanation.columns.front().name));
  add_scores(page, explanation, chances);
  for (const ColumnExplanation& column : explanation.columns) add_column(page, explanation, column, chances);
}

}  // namespace

void add_explanations(Page& page, const RunRecord& record, const ReportOptions& options) {
  if (!options.explain) return;
  const bool asked = !options.nodes.empty();
  page.section("Why these labels");
  if (!asked && record.trained_on.graph.num_nodes() > kMostNodes) {
    return page.paragraph(
        fmt::format("The graph has over {} nodes: qw report --node ID explains those that you name.",
                    with_thousands(kMostNodes)));
  }
  std::vector<std::string> ids = options.nodes;
  if (!asked) ids = remarkable_nodes(record);
  std::vector<NodeExplanation> explanations;
  try {
    if (!ids.empty()) explanations = options.explain(ids);
  } catch (const Error& error) {
    if (asked) throw;
    return page.paragraph(fmt::format("No node is explained: {}", error.what()));
  }
  page.paragraph(note_of(record, asked, !explanations.empty()));
  for (const NodeExplanation& explanation : explanations) add_node(page, record, explanation);
  const bool drawn = std::any_of(explanations.begin(), explanations.end(),
                                 [](const NodeExplanation& each) { return each.around.has_positions; });
  if (!explanations.empty() && !drawn)
    page.paragraph("Drawings of neighbourhoods need Graphviz, which this qw was built without.");
}

}  // namespace qw
