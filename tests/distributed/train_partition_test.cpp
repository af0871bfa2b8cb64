// A training over parts is that of the whole graph: the same numbers but for the order of sums, and the same
// bits for any number of processes and after any interruption.
#include <gmock/gmock.h>

#include "distributed/parts.h"
#include "qw/core/random.h"
#include "qw/graph/generators.h"
#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::cut;
using test::Cut;
using test::files_of;
using test::Outcome;
using test::train_on;

struct Data {
  bool directed = false, sparse = false, values = false, weighted = false;
};

Dataset data_of(const Data& kind) {
  CsbmOptions csbm;
  csbm.nodes = 130;
  csbm.degree = 5;
  csbm.classes = 3;
  csbm.features = 6;
  Dataset data = make_csbm(csbm);
  EdgeList edges;
  edges.num_nodes = data.graph.num_nodes();
  const auto heads = data.graph.heads(), tails = data.graph.tails();
  const RandomStream random(9, 1);
  for (EdgeId e = 0; e < data.graph.num_edges(); ++e) {
    const bool turned = random.uniform(static_cast<uint64_t>(e)) < 0.5;
    edges.heads.push_back(turned ? heads[e] : tails[e]);
    edges.tails.push_back(turned ? tails[e] : heads[e]);
    if (!kind.weighted) continue;
    edges.weights.push_back(0.5 + random.uniform(static_cast<uint64_t>(e + 1000)));
    edges.costs.push_back(0.5 + random.uniform(static_cast<uint64_t>(e + 2000)));
  }
  edges.heads.push_back(7);  // a node's edge to itself
  edges.tails.push_back(7);
  if (kind.weighted) {
    edges.weights.push_back(2.0);
    edges.costs.push_back(1.0);
  }
  data.graph = Graph::build(std::move(edges), {kind.directed, EdgePolicy::kDrop, EdgePolicy::kKeep, false});
  if (kind.sparse) {
    Features sparse{data.features.rows, data.features.columns, true, {}, {0}, {}, {}, {}};
    for (int64_t row = 0; row < sparse.rows; ++row) {
      for (int64_t column = 0; column < sparse.columns; ++column) {
        const float value = data.features.dense[row * sparse.columns + column];
        if (value < 0.3f) continue;
        sparse.indices.push_back(static_cast<int32_t>(column));
        sparse.values.push_back(value);
      }
      sparse.offsets.push_back(std::ssize(sparse.indices));
    }
    data.features = sparse;
  }
  if (kind.values) {
    Targets values{Task::kRegression, 1, {}, {}, {"v"}};
    for (int64_t node = 0; node < data.features.rows; ++node)
      values.values.push_back(10 + 3 * static_cast<double>(data.targets.classes[node]));
    data.targets = values;
  }
  data.format = "csv";  // so that features are scaled
  return data;
}

struct Case {
  std::string model, solver;
  Data data;
  bool edge_weights = false;
  std::string norm = "none";
};

TrainRequest request_of(const Case& each) {
  TrainRequest request;
  request.data = {{"what", "parts"}};
  request.model = each.model;
  request.model_options.hidden = 8;
  request.model_options.norm = each.norm;
  request.model_options.k = 3;
  request.model_options.dropout = 0.4;
  request.learn.solver = each.data.values && each.solver == "ce" ? "mse" : each.solver;
  request.learn.edge_weights = each.edge_weights;
  request.learn.epochs = 7;
  request.learn.lambda = 50;
  request.learn.flow_lr = 0.05;
  request.seed = 5;
  request.checkpoint_every = 3;
  request.split = "random:train=0.5,val=0.25";
  request.baselines = "none";
  return request;
}

std::vector<Case> cases() {
  return {{"mlp", "ce", {}, false, "batch"},
          {"gcn", "ce", {}},
          {"gcn", "proximal", {true, true, false, true}},
          {"gcn", "badmm", {false, false, false, true}},
          {"gin", "bregman", {false, true, false, false}, false, "batch"},
          {"graphsage", "proximal", {true, false, true, true}},
          {"appnp", "bregman", {false, false, true, false}, false, "layer"},
          {"bernnet", "badmm", {true, false, false, false}},
          {"chebnetii", "proximal", {false, true, false, true}},
          {"gat", "proximal", {true, false, false, true}},
          {"gat", "bregman", {false, true, false, false}},
          {"gcn", "bregman", {false, false, false, true}, true},
          {"graphsage", "proximal", {true, false, false, false}, true},
          {"chebnetii", "badmm", {false, false, false, false}, true},
          {"gin", "proximal", {true, true, false, true}, true},
          {"gat", "proximal", {false, false, false, true}, true}};
}

