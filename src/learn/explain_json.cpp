#include <cmath>

#include "qw/learn/explain.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// One class or one value as it is; labels and several values as a list.
Json answer_json(const NodeAnswer& answer, Task task) {
  Json list = Json::array();
  for (const std::string& name : answer.names) list.push_back(name);
  for (const double value : answer.values) list.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
  const bool one = task == Task::kClassification || (task == Task::kRegression && list.size() == 1);
  return one ? list.at(0) : list;
}

Json node_json(const NamedNode& node, Task task) {
  return {{"node", node.id},
          {"training", node.trains},
          {"label", node.trains ? answer_json(node.label, task) : Json(nullptr)}};
}

void add_change(Json& entry, const ScoreChange& change) {
  entry["score_change"] = change.score;
  if (!std::isnan(change.probability)) entry["probability_change"] = change.probability;
}

Json paths_json(const ColumnExplanation& column, Task task) {
  Json paths = Json::array();
  for (const ExplainedPath& path : column.paths) {
    Json entry = node_json(path.end, task);
    entry["amount"] = path.amount;
    entry["path"] = path.nodes;
    paths.push_back(std::move(entry));
  }
  return {{"class", column.name},
          {"amount", column.brought},
          {"paths", paths},
          {"more", {{"paths", column.more_paths.count}, {"amount", column.more_paths.sum}}}};
}

Json neighbours_json(const ColumnExplanation& column, Task task) {
  Json list = Json::array();
  for (const NeighbourEffect& effect : column.neighbours) {
    Json entry = node_json(effect.neighbour, task);
    add_change(entry, effect.without);
    list.push_back(std::move(entry));
  }
  return {{"class", column.name},
          {"neighbours", list},
          {"more",
           {{"neighbours", column.more_neighbours.count}, {"not_computed", column.more_neighbours.unknown}}}};
}

Json features_json(const ColumnExplanation& column) {
  Json list = Json::array();
  for (const FeatureEffect& effect : column.features) {
    Json entry{{"name", effect.name}, {"own", effect.own}, {"neighbourhood", effect.neighbourhood}};
    add_change(entry, effect.without);
    list.push_back(std::move(entry));
  }
  return {{"class", column.name},
          {"gradient_times_input", column.gradient_times_input},
          {"features", list},
          {"more",
           {{"features", column.more_features.count},
            {"gradient_times_input", column.more_features.sum},
            {"not_computed", column.more_features.unknown}}}};
}

Json labels_json(const ColumnExplanation& column, Task task) {
  Json list = Json::array();
  for (const LabelEffect& effect : column.labels) {
    Json entry = node_json(effect.of, task);
    add_change(entry, effect.without);
    list.push_back(std::move(entry));
  }
  return {{"class", column.name},
          {"labels", list},
          {"more", {{"labels", column.more_labels.count}, {"not_computed", column.more_labels.unknown}}}};
}

// Null where the solver has no such thing.
template <class Part>
Json part_json(const NodeExplanation& explanation, bool has_it, const Part& part) {
  if (!has_it) return nullptr;
  Json list = Json::array();
  for (const ColumnExplanation& column : explanation.columns) list.push_back(part(column));
  return list;
}

}  // namespace

nlohmann::ordered_json to_json(const NodeExplanation& explanation) {
  const Task task = explanation.task;
  Json document{{"task", task_name(task)}};
  document.update(node_json(explanation.node, task));
  document["part"] = explanation.node.part;
  document["prediction"] = answer_json(explanation.predicted, task);
  for (const ExplainedScore& score : explanation.scores) {
    Json row{{"class", score.name},
             {"network", score.network},
             {"transport", score.transport},
             {"sum", score.sum}};
    if (!std::isnan(score.probability)) row["probability"] = score.probability;
    document["scores"].push_back(std::move(row));
  }
  document["transport"] = part_json(explanation, explanation.has_flow,
                                    [&](const ColumnExplanation& each) { return paths_json(each, task); });
  document["neighbours"] = part_json(explanation, explanation.sees_edges, [&](const ColumnExplanation& each) {
    return neighbours_json(each, task);
  });
  document["features"] = part_json(explanation, explanation.has_network,
                                   [&](const ColumnExplanation& each) { return features_json(each); });
  document["labels"] = part_json(explanation, explanation.spreads_labels,
                                 [&](const ColumnExplanation& each) { return labels_json(each, task); });
  return document;
}

}  // namespace qw
