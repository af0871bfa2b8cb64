#include "learn/what_if.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/feature_rows.h"
#include "nn/tensors.h"
#include "qw/data/schema.h"

namespace qw {
namespace {

constexpr int64_t kSmallGraph = 1000;  // nodes that are not worth cutting

// How many edges away a network looks, at most.
int64_t reach_of(const StoredRun& run) {
  const TrainRequest& request = run.request();
  const ModelInfo& info = find_model(request.model);
  if (run.model().pass_memory(false).graph == GraphUse::kNone) return 0;
  const bool filters = std::find(info.options.begin(), info.options.end(), "k") != info.options.end();
  return filters ? request.model_options.k : request.model_options.layers;
}

bool belongs_to_its_graph(const StoredRun& run, const PredictionInput& input) {
  return run.model().learned_adjacency({input.tensors, input.features, {}}).pattern.offsets.defined();
}

// Nodes at most `hops` edges away, in either direction, ascending; nothing when they are more than `most`.
std::vector<NodeId> surroundings(const Graph& graph, NodeId node, int64_t hops, size_t most) {
  std::vector<NodeId> found{node};
  std::vector<char> seen(graph.num_nodes(), 0);
  seen[node] = 1;
  size_t begin = 0;
  for (int64_t hop = 0; hop < hops; ++hop) {
    const size_t end = found.size();
    for (; begin < end; ++begin) {
      for (const Adjacency& adjacency : {graph.out(), graph.in()}) {
        for (const NodeId neighbour : adjacency.neighbours_of(found[begin])) {
          if (seen[neighbour]) continue;
          seen[neighbour] = 1;
          found.push_back(neighbour);
        }
      }
      if (found.size() > most) return {};
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The edges `kept` of a graph over `nodes`, of which it must have both ends; empty nodes: all.
Graph part_of(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<EdgeId>& kept) {
  EdgeList edges;
  edges.num_nodes = nodes.empty() ? graph.num_nodes() : static_cast<int64_t>(nodes.size());
  const auto place = [&](NodeId node) {
    return nodes.empty()
               ? node
               : static_cast<NodeId>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
  };
  for (const EdgeId edge : kept) {
    edges.heads.push_back(place(graph.heads()[edge]));
    edges.tails.push_back(place(graph.tails()[edge]));
    if (!graph.costs().empty()) edges.costs.push_back(graph.costs()[edge]);
    if (!graph.weights().empty()) edges.weights.push_back(graph.weights()[edge]);
  }
  return Graph::build(std::move(edges), {graph.directed(), EdgePolicy::kKeep, EdgePolicy::kKeep});
}

// Flow and carriers of `whole` on the edges `kept` of its graph; both ascending.
void take_flow(const PredictionInput& whole, const std::vector<EdgeId>& kept, PredictionInput& input) {
  input.flow = whole.flow;
  if (whole.flow.numel() == 0) return;
  input.flow = whole.flow.index_select(0, tensor_of(kept));
  input.carriers.clear();
  for (size_t k = 0; k < kept.size(); ++k) {
    if (std::binary_search(whole.carriers.begin(), whole.carriers.end(), kept[k]))
      input.carriers.push_back(static_cast<EdgeId>(k));
  }
}

LabelTensors without_row(const LabelTensors& labels, int64_t row) {
  const auto cut = [row](const at::Tensor& tensor) {
    if (tensor.size(0) == 0) return tensor;
    return at::cat({tensor.narrow(0, 0, row), tensor.narrow(0, row + 1, tensor.size(0) - row - 1)});
  };
  LabelTensors rest = labels;
  rest.nodes = cut(labels.nodes);
  rest.classes = cut(labels.classes);
  rest.targets = cut(labels.targets);
  rest.known =
      rest.targets.numel() == 0 ? rest.nodes.size(0) : at::isfinite(rest.targets).sum().item<int64_t>();
  return rest;
}

std::vector<double> numbers_of(const at::Tensor& row) {
  const at::Tensor numbers = row.to(at::kDouble).cpu().contiguous();
  const auto* begin = numbers.data_ptr<double>();
  return {begin, begin + numbers.numel()};
}

}  // namespace

NodeScores scores_of(const Scores& all, NodeId node, Task task, double temperature) {
  Scores row = all;
  row.network = all.network.narrow(0, node, 1);
  if (all.transport.numel() > 0) row.transport = all.transport.narrow(0, node, 1);
  NodeScores scores{numbers_of(row.network), numbers_of(row.transport), numbers_of(row.sum()), {}};
  scores.transport.resize(scores.network.size(), 0.0);
  if (task != Task::kRegression)
    scores.probabilities = calibrated(task, std::vector<NodeId>{0}, row.network.size(1), row, temperature);
  return scores;
}

WhatIf::WhatIf(const StoredRun& run, const Dataset& dataset, const PredictionInput& whole, const Scores& said,
               double temperature, NodeId node)
    : run_(run),
      dataset_(dataset),
      node_(node),
      temperature_(temperature),
      in_label_space_(said.in_label_space),
      edges_(whole.graph.num_edges()),
      input_(whole),
      with_all_(scores_of(said, node, dataset.targets.task, temperature)) {
  std::iota(edges_.begin(), edges_.end(), EdgeId{0});
  const int64_t nodes = whole.graph.num_nodes();
  if (nodes <= kSmallGraph || run.solver().finish != nullptr ||
      run.memory().trained_on.schema.made_features || belongs_to_its_graph(run, whole))
    return;
  const std::vector<NodeId> near =
      surroundings(whole.graph, node, reach_of(run) + 1, static_cast<size_t>(nodes) / 2);
  if (!near.empty()) take_region(near);
}

void WhatIf::take_region(const std::vector<NodeId>& nodes) {
  const PredictionInput whole = input_;
  const auto inside = [&](NodeId node) { return std::binary_search(nodes.begin(), nodes.end(), node); };
  std::vector<EdgeId> edges;
  for (const NodeId node : nodes) {
    const Adjacency out = whole.graph.out();
    for (size_t k = 0; k < out.degree(node); ++k) {
      if (inside(out.neighbours_of(node)[k])) edges.push_back(out.edges_of(node)[k]);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  is_whole_ = false;
  nodes_ = nodes;
  edges_ = std::move(edges);
  input_.graph = part_of(whole.graph, nodes_, edges_);
  input_.tensors = GraphTensors(input_.graph, run_.tensors());
  input_.features =
      NodeMatrix(run_.memory().scaling.apply(rows_of(dataset_.features, nodes_)), run_.tensors());
  take_flow(whole, edges_, input_);
  with_all_ = predict(input_);
}

NodeId WhatIf::place_of(NodeId node) const {
  if (is_whole_) return node;
  return static_cast<NodeId>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
}

NodeScores WhatIf::predict(const PredictionInput& input) const {
  return scores_of(run_.predict(input), place_of(node_), dataset_.targets.task, temperature_);
}

// `dropped` are edges of the region's graph, ascending.
PredictionInput WhatIf::without_edges(const std::vector<EdgeId>& dropped) const {
  PredictionInput input = input_;
  std::vector<EdgeId> kept;
  for (EdgeId edge = 0; edge < input_.graph.num_edges(); ++edge) {
    if (!std::binary_search(dropped.begin(), dropped.end(), edge)) kept.push_back(edge);
  }
  if (belongs_to_its_graph(run_, input_)) {
    const at::Tensor gone = tensor_of(dropped);
    input.edge_shares =
        at::ones({input_.graph.num_edges()}, at::kFloat).index_fill_(0, gone, 0).to(run_.tensors());
    if (input_.flow.numel() > 0) input.flow = input_.flow.clone().index_fill_(0, gone, 0);
    return input;
  }
  input.graph = part_of(input_.graph, {}, kept);
  input.tensors = GraphTensors(input.graph, run_.tensors());
  take_flow(input_, kept, input);
  if (run_.memory().trained_on.schema.made_features) {
    Dataset changed;
    changed.name = dataset_.name;
    changed.graph = input.graph;
    conform(changed, run_.memory().trained_on.schema);
    input.features = NodeMatrix(run_.memory().scaling.apply(changed.features), run_.tensors());
  }
  return input;
}

NodeScores WhatIf::without_neighbour(NodeId neighbour) const {
  const at::NoGradGuard no_gradient;
  const NodeId here = place_of(node_), there = place_of(neighbour);
  std::vector<EdgeId> dropped;
  for (const Adjacency& adjacency : {input_.graph.out(), input_.graph.in()}) {
    for (size_t k = 0; k < adjacency.degree(here); ++k) {
      if (adjacency.neighbours_of(here)[k] == there) dropped.push_back(adjacency.edges_of(here)[k]);
    }
  }
  std::sort(dropped.begin(), dropped.end());
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  return predict(without_edges(dropped));
}

NodeScores WhatIf::without_features(const std::vector<int64_t>& columns) const {
  const at::NoGradGuard no_gradient;
  PredictionInput input = input_;
  const at::Tensor gone = tensor_of(columns, run_.tensors().device());
  const at::Tensor numbers = input_.features.numbers();
  if (input_.features.is_sparse()) {
    const at::Tensor kept = at::ones({input_.features.columns()}, run_.tensors()).index_fill_(0, gone, 0);
    input.features =
        input_.features.with_numbers(numbers * kept.index_select(0, input_.features.column_of_number()));
  } else {
    input.features = input_.features.with_numbers(numbers.clone().index_fill_(1, gone, 0));
  }
  return predict(input);
}

NodeScores WhatIf::without_label(int64_t row) const {
  const at::NoGradGuard no_gradient;
  PredictionInput input = input_;
  input.labels = without_row(input_.labels, row);
  return predict(input);
}

FeatureShares WhatIf::shares(int64_t column) const {
  const at::AutoGradMode with_gradient(true);
  PredictionInput input = input_;
  const at::Tensor numbers = input_.features.numbers().detach().clone().requires_grad_(true);
  input.features = input_.features.with_numbers(numbers);
  const at::Tensor said = run_.network(input, in_label_space_);
  const NodeId here = place_of(node_);
  const int64_t nodes = input_.features.rows(), columns = input_.features.columns();
  FeatureShares shares{std::vector<double>(columns, 0.0), std::vector<double>(columns, 0.0),
                       std::vector<double>(columns, 0.0), std::vector<double>(nodes, 0.0)};
  if (!said.requires_grad()) return shares;
  const at::Tensor ones = at::zeros_like(said);
  ones[here][column].fill_(1);
  const at::Tensor gradient =
      torch::autograd::grad({said}, {numbers}, {ones}, c10::nullopt, false, /*allow_unused=*/true).front();
  if (!gradient.defined()) return shares;
  const std::vector<double> products = numbers_of((gradient * numbers).detach());
  const auto add = [&](int64_t row, int64_t of, double product) {
    (row == here ? shares.own : shares.others)[of] += product;
    shares.size[of] += std::fabs(product);
    shares.of_node[row] += product;
  };
  if (!input_.features.is_sparse()) {
    for (size_t at = 0; at < products.size(); ++at)
      add(static_cast<int64_t>(at) / columns, static_cast<int64_t>(at) % columns, products[at]);
    return shares;
  }
  const std::vector<double> column_of = numbers_of(input_.features.column_of_number());
  const std::vector<double> row_of = numbers_of(input_.features.row_of_number());
  for (size_t at = 0; at < products.size(); ++at)
    add(static_cast<int64_t>(row_of[at]), static_cast<int64_t>(column_of[at]), products[at]);
  return shares;
}

double WhatIf::share_of(const FeatureShares& shares, NodeId of) const { return shares.of_node[place_of(of)]; }

double WhatIf::cost() const {
  return 100.0 * static_cast<double>(input_.graph.num_nodes() + input_.graph.num_edges()) +
         static_cast<double>(input_.features.stored());
}

}  // namespace qw
