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

std::string shown(double value) { return std::isnan(value) ? "" : number_text(value); }
// Differences in the fifth decimal of a probability are rounding.
std::string shown_probability(double value) { return shown(std::round(1e4 * value) / 1e4); }
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

struct ChosenNodes {
  std::vector<std::string> ids;
  bool wrong = false, unsure = false;  // what there is among them
};

// The nodes that are most wrong, then those that are least sure.
ChosenNodes remarkable_nodes(const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  const std::vector<double> wrongness = wrongness_of(record);
  std::vector<size_t> order(nodes.ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  ChosenNodes chosen;
  const auto take = [&](size_t most, const auto& amount) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return amount(a) > amount(b); });
    for (size_t k = 0; k < order.size() && most > 0 && amount(order[k]) > 0; ++k) {
      const std::string& id = nodes.ids[order[k]];
      if (std::find(chosen.ids.begin(), chosen.ids.end(), id) != chosen.ids.end()) continue;
      chosen.ids.push_back(id);
      --most;
    }
  };
  take(kWrong, [&](size_t i) { return wrongness[i]; });
  chosen.wrong = !chosen.ids.empty();
  const size_t wrong = chosen.ids.size();
  if (!nodes.confidence.empty()) take(kUncertain, [&](size_t i) { return 1 - nodes.confidence[i]; });
  chosen.unsure = chosen.ids.size() > wrong;
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
  if (chances) row.push_back(shown_probability(change.probability));
  return row;
}

const char* of_task(Task task) {
  return task == Task::kClassification ? "class" : task == Task::kMultiLabel ? "label" : "value";
}

PageTable table_of(const std::string& caption, std::vector<PageColumn> columns, bool changes, bool chances) {
  if (changes) columns.push_back({"change of score", true});
  if (changes && chances) columns.push_back({"change of probability", true});
  return {caption, std::move(columns), {}};
}

void add_scores(Page& page, const NodeExplanation& explanation, bool chances) {
  PageTable table{"Scores",
                  {{of_task(explanation.task), false},
                   {"network", true},
                   {explanation.spreads_labels ? "spread labels" : "transport", true},
                   {"sum", true}},
                  {}};
  if (chances) table.columns.push_back({"probability", true});
  for (const ExplainedScore& score : explanation.scores) {
    table.rows.push_back({score.name, shown(score.network), shown(score.transport), shown(score.sum)});
    if (chances) table.rows.back().push_back(shown_probability(score.probability));
  }
  page.table(table);
}

void add_column(Page& page, const NodeExplanation& explanation, const ColumnExplanation& column,
                bool chances) {
  const std::string of_column = fmt::format(", {} {}", of_task(explanation.task), column.name);
  PageTable paths =
      table_of("Paths by which transport reaches the node" + of_column,
               {{"other end", false}, {"its training label", false}, {"amount", true}, {"path", false}},
               false, chances);
  for (const ExplainedPath& path : column.paths)
    paths.rows.push_back({path.end.id, label_of(path.end), shown(path.amount), join(path.nodes, " – ")});
  PageTable neighbours = table_of("Without the edges to a neighbour" + of_column,
                                  {{"neighbour", false}, {"its training label", false}}, true, chances);
  for (const NeighbourEffect& effect : column.neighbours) {
    neighbours.rows.push_back(
        with_change({effect.neighbour.id, label_of(effect.neighbour)}, effect.without, chances));
  }
  PageTable labels = table_of("Without the label of a training node" + of_column,
                              {{"node", false}, {"label", false}}, true, chances);
  for (const LabelEffect& effect : column.labels)
    labels.rows.push_back(with_change({effect.of.id, label_of(effect.of)}, effect.without, chances));
  PageTable features = table_of("Gradient times input, and without a feature" + of_column,
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

// Why these nodes are explained.
std::string choice_text(const ChosenNodes& chosen, bool values) {
  if (!chosen.wrong && !chosen.unsure)
    return "No test node is wrong or unsure; qw report --node ID explains any.";
  const char* what = values          ? "These test nodes have the largest errors"
                     : !chosen.wrong ? "No test node is wrong; these are least sure"
                     : !chosen.unsure
                         ? "These test nodes are wrong and most sure of it"
                         : "The first of these test nodes are wrong and most sure of it, the others "
                           "are least sure";
  return fmt::format("{}; qw report --node ID explains others. ", what);
}

// By which run nodes are explained, and what the tables say.
std::string reading_text(const RunRecord& record, bool values) {
  std::string note;
  if (record.fit)
    note += "What is explained is one member of the ensemble, run 0. ";
  else if (record.trained_on.splits.size() > 1)
    note += "What is explained is the first run. ";
  return note + fmt::format(
                    "A change is what is predicted without the thing minus what is predicted with it: "
                    "below 0, it {}. Gradient times input is of what the network says.",
                    values ? "raised the value" : "spoke for the class");
}

void add_node(Page& page, const RunRecord& record, const NodeExplanation& explanation) {
  page.subsection("Node " + explanation.node.id);
  page.paragraph(about(record, explanation));
  const bool chances = explanation.task != Task::kRegression;
  if (explanation.around.has_positions)
    page.drawing(draw_neighbourhood(explanation.around, fmt::format("{} {}", of_task(explanation.task),
                                                                    explanation.columns.front().name)));
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
  ChosenNodes chosen;
  if (!asked) chosen = remarkable_nodes(record);
  const std::vector<std::string>& ids = asked ? options.nodes : chosen.ids;
  const bool values = record.trained_on.targets.task == Task::kRegression;
  std::vector<NodeExplanation> explanations;
  try {
    if (!ids.empty()) explanations = options.explain(ids);
  } catch (const Error& error) {
    if (asked) throw;
    return page.paragraph(fmt::format("No node is explained: {}", error.what()));
  }
  page.paragraph((asked ? "" : choice_text(chosen, values)) +
                 (explanations.empty() ? "" : reading_text(record, values)));
  for (const NodeExplanation& explanation : explanations) add_node(page, record, explanation);
  const bool drawn = std::any_of(explanations.begin(), explanations.end(),
                                 [](const NodeExplanation& each) { return each.around.has_positions; });
  if (!explanations.empty() && !drawn)
    page.paragraph("Drawings of neighbourhoods need Graphviz, which this qw was built without.");
}

}  // namespace qw
