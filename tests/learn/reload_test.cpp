// Finished trainings, read back: the scores of their end, and other data.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/manifest.h"
#include "learn/reloaded_predictions.h"
#include "learn/run_files.h"
#include "learn/small_training.h"
#include "nn/tensor_file.h"
#include "qw/learn/ensemble.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::data_with_values;
using test::expect_same_metrics;
using test::small_data;
using test::small_request;

TEST(Reload, GivesTheScoresOfTheTrainingsEndBitForBit) {
  for (const char* solver : {"ce", "bregman", "proximal", "badmm", "exact"}) {
    for (const bool edge_weights : {false, true}) {
      if (edge_weights && std::string(solver) != "bregman") continue;
      const test::TemporaryFolder folder;
      const Dataset data = data_with_values();
      TrainRequest request = small_request(solver);
      request.learn.edge_weights = edge_weights;
      request.model_options.norm = "batch";
      const std::vector<RunResult> results = train(data, request, folder.path());
      const Reloaded reloaded = reload(folder.path() / "run-0", request, read_memory(folder.path()), data);
      EXPECT_EQ(reloaded.trained_as.back(), static_cast<NodeId>(reloaded.trained_as.size()) - 1);
      EXPECT_EQ(test::predictions_of(data, request, reloaded),
                read_file(folder.path() / "run-0/predictions.csv"));
      const Split split = split_of(request, data, 0);
      expect_same_metrics(
          measure(data.targets, split.test, reloaded.scores, {"auto", reloaded.calibration.temperature}),
          results[0].test);
    }
  }
}

// Solvers that spread the labels of the training nodes find them again.
TEST(Reload, SpreadsLabelsAsAtTheTrainingsEnd) {
  for (const char* solver : {"label-propagation", "correct-and-smooth"}) {
    for (const bool values : {false, true}) {
      const bool no_network = std::string(solver) == "label-propagation";
      if (values && !no_network) continue;
      const test::TemporaryFolder folder;
      const Dataset data = values ? data_with_values() : small_data();
      TrainRequest request = small_request(solver);
      request.model = no_network ? "none" : "mlp";
      request.checkpoint_every = 1;
      request.runs = 2;
      const std::vector<RunResult> results = train(data, request, folder.path());
      EXPECT_EQ(results[1].epochs, no_network ? 1 : 8);
      const Reloaded reloaded = reload(folder.path() / "run-1", request, read_memory(folder.path()), data);
      EXPECT_TRUE(reloaded.scores.in_label_space);
      EXPECT_EQ(test::predictions_of(data, request, reloaded, 1),
                read_file(folder.path() / "run-1/predictions.csv"));
      expect_same_metrics(measure(data.targets, split_of(request, data, 1).test, reloaded.scores,
                                  {"auto", reloaded.calibration.temperature}),
                          results[1].test);
    }
  }
}

// The same nodes in the opposite order, and two that are new: one alone, one beside an old node.
Dataset turned_around(const Dataset& data, bool beside) {
  const auto count = static_cast<NodeId>(data.graph.num_nodes());
  Dataset turned = data;
  turned.graph = test::rebuilt(data.graph, false, [&](EdgeList& edges) {
    edges.num_nodes = count + 2;
    for (auto* ends : {&edges.heads, &edges.tails}) {
      for (NodeId& node : *ends) node = count - 1 - node;
    }
    if (beside) {
      edges.heads.push_back(0);
      edges.tails.push_back(count + 1);
    }
  });
  const int64_t columns = data.features.columns;
  turned.features.rows += 2;
  turned.features.dense.assign(turned.features.rows * columns, 0.5f);
  turned.node_ids.assign(count + 2, "");
  for (NodeId node = 0; node < count; ++node) {
    const NodeId place = count - 1 - node;
    turned.node_ids[place] = data.node_ids[node];
    std::copy_n(data.features.dense.begin() + node * columns, columns,
                turned.features.dense.begin() + place * columns);
  }
  turned.node_ids[count] = "new alone";
  turned.node_ids[count + 1] = "new beside";
  return turned;
}

TEST(Reload, OnOtherDataMatchesNodesByIdAndBringsNothingToNewOnes) {
  const test::TemporaryFolder folder;
  Dataset data = small_data();
  for (NodeId node = 0; node < 45; ++node) data.node_ids.push_back("n" + std::to_string(node));
  const TrainRequest request = small_request();
  train(data, request, folder.path());
  const Scores known = reload(folder.path() / "run-0", request, read_memory(folder.path()), data).scores;
  for (const bool beside : {false, true}) {
    const Dataset other = turned_around(data, beside);
    const Reloaded reloaded = reload(folder.path() / "run-0", request, read_memory(folder.path()), other);
    ASSERT_EQ(reloaded.trained_as.size(), 47u);
    for (NodeId node = 0; node < 47; ++node)
      EXPECT_EQ(reloaded.trained_as[node], node < 45 ? 44 - node : -1) << node;
    const at::Tensor transport = reloaded.scores.transport;
    EXPECT_EQ(transport.slice(0, 45, 47).abs().max().item<float>(), 0.0f);
    EXPECT_LE((transport.slice(0, 0, 45).flip(0) - known.transport).abs().max().item<float>(), 1e-5f);
    if (!beside) {
      EXPECT_LE((reloaded.scores.network.slice(0, 0, 45).flip(0) - known.network).abs().max().item<float>(),
                1e-5f);
    }
    const Ensemble one({folder.path() / "run-0"}, request, read_memory(folder.path()), other);
    EXPECT_EQ(one.nodes_of(NodePart::kNew), (std::vector<NodeId>{45, 46}));
    EXPECT_EQ(one.nodes_of(NodePart::kTrain).size(), split_of(request, data, 0).train.size());
  }
}

