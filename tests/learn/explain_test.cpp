// Explanations against closed forms and against runs on data with the thing left out.
#include "qw/learn/explain.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include "data/missing_features.h"
#include "learn/small_training.h"

namespace qw {
namespace {

using test::small_data;
using test::small_request;

// A training of some epochs and what is known of it.
struct Trained {
  Dataset data;
  TrainRequest request;
  test::TemporaryFolder folder;
  TrainingMemory memory;

  Trained(Dataset given, TrainRequest asked) : data(std::move(given)), request(std::move(asked)) {
    train(data, request, folder.path());
    memory = read_memory(folder.path());
  }
  Reloaded on(const Dataset& other) const { return reload(folder.path() / "run-0", request, memory, other); }
  NodeExplanation explain(NodeId node, ExplainOptions options = {}) const {
    if (options.columns.empty()) {
      for (int64_t c = 0; c < data.targets.width; ++c) options.columns.push_back(c);
    }
    return explain_nodes(folder.path() / "run-0", request, memory, data, std::vector{node}, options).front();
  }
};

double score_at(const Reloaded& run, NodeId node, int64_t column) {
  return run.scores.sum()[node][column].item<double>();
}

Dataset without_edges_between(const Dataset& data, NodeId a, NodeId b) {
  Dataset rest = data;
  EdgeList edges;
  edges.num_nodes = data.graph.num_nodes();
  for (EdgeId edge = 0; edge < data.graph.num_edges(); ++edge) {
    const NodeId head = data.graph.heads()[edge], tail = data.graph.tails()[edge];
    if ((head == a && tail == b) || (head == b && tail == a)) continue;
    edges.heads.push_back(head);
    edges.tails.push_back(tail);
    if (!data.graph.weights().empty()) edges.weights.push_back(data.graph.weights()[edge]);
  }
  rest.graph = Graph::build(edges, {data.graph.directed()});
  return rest;
}

Dataset large_data() {
  CsbmOptions csbm;
  csbm.nodes = 2500;
  csbm.degree = 2.5;
  csbm.features = 6;
  csbm.classes = 3;
  return make_csbm(csbm);
}

NodeId node_with_neighbours(const Dataset& data, size_t count) {
  NodeId node = 0;
  while (data.graph.out().degree(node) != count) ++node;
  return node;
}

// Each neighbour that is left out changes scores as it does on data without the edge.
void expect_changes_of_other_data(const Trained& trained, NodeId node) {
  const Reloaded all = trained.on(trained.data);
  const NodeExplanation explanation = trained.explain(node);
  ASSERT_FALSE(explanation.columns.front().neighbours.empty());
  for (const ColumnExplanation& column : explanation.columns) {
    for (const NeighbourEffect& effect : column.neighbours) {
      const Reloaded without = trained.on(without_edges_between(trained.data, node, effect.neighbour.node));
      const double before = score_at(all, node, column.column);
      EXPECT_NEAR(effect.without.score, score_at(without, node, column.column) - before,
                  2e-5 * (1 + std::fabs(before)))
          << trained.request.model << ' ' << trained.request.learn.solver << ' ' << effect.neighbour.id;
    }
  }
}

TEST(ExplainNodes, ScoresAreThoseOfPredictions) {
  const Trained trained(small_data(), small_request("bregman"));
  const Reloaded all = trained.on(trained.data);
  for (const NodeId node : {0, 7, 44}) {
    const NodeExplanation explanation = trained.explain(node);
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(explanation.scores[c].sum, score_at(all, node, c));
      EXPECT_EQ(explanation.scores[c].network, all.scores.network[node][c].item<double>());
    }
  }
}

// One layer is linear: the products sum to the score without the bias.
TEST(ExplainNodes, GradientTimesInputOfALinearNetworkIsItsScoreWithoutTheBias) {
  for (const bool sparse : {false, true}) {
    Dataset data = small_data();
    if (sparse) {
      Features& dense = data.features;
      Features rows{dense.rows, dense.columns, true, {}, {0}, {}, {}, {}};
      for (size_t at = 0; at < dense.dense.size(); ++at) {
        const auto column = static_cast<int32_t>(at % dense.columns);
        if (at % 3 == 0) {
          rows.indices.push_back(column);
          rows.values.push_back(dense.dense[at]);
        }
        if (column == dense.columns - 1) rows.offsets.push_back(static_cast<int64_t>(rows.values.size()));
      }
      dense = rows;
    }
    TrainRequest request = small_request("ce");
    request.model_options.layers = 1;
    const Trained trained(data, request);
    const at::Tensor bias = trained.on(data).model->parameters().find("conv1.bias");
    for (const NodeId node : {0, 13, 30}) {
      const NodeExplanation explanation = trained.explain(node, {{}, 0, 40});
      for (const ColumnExplanation& column : explanation.columns) {
        double sum = bias[column.column].item<double>();
        for (const FeatureEffect& effect : column.features) sum += effect.own + effect.neighbourhood;
        EXPECT_NEAR(sum, explanation.scores[column.column].network, 1e-5);
        for (const FeatureEffect& effect : column.features)
          EXPECT_NEAR(effect.without.score, -effect.own - effect.neighbourhood, 1e-5) << effect.name;
      }
    }
  }
}

TEST(ExplainNodes, WithoutANeighbourScoresAreThoseOfDataWithoutTheEdge) {
  for (const ModelInfo& info : models()) {
    if (info.name == "none" || info.name == "gcn-lpa") continue;
    TrainRequest request = small_request("ce");
    request.model = info.name;
    request.model_options.heads = 2;
    request.model_options.k = 3;
    const Trained trained(small_data(), request);
    if (info.name == "mlp") {
      EXPECT_FALSE(trained.explain(3).sees_edges);
      EXPECT_TRUE(trained.explain(3).columns.front().neighbours.empty());
      continue;
    }
    expect_changes_of_other_data(trained, node_with_neighbours(trained.data, 3));
  }
}

// Only what lies around the node is computed; three edges away and the degrees there must be enough.
TEST(ExplainNodes, SurroundingsAreEnoughInALargeGraph) {
  for (const char* model : {"gcn", "gat", "graphsage", "gin", "appnp"}) {
    TrainRequest request = small_request("bregman");
    request.model = model;
    request.model_options.heads = 2;
    request.model_options.k = 2;
    request.learn.epochs = 3;
    const Trained trained(large_data(), request);
    expect_changes_of_other_data(trained, node_with_neighbours(trained.data, 3));
  }
}

TEST(ExplainNodes, EverySolverHasAnAnswer) {
  for (const SolverInfo& solver : solvers()) {
    TrainRequest request = small_request(solver.name);
    if (!solver.has_network) request.model = "none";
    if (solver.name == "gcn-lpa") request.model = "gcn-lpa";
    Dataset data = solver.name == "mse" ? test::data_with_values() : small_data();
    const Trained trained(data, request);
    const NodeId node = node_with_neighbours(data, 3);
    const NodeExplanation explanation = trained.explain(node);
    ASSERT_EQ(explanation.columns.size(), static_cast<size_t>(data.targets.width)) << solver.name;
    for (const ColumnExplanation& column : explanation.columns) {
      EXPECT_EQ(column.neighbours.size(), 3u) << solver.name;
      for (const NeighbourEffect& effect : column.neighbours)
        EXPECT_TRUE(std::isfinite(effect.without.score));
      EXPECT_EQ(column.features.empty(), !solver.has_network) << solver.name;
      EXPECT_EQ(column.labels.empty(), solver.finish == nullptr) << solver.name;
    }
    if (solver.name != "gcn-lpa") expect_changes_of_other_data(trained, node);
  }
}

// Its matrix belongs to one graph: an edge without weight is no edge.
TEST(ExplainNodes, GcnLpaLeavesEdgesOut) {
  TrainRequest request = small_request("ce");
  request.model = "gcn-lpa";
  request.model_options.layers = 1;
  const Trained trained(small_data(), request);
  const NodeId node = node_with_neighbours(trained.data, 3);
  const NodeExplanation explanation = trained.explain(node);
  const Reloaded all = trained.on(trained.data);
  // One layer: a mean, with learned weights, of what all in the neighbourhood say.
  const GraphTensors graph(trained.data.graph, test::options(at::kFloat));
  const NodeMatrix features(trained.data.features, test::options(at::kFloat));
  const at::NoGradGuard no_gradient;
  const PropagationMatrix matrix = all.model->learned_adjacency({graph, features, {}});
  const at::Tensor said = features.times(all.model->parameters().find("conv1.lin.weight"));
  const auto* offsets = matrix.pattern.offsets.cpu().data_ptr<int64_t>();
  const int64_t begin = offsets[node], end = offsets[node + 1];
  const at::Tensor columns = matrix.pattern.columns.cpu();
  for (const ColumnExplanation& column : explanation.columns) {
    for (const NeighbourEffect& effect : column.neighbours) {
      double sum = 0, weights = 0;
      for (int64_t at = begin; at < end; ++at) {
        const auto j = columns[at].item<int32_t>();
        if (j == effect.neighbour.node) continue;
        const double weight = matrix.values[at].item<double>();
        sum += weight * said[j][column.column].item<double>();
        weights += weight;
      }
      const double bias = all.model->parameters().find("conv1.lin.bias")[column.column].item<double>();
      EXPECT_NEAR(effect.without.score, sum / weights + bias - score_at(all, node, column.column), 1e-5);
    }
  }
}

TEST(ExplainNodes, WithoutALabelAsIfItHadNotTrained) {
  for (const char* solver : {"label-propagation", "correct-and-smooth"}) {
    TrainRequest request = small_request(solver);
    if (std::string(solver) == "label-propagation") request.model = "none";
    const Trained trained(small_data(), request);
    const NodeId node = node_with_neighbours(trained.data, 3);
    const NodeExplanation explanation = trained.explain(node);
    const Reloaded all = trained.on(trained.data);
    for (const ColumnExplanation& column : explanation.columns) {
      ASSERT_FALSE(column.labels.empty());
      for (const LabelEffect& effect : column.labels) {
        EXPECT_TRUE(effect.of.trains);
        TrainingMemory fewer = trained.memory;
        std::erase(fewer.trained_on.splits[0].train, effect.of.node);
        const Reloaded without =
            reload(trained.folder.path() / "run-0", trained.request, fewer, trained.data);
        EXPECT_NEAR(effect.without.score,
                    score_at(without, node, column.column) - score_at(all, node, column.column), 1e-6);
      }
    }
  }
}

TEST(ExplainNodes, EdgeWeightsOfTheFlowDirectionsAndMadeFeatures) {
  TrainRequest weighted = small_request("bregman");
  weighted.learn.edge_weights = true;
  expect_changes_of_other_data(Trained(small_data(), weighted), 4);

  Dataset directed = small_data();
  directed.graph = test::rebuilt(directed.graph, true, [](EdgeList&) {});
  NodeId node = 0;
  while (directed.graph.in().degree(node) == 0 || directed.graph.out().degree(node) == 0) ++node;
  expect_changes_of_other_data(Trained(directed, small_request("bregman")), node);

  Dataset made = small_data();
  made.features = {};
  add_missing_features(made, "degree", {});
  const Trained trained(made, small_request("ce"));
  node = node_with_neighbours(made, 3);
  const NodeExplanation explanation = trained.explain(node);
  const Reloaded all = trained.on(made);
  for (const NeighbourEffect& effect : explanation.columns[0].neighbours) {
    Dataset changed = without_edges_between(made, node, effect.neighbour.node);
    conform(changed, trained.memory.trained_on.schema);
    EXPECT_NEAR(effect.without.score, score_at(trained.on(changed), node, 0) - score_at(all, node, 0), 1e-5);
  }
}

TEST(ExplainNodes, ValuesAndLabelsOfOtherTasks) {
  const Trained values(test::data_with_values(), small_request("bregman"));
  const NodeExplanation of_values = values.explain(2);
  EXPECT_EQ(of_values.predicted.values.size(), 2u);
  EXPECT_TRUE(std::isnan(of_values.columns[0].neighbours[0].without.probability));
  expect_changes_of_other_data(values, node_with_neighbours(values.data, 3));

  Dataset labels = small_data();
  labels.targets = test::signs_of_features(labels.features, 2);
  const Trained several(labels, small_request("bregman"));
  const NodeExplanation of_labels = several.explain(2);
  EXPECT_EQ(of_labels.task, Task::kMultiLabel);
  EXPECT_TRUE(std::isfinite(of_labels.columns[0].neighbours[0].without.probability));
}

TEST(ExplainNodes, TheWorkIsBoundedAndWhatIsNotDoneIsCounted) {
  const Trained trained(small_data(), small_request("ce"));
  const NodeId node = node_with_neighbours(trained.data, 5);
  const NodeExplanation few = trained.explain(node, {{0}, 1, 2});
  const ColumnExplanation& column = few.columns.front();
  EXPECT_EQ(column.neighbours.size(), 1u);
  EXPECT_EQ(column.more_neighbours.count, 1);
  EXPECT_EQ(column.more_neighbours.unknown, 3);
  EXPECT_EQ(column.features.size(), 1u);
  EXPECT_EQ(column.more_features.unknown, 4);
  const FeatureEffect& shown = column.features.front();
  EXPECT_NEAR(column.more_features.sum + shown.own + shown.neighbourhood, column.gradient_times_input, 1e-9);
  const nlohmann::ordered_json json = to_json(few);
  EXPECT_EQ(json.at("neighbours")[0].at("more").at("not_computed"), 3);
}

TEST(ExplainNodes, WhatIsDrawnBeginsWithTheNode) {
  const Trained trained(small_data(), small_request("bregman"));
  for (const NodeId node : {0, 5, 20}) {
    const Neighbourhood around = trained.explain(node).around;
    EXPECT_EQ(around.nodes.front().is.node, node);
    EXPECT_LE(around.nodes.size(), 25u);
    EXPECT_FALSE(around.has_positions);
    EXPECT_EQ(around.neighbours_left_out, 0);
    for (const DrawnEdge& edge : around.edges) {
      const NodeId a = around.nodes.at(edge.from).is.node, b = around.nodes.at(edge.to).is.node;
      EXPECT_THAT(trained.data.graph.out().neighbours_of(a), testing::Contains(b));
      EXPECT_GE(edge.flow, 0);
    }
  }
}

}  // namespace
}  // namespace qw
