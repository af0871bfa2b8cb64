#include "cli/learn/explain_text.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"
#include "core/text.h"

namespace qw::cli {
namespace {

// A change of a probability; what rounds to none has no sign.
std::string change_text(double change) {
  const std::string text = fmt::format("{:+.4f}", change);
  return text == "-0.0000" ? "+0.0000" : text;
}

// Adding 0 turns -0 into 0.
std::string plain(double value) { return fmt::format("{:.5g}", value + 0.0); }
std::string with_sign(double value) { return fmt::format("{:+.5g}", value + 0.0); }

// What training was told of a node, as one cell.
std::string label_cell(const NamedNode& node) {
  return node.trains ? printable(node.label.text()) : "unlabelled";
}

std::string scores_text(const NodeExplanation& explanation) {
  const bool has_probabilities = explanation.task != Task::kRegression;
  std::vector<std::string> header{has_probabilities ? "class" : "value", "network", "transport", "sum"};
  if (has_probabilities) header.emplace_back("probability");
  TextTable table(header);
  for (const ExplainedScore& score : explanation.scores) {
    std::vector<std::string> row{printable(score.name), plain(score.network), with_sign(score.transport),
                                 plain(score.sum)};
    if (has_probabilities) row.push_back(fmt::format("{:.4f}", score.probability));
    table.add(row);
  }
  return table.text();
}

std::string paths_text(const NodeExplanation& explanation, const ColumnExplanation& column) {
  const std::string name = printable(column.name);
  if (explanation.neighbours == 0)
    return fmt::format("\n{}: the node has no edges, so nothing can reach it\n", name);
  if (column.paths.empty()) return fmt::format("\n{}: transport brings nothing to this node\n", name);
  const size_t count = column.paths.size() + static_cast<size_t>(column.more_paths.count);
  std::string text =
      fmt::format("\n{}: transport brings {}, by {} path{}; the other end of a path gets the opposite\n",
                  name, with_sign(column.brought), count, count == 1 ? "" : "s");
  TextTable table({"amount", "other end", "training label", "path"});
  for (const ExplainedPath& path : column.paths) {
    std::vector<std::string> ids;
    for (const std::string& id : path.nodes) ids.push_back(printable(id));
    table.add({with_sign(path.amount), ids.back(), label_cell(path.end), join(ids, " - ")});
  }
  text += table.text();
  if (column.more_paths.count > 0)
    text +=
        fmt::format("and {} more, together {}\n", column.more_paths.count, with_sign(column.more_paths.sum));
  return text;
}

std::vector<std::string> with_change(std::vector<std::string> row, const ScoreChange& change) {
  row.push_back(with_sign(change.score));
  if (!std::isnan(change.probability)) row.push_back(change_text(change.probability));
  return row;
}

std::vector<std::string> header_of(const NodeExplanation& explanation, std::vector<std::string> header) {
  header.emplace_back("score");
  if (explanation.task != Task::kRegression) header.emplace_back("probability");
  return header;
}

std::string not_shown(const NotShown& more) {
  std::string text;
  if (more.count > 0) text += fmt::format("and {} more that change less\n", more.count);
  if (more.unknown > 0) text += fmt::format("{} more were not left out, to bound the work\n", more.unknown);
  return text;
}

std::string neighbours_text(const NodeExplanation& explanation, const ColumnExplanation& column) {
  if (explanation.neighbours == 0) return "";
  const std::string name = printable(column.name);
  if (!explanation.sees_edges)
    return fmt::format("\n{}: the network does not look at edges, so no neighbour counts\n", name);
  TextTable table(header_of(explanation, {"neighbour", "training label"}));
  for (const NeighbourEffect& effect : column.neighbours) {
    table.add(with_change({printable(effect.neighbour.id), label_cell(effect.neighbour)}, effect.without));
  }
  return fmt::format("\n{}: what changes without the edges to a neighbour\n{}{}", name, table.text(),
                     not_shown(column.more_neighbours));
}

std::string features_text(const NodeExplanation& explanation, const ColumnExplanation& column) {
  const std::string name = printable(column.name);
  if (column.features.empty())
    return fmt::format("\n{}: no feature moves what the network says of this node\n", name);
  TextTable table(header_of(explanation, {"feature", "own", "neighbourhood"}));
  for (const FeatureEffect& effect : column.features) {
    table.add(with_change({printable(effect.name), with_sign(effect.own), with_sign(effect.neighbourhood)},
                          effect.without));
  }
  return fmt::format(
      "\n{}: gradient times input, {} of what the network says, and what changes without a "
      "feature\n{}{}",
      name, with_sign(column.gradient_times_input), table.text(), not_shown(column.more_features));
}

std::string labels_text(const NodeExplanation& explanation, const ColumnExplanation& column) {
  const std::string name = printable(column.name);
  if (column.labels.empty()) return fmt::format("\n{}: no training label reaches this node\n", name);
  TextTable table(header_of(explanation, {"training node", "label"}));
  for (const LabelEffect& effect : column.labels)
    table.add(with_change({printable(effect.of.id), label_cell(effect.of)}, effect.without));
  return fmt::format("\n{}: what changes without the label of a training node\n{}{}", name, table.text(),
                     not_shown(column.more_labels));
}

}  // namespace

std::string explanation_text(const NodeExplanation& explanation, const std::string& solver) {
  std::string text = scores_text(explanation);
  if (!explanation.has_flow) {
    text +=
        fmt::format("\nsolver {} has no transport: {}\n", solver,
                    !explanation.spreads_labels ? "the network alone decides"
                    : explanation.has_network ? "labels are spread over the edges and added to the network's"
                                              : "labels are spread over the edges, and nothing else counts");
  }
  for (const ColumnExplanation& column : explanation.columns) {
    if (explanation.has_flow) text += paths_text(explanation, column);
    text += neighbours_text(explanation, column);
    if (explanation.spreads_labels) text += labels_text(explanation, column);
    if (explanation.has_network) text += features_text(explanation, column);
  }
  return text;
}

}  // namespace qw::cli