TEST(Reload, SpreadsLabelsOnOtherDataFromTheNodesThatHadThem) {
  for (const char* solver : {"label-propagation", "correct-and-smooth"}) {
    const test::TemporaryFolder folder;
    Dataset data = small_data();
    for (NodeId node = 0; node < 45; ++node) data.node_ids.push_back("n" + std::to_string(node));
    TrainRequest request = small_request(solver);
    request.model = request.learn.solver == "label-propagation" ? "none" : "mlp";
    train(data, request, folder.path());
    const fs::path run = folder.path() / "run-0";
    const TrainingMemory memory = read_memory(folder.path());
    const at::Tensor known = reload(run, request, memory, data).scores.sum();
    const at::Tensor alone = reload(run, request, memory, turned_around(data, false)).scores.sum();
    EXPECT_LE((alone.slice(0, 0, 45).flip(0) - known).abs().max().item<float>(), 1e-5f) << solver;
    const at::Tensor beside = reload(run, request, memory, turned_around(data, true)).scores.sum();
    EXPECT_GT((beside[46] - alone[46]).abs().max().item<float>(), 1e-3f) << solver;

    Dataset others = turned_around(data, false);
    for (std::string& id : others.node_ids) id += " of others";
    const Scores scores = reload(run, request, memory, others).scores;
    EXPECT_TRUE(at::isfinite(scores.sum()).all().item<bool>()) << solver;
  }
}

TEST(Reload, KeepsTheFlowOfEdgesThatStandTwice) {
  const test::TemporaryFolder folder;
  Dataset data = small_data();
  EdgeList edges = test::edge_list(45, {{0, 1}, {0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 4}});
  GraphOptions options;
  options.duplicates = EdgePolicy::kKeep;
  data.graph = Graph::build(edges, options);
  ASSERT_EQ(data.graph.num_edges(), 7);
  const TrainRequest request = small_request();
  train(data, request, folder.path());
  EXPECT_EQ(test::predictions_of(data, request,
                                 reload(folder.path() / "run-0", request, read_memory(folder.path()), data)),
            read_file(folder.path() / "run-0/predictions.csv"));
}

TEST(Reload, SaysWhatDoesNotFit) {
  const test::TemporaryFolder folder;
  const Dataset data = small_data();
  const TrainRequest request = small_request();
  train(data, request, folder.path());
  const fs::path run = folder.path() / "run-0", flow = run / "flow.safetensors";
  const TrainingMemory memory = read_memory(folder.path());
  const auto refusal = [&](const Dataset& other) {
    return test::error_of([&] { reload(run, request, memory, other); });
  };
  Dataset narrow = data;
  narrow.features = {45, 1, false, std::vector<float>(45, 1.0f), {}, {}, {}, {}};
  EXPECT_EQ(refusal(narrow), run.string() + " was trained on 6 features; this data has 1");
  const std::vector<Buffer> tensors = read_tensors(flow);
  const auto with = [&](const std::string& name, const at::Tensor& value) {
    std::vector<Buffer> changed = tensors;
    for (Buffer& each : changed) {
      if (each.name == name) each.value = value;
    }
    write_tensors(flow, changed);
    Manifest manifest = Manifest::read(run);
    manifest.add("flow.safetensors");
    manifest.write();
  };
  const int64_t edges = tensors[0].value.size(0);
  with("heads", at::full({edges}, 45, at::kInt));
  EXPECT_THAT(refusal(data), testing::StartsWith(flow.string() + ": has an edge from "));
  EXPECT_THAT(refusal(data), testing::HasSubstr(" to 45, which the data"));
  with("heads", at::zeros({edges - 1}, at::kInt));
  EXPECT_THAT(refusal(data), testing::HasSubstr(" are no flow for 3 columns"));
  with("flow", at::zeros({edges, 2}, at::kFloat));
  EXPECT_THAT(refusal(data), testing::HasSubstr(" are no flow for 3 columns"));
  with("flow", tensors[0].value);
  fs::remove(run / "summary.json");
  EXPECT_EQ(refusal(data), run.string() + " has no summary.json: the run is not finished");
}

}  // namespace
}  // namespace qw