std::string name_of(const Case& each) {
  return each.model + " " + each.solver + (each.data.directed ? " directed" : "") +
         (each.data.sparse ? " sparse" : "") + (each.data.values ? " values" : "") +
         (each.edge_weights ? " edge weights" : "");
}

TEST(TrainPartition, HasTheSameBitsForAnyNumberOfProcesses) {
  int number = 0;
  for (const Case& each : cases()) {
    SCOPED_TRACE(name_of(each));
    const Dataset data = data_of(each.data);
    const TrainRequest request = request_of(each);
    const bool by_range = ++number % 2 == 0 || !has_metis();
    const test::TemporaryFolder parts, out;
    const PartitionManifest manifest =
        cut(data, by_range ? Cut{"range", 4} : Cut{"metis", 5}, parts.path() / "p");
    const Outcome one = train_on(1, manifest, request, out.path() / "1");
    ASSERT_EQ(one.results.size(), 1u);
    const auto files = files_of(out.path() / "1");
    EXPECT_GE(files.size(), 4u);
    for (const int processes : by_range ? std::vector{2, 4} : std::vector{3}) {
      const fs::path folder = out.path() / std::to_string(processes);
      train_on(processes, manifest, request, folder);
      EXPECT_EQ(files_of(folder), files) << processes << " processes";
    }
  }
}

// Sums over nodes have another order, no more: dropout, noise and folds are those of the whole graph.
TEST(TrainPartition, IsTheTrainingOfTheWholeGraph) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(name_of(each));
    const Dataset data = data_of(each.data);
    TrainRequest request = request_of(each);
    // Noise goes by the numbers of edges, which METIS gives anew. Without it Adam makes a whole step of the
    // rounding of a gradient that is zero, as some through edge weights are.
    const bool noise = each.edge_weights && each.solver != "proximal";
    request.learn.flow_start = noise ? "kaiming" : "zero";
    std::vector<EpochRecord> whole;
    const std::vector<RunResult> expected = train(data, request, {}, [&](const TrainProgress& progress) {
      whole.push_back(progress.record);
      return true;
    });
    for (const Cut& how : {Cut{"range", 3}, Cut{"metis", 4}}) {
      if (how.method == "metis" && (!has_metis() || noise)) continue;
      const test::TemporaryFolder parts;
      const Outcome actual = train_on(2, cut(data, how, parts.path() / "p"), request, {});
      ASSERT_EQ(actual.history.size(), whole.size());
      for (size_t k = 0; k < whole.size(); ++k) {
        EXPECT_NEAR(actual.history[k].loss, whole[k].loss, 2e-4 * std::abs(whole[k].loss)) << k;
        EXPECT_NEAR(actual.history[k].val_loss, whole[k].val_loss, 2e-4 * std::abs(whole[k].val_loss)) << k;
      }
      EXPECT_EQ(actual.results[0].parameters, expected[0].parameters);
      EXPECT_EQ(actual.results[0].split.all.train, expected[0].split.all.train);
    }
  }
}

TEST(TrainPartition, GoesOnWithAnyNumberOfProcesses) {
  for (const std::string solver : {"ce", "proximal", "badmm"}) {
    SCOPED_TRACE(solver);
    const Dataset data = data_of({});
    const TrainRequest request = request_of({"gcn", solver, {}});
    const test::TemporaryFolder parts, out;
    const PartitionManifest manifest = cut(data, {"range", 4}, parts.path() / "p");
    train_on(1, manifest, request, out.path() / "whole");
    const fs::path folder = out.path() / "broken";
    EXPECT_TRUE(train_on(3, manifest, request, folder, 2).stopped);
    EXPECT_TRUE(fs::exists(folder / "run-0/checkpoint.safetensors"));
    EXPECT_TRUE(train_on(1, manifest, request, folder, 2).stopped);
    const Outcome end = train_on(2, manifest, request, folder);
    EXPECT_EQ(end.history.front().epoch, 4);
    EXPECT_EQ(files_of(folder), files_of(out.path() / "whole"));
    EXPECT_FALSE(fs::exists(folder / "run-0/checkpoint.safetensors"));
  }
}

}  // namespace
}  // namespace qw
