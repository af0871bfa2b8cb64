#include "qw/learn/explain.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "learn/explain_parts.h"
#include "learn/run_files.h"

namespace qw {
namespace {

// Numbers that all candidates of one list may look at together, and the fewest that are left out anyway.
constexpr double kMostWork = 2e9;
constexpr int64_t kFewestLeftOut = 5;

std::vector<NodeId> neighbours_of(const Graph& graph, NodeId node) {
  std::vector<NodeId> neighbours;
  for (const Adjacency& adjacency : {graph.out(), graph.in()}) {
    const auto here = adjacency.neighbours_of(node);
    neighbours.insert(neighbours.end(), here.begin(), here.end());
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  return neighbours;
}

// What is predicted: the class, the labels or, of none, the likeliest, or all values.
std::vector<int64_t> predicted_columns(Task task, const NodeScores& scores) {
  std::vector<int64_t> predicted;
  for (size_t c = 0; c < scores.sum.size(); ++c) {
    if (task == Task::kRegression || (task == Task::kMultiLabel && scores.probabilities[c] > 0.5))
      predicted.push_back(static_cast<int64_t>(c));
  }
  if (!predicted.empty()) return predicted;
  return {std::max_element(scores.sum.begin(), scores.sum.end()) - scores.sum.begin()};
}

// All that explanations of one run share.
class Explainer {
 public:
  Explainer(const std::filesystem::path& folder, const TrainRequest& request, const TrainingMemory& memory,
            const Dataset& dataset, const ExplainOptions& options)
      : run_(folder, request, memory),
        dataset_(dataset),
        options_(options),
        names_(dataset, memory.trained_on, memory.trained_on.splits.at(run_.result().run)),
        groups_(feature_groups(memory.trained_on.schema)),
        whole_(run_.input_of(dataset)),
        said_(run_.predict(whole_)),
        flow_(whole_.flow.numel() == 0 ? whole_.flow : run_.result().scaling.in_units(whole_.flow)),
        temperature_(read_calibration(folder).temperature),
        sees_edges_(run_.model().pass_memory(false).graph != GraphUse::kNone || run_.solver().has_flow ||
                    run_.solver().finish != nullptr || memory.trained_on.schema.made_features) {}

  NodeExplanation explain(NodeId node) const {
    const Task task = dataset_.targets.task;
    const NodeScores scores = scores_of(said_, node, task, temperature_);
    NodeExplanation explanation{
        names_.of(node), task, names_.predicted(scores), {}, {}, {}, {}, {}, {}, 0, {}};
    explanation.has_flow = run_.solver().has_flow;
    explanation.has_network = run_.solver().has_network;
    explanation.spreads_labels = run_.solver().finish != nullptr;
    explanation.sees_edges = sees_edges_;
    for (size_t c = 0; c < scores.sum.size(); ++c) {
      ExplainedScore& score = explanation.scores.emplace_back();
      score.name = names_.column(static_cast<int64_t>(c));
      score.network = scores.network[c];
      score.transport = scores.transport[c];
      score.sum = scores.sum[c];
      if (!scores.probabilities.empty()) score.probability = scores.probabilities[c];
    }
    const WhatIf what_if(run_, dataset_, whole_, said_, temperature_, node);
    const std::vector<NodeId> neighbours = neighbours_of(dataset_.graph, node);
    explanation.neighbours = static_cast<int64_t>(neighbours.size());
    const auto affordable = static_cast<int64_t>(kMostWork / what_if.cost());
    const NodeQuestion question{
        names_,
        run_,
        whole_,
        flow_,
        what_if,
        groups_,
        node,
        sees_edges_ ? neighbours : std::vector<NodeId>(),
        options_,
        std::clamp(affordable, std::min(kFewestLeftOut, options_.most_left_out), options_.most_left_out)};
    LeftOut left_out(question);
    for (const int64_t c : options_.columns.empty() ? predicted_columns(task, scores) : options_.columns) {
      ColumnExplanation& column = explanation.columns.emplace_back();
      column.column = c;
      column.name = names_.column(c);
      if (explanation.has_flow) explain_paths(question, column);
      left_out.explain(column);
    }
    NodeQuestion drawn = question;
    drawn.neighbours = neighbours;
    explanation.around = neighbourhood_of(drawn, said_, temperature_, explanation.columns.front());
    return explanation;
  }

 private:
  StoredRun run_;
  const Dataset& dataset_;
  ExplainOptions options_;
  NodeNames names_;
  std::vector<FeatureGroup> groups_;
  PredictionInput whole_;
  Scores said_;
  at::Tensor flow_;
  double temperature_;
  bool sees_edges_;
};

}  // namespace

std::vector<NodeExplanation> explain_nodes(const std::filesystem::path& run_folder,
                                           const TrainRequest& request, const TrainingMemory& memory,
                                           const Dataset& dataset, std::span<const NodeId> nodes,
                                           const ExplainOptions& options) {
  const Explainer explainer(run_folder, request, memory, dataset, options);
  std::vector<NodeExplanation> explanations;
  for (const NodeId node : nodes) explanations.push_back(explainer.explain(node));
  return explanations;
}

}  // namespace qw
