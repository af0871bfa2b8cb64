#include "learn/explain_parts.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nn/tensors.h"
#include "qw/transport/paths.h"

namespace qw {
namespace {

// Flows are stored as float32: what is smaller than this share of the largest is rounding.
constexpr double kRounding = 1e-7;

std::vector<double> column_of(const at::Tensor& flow, int64_t column) {
  const at::Tensor numbers = flow.select(1, column).to(at::kDouble).contiguous();
  const auto* begin = numbers.data_ptr<double>();
  return {begin, begin + numbers.numel()};
}

struct Path {
  double amount = 0;
  std::vector<NodeId> nodes;  // from the node that is explained to the other end
};

std::vector<Path> paths_to(const Graph& graph, const std::vector<double>& flow, NodeId node) {
  double largest = 0;
  for (const double value : flow) largest = std::max(largest, std::fabs(value));
  std::vector<Path> paths;
  for (const FlowPath& path : paths_of_node(graph, flow, node, kRounding * largest).paths) {
    const bool receives = path.sink == node;
    paths.push_back({receives ? path.amount : -path.amount, nodes_along(graph, path)});
    if (receives) std::reverse(paths.back().nodes.begin(), paths.back().nodes.end());
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [](const Path& a, const Path& b) { return std::fabs(a.amount) > std::fabs(b.amount); });
  return paths;
}

// The places of `weights`, the largest first, those of one weight in their order; at most so many.
std::vector<size_t> largest_of(const std::vector<double>& weights, size_t most) {
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

// Keeps the first `listed` of `all`, the largest change first.
template <class Effect>
std::vector<Effect> largest_changes(std::vector<Effect> all, size_t listed, NotShown& more) {
  std::stable_sort(all.begin(), all.end(), [](const Effect& a, const Effect& b) {
    return std::fabs(a.without.score) > std::fabs(b.without.score);
  });
  more.count = static_cast<int64_t>(all.size() - std::min(all.size(), listed));
  all.resize(std::min(all.size(), listed));
  return all;
}

}  // namespace

NodeNames::NodeNames(const Dataset& dataset, const TrainedOn& trained_on, const Split& split)
    : dataset_(dataset),
      trained_on_(trained_on),
      trained_as_(places(dataset, trained_on)),
      parts_(parts_of(split, trained_on.graph.num_nodes())) {}

std::string NodeNames::column(int64_t column) const {
  const Targets& targets = dataset_.targets;
  return targets.names.empty() ? fmt::format("{}", column) : targets.names[column];
}

NamedNode NodeNames::of(NodeId node) const {
  NamedNode named{node, dataset_.node_id(node), part_name(part_of(node)), trains(node), {}};
  if (!named.trains) return named;
  const Targets& targets = trained_on_.targets;
  const NodeId then = trained_as_[node];
  if (targets.task == Task::kClassification) {
    named.label.names = {column(targets.classes[then])};
    return named;
  }
  for (int64_t c = 0; c < targets.width; ++c) {
    const double value = targets.values[then * targets.width + c];
    if (targets.task == Task::kRegression) {
      named.label.values.push_back(value);
    } else if (value > 0.5) {
      named.label.names.push_back(column(c));
    }
  }
  return named;
}

NodeAnswer NodeNames::predicted(const NodeScores& scores) const {
  const Task task = dataset_.targets.task;
  if (task == Task::kRegression) return {{}, scores.sum};
  if (task == Task::kClassification)
    return {{column(std::max_element(scores.sum.begin(), scores.sum.end()) - scores.sum.begin())}, {}};
  NodeAnswer answer;
  for (size_t c = 0; c < scores.probabilities.size(); ++c) {
    if (scores.probabilities[c] > 0.5) answer.names.push_back(column(static_cast<int64_t>(c)));
  }
  return answer;
}

std::vector<FeatureGroup> feature_groups(const DataSchema& schema) {
  std::vector<FeatureGroup> groups;
  int64_t next = 0;
  for (const TableColumn& column : schema.columns) {
    if (column.role != "feature") continue;
    FeatureGroup& group = groups.emplace_back(FeatureGroup{column.name, {}});
    const size_t width = column.type == "categories" ? column.values.size() : 1;
    for (size_t k = 0; k < width; ++k) group.columns.push_back(next++);
  }
  if (next == schema.features) return groups;
  groups.clear();
  for (int64_t feature = 0; feature < schema.features; ++feature) {
    const bool named = !schema.feature_names.empty();
    groups.push_back({named ? schema.feature_names[feature] : fmt::format("feature {}", feature), {feature}});
  }
  return groups;
}

void explain_paths(const NodeQuestion& question, ColumnExplanation& column) {
  const std::vector<Path> paths =
      paths_to(question.whole.graph, column_of(question.flow, column.column), question.node);
  const size_t top = question.options.top == 0 ? paths.size() : static_cast<size_t>(question.options.top);
  for (size_t k = 0; k < paths.size(); ++k) {
    column.brought += paths[k].amount;
    if (k >= top) {
      ++column.more_paths.count;
      column.more_paths.sum += paths[k].amount;
      continue;
    }
    ExplainedPath shown{paths[k].amount, {}, question.names.of(paths[k].nodes.back())};
    for (const NodeId node : paths[k].nodes) shown.nodes.push_back(question.names.dataset().node_id(node));
    column.paths.push_back(std::move(shown));
  }
}

ScoreChange LeftOut::change(const NodeScores& without, int64_t column) const {
  const NodeScores& with = question_.what_if.with_all();
  ScoreChange change;
  change.score = without.sum[column] - with.sum[column];
  if (!with.probabilities.empty())
    change.probability = without.probabilities[column] - with.probabilities[column];
  return change;
}

size_t LeftOut::listed(size_t count) const {
  return question_.options.top == 0 ? count : std::min(count, static_cast<size_t>(question_.options.top));
}

void LeftOut::neighbours(const FeatureShares& shares, ColumnExplanation& column) {
  std::vector<double> weights;
  for (const NodeId neighbour : question_.neighbours) {
    // A label that is spread over the edge counts for more than what a network makes of features.
    const bool spreads = question_.run.solver().finish != nullptr && question_.names.trains(neighbour);
    weights.push_back(spreads                  ? INFINITY
                      : shares.of_node.empty() ? 0.0
                                               : std::fabs(question_.what_if.share_of(shares, neighbour)));
  }
  std::vector<NeighbourEffect> effects;
  for (const size_t k : largest_of(weights, question_.most_left_out)) {
    const NodeId neighbour = question_.neighbours[k];
    auto [known, is_new] = without_neighbour_.try_emplace(neighbour);
    if (is_new) known->second = question_.what_if.without_neighbour(neighbour);
    effects.push_back({question_.names.of(neighbour), change(known->second, column.column)});
  }
  column.more_neighbours.unknown = static_cast<int64_t>(weights.size() - effects.size());
  column.neighbours = largest_changes(std::move(effects), listed(weights.size()), column.more_neighbours);
}

void LeftOut::features(const FeatureShares& shares, ColumnExplanation& column) {
  std::vector<FeatureEffect> moved;
  std::vector<double> weights;
  std::vector<size_t> places;
  for (size_t g = 0; g < question_.groups.size(); ++g) {
    FeatureEffect effect{question_.groups[g].name, 0, 0, {}};
    double weight = 0;
    for (const int64_t feature : question_.groups[g].columns) {
      effect.own += shares.own[feature];
      effect.neighbourhood += shares.others[feature];
      weight += shares.size[feature];
    }
    column.gradient_times_input += effect.own + effect.neighbourhood;
    if (weight == 0) continue;
    moved.push_back(std::move(effect));
    weights.push_back(weight);
    places.push_back(g);
  }
  std::vector<FeatureEffect> effects;
  for (const size_t k : largest_of(weights, question_.most_left_out)) {
    auto [known, is_new] = without_group_.try_emplace(places[k]);
    if (is_new) known->second = question_.what_if.without_features(question_.groups[places[k]].columns);
    moved[k].without = change(known->second, column.column);
    effects.push_back(moved[k]);
  }
  column.more_features.unknown = static_cast<int64_t>(moved.size() - effects.size());
  column.features = largest_changes(std::move(effects), listed(moved.size()), column.more_features);
  column.more_features.sum = column.gradient_times_input;
  for (const FeatureEffect& effect : column.features)
    column.more_features.sum -= effect.own + effect.neighbourhood;
}

void LeftOut::labels(ColumnExplanation& column) {
  const at::Tensor nodes = question_.whole.labels.nodes.to(at::kLong).cpu().contiguous();
  std::map<NodeId, int64_t> row_of;
  for (int64_t row = 0; row < nodes.numel(); ++row)
    row_of[static_cast<NodeId>(nodes.data_ptr<int64_t>()[row])] = row;
  if (row_of.size() < 2) {  // a prediction from no label says nothing of this one
    column.more_labels.unknown = static_cast<int64_t>(row_of.size());
    return;
  }
  // The nearest, level by level.
  const Graph& graph = question_.whole.graph;
  std::vector<NodeId> order{question_.node};
  std::vector<char> seen(graph.num_nodes(), 0);
  seen[question_.node] = 1;
  std::vector<LabelEffect> effects;
  for (size_t k = 0; k < order.size() && static_cast<int64_t>(effects.size()) < question_.most_left_out;
       ++k) {
    const NodeId node = order[k];
    if (const auto found = row_of.find(node); found != row_of.end()) {
      auto [known, is_new] = without_label_.try_emplace(found->second);
      if (is_new) known->second = question_.what_if.without_label(found->second);
      effects.push_back({question_.names.of(node), change(known->second, column.column)});
    }
    for (const Adjacency& adjacency : {graph.in(), graph.out()}) {
      for (const NodeId neighbour : adjacency.neighbours_of(node)) {
        if (!seen[neighbour]) order.push_back(neighbour);
        seen[neighbour] = 1;
      }
    }
  }
  column.more_labels.unknown = static_cast<int64_t>(row_of.size() - effects.size());
  column.labels = largest_changes(std::move(effects), listed(row_of.size()), column.more_labels);
}

void LeftOut::explain(ColumnExplanation& column) {
  const bool has_network = question_.run.solver().has_network && !question_.groups.empty();
  const FeatureShares shares = has_network ? question_.what_if.shares(column.column) : FeatureShares{};
  neighbours(shares, column);
  if (has_network) features(shares, column);
  if (question_.run.solver().finish != nullptr) labels(column);
}

}  // namespace qw
