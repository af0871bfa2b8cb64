// The same bits for 1, 2, 3 and 4 processes, on graphs that people use and on more parts than processes.
#include <gmock/gmock.h>

#include "distributed/parts.h"
#include "qw/data/load.h"
#include "qw/graph/generators.h"
#include "support/support.h"

namespace qw {
namespace {

struct Pair {
  std::string model, solver;
  bool edge_weights = false;
};

Dataset directed_csbm() {
  const Dataset drawn = make_csbm({.nodes = 400, .degree = 6, .features = 8, .classes = 3});
  EdgeList edges;
  edges.num_nodes = drawn.graph.num_nodes();
  edges.heads.assign(drawn.graph.heads().begin(), drawn.graph.heads().end());
  edges.tails.assign(drawn.graph.tails().begin(), drawn.graph.tails().end());
  Dataset data = drawn;
  data.graph = Graph::build(std::move(edges), {true});
  return data;
}

void expect_same_bits(const Dataset& data, const std::vector<test::Cut>& cuts,
                      const std::vector<Pair>& pairs) {
  for (const test::Cut& how : cuts) {
    if (how.method == "metis" && !has_metis()) continue;
    const test::TemporaryFolder parts;
    const PartitionManifest manifest = test::cut(data, how, parts.path() / "p");
    ASSERT_EQ(manifest.count(), how.parts);
    for (const Pair& pair : pairs) {
      SCOPED_TRACE(pair.model + " " + pair.solver + " on " + std::to_string(how.parts) + " parts by " +
                   how.method);
      TrainRequest request;
      request.data = {{"what", "parts"}};
      request.model = pair.model;
      request.model_options.hidden = 8;
      request.model_options.heads = 2;
      request.model_options.k = 2;
      request.learn.solver = pair.solver;
      request.learn.edge_weights = pair.edge_weights;
      request.learn.epochs = 2;
      request.split = "random:train=0.6,val=0.2";
      request.baselines = "none";
      const test::TemporaryFolder out;
      test::train_on(1, manifest, request, out.path() / "1");
      const auto files = test::files_of(out.path() / "1");
      EXPECT_GE(files.size(), 4u);
      for (const int processes : {2, 3, 4}) {
        const auto folder = out.path() / std::to_string(processes);
        test::train_on(processes, manifest, request, folder);
        EXPECT_EQ(test::files_of(folder), files) << processes << " processes";
      }
    }
  }
}

TEST(SameBits, OnCora) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  expect_same_bits(load_dataset((test::shared_datasets() / "cora").string()), {{"range", 12}, {"metis", 4}},
                   {{"gcn", "proximal"}, {"gat", "ce"}});
}

TEST(SameBits, OnSquirrel) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  expect_same_bits(load_dataset((test::shared_datasets() / "squirrel").string()),
                   {{"range", 4}, {"metis", 12}}, {{"graphsage", "badmm"}});
}

TEST(SameBits, OnADirectedGraph) {
  expect_same_bits(directed_csbm(), {{"range", 4}, {"metis", 12}},
                   {{"gcn", "bregman", true}, {"chebnetii", "proximal"}, {"gin", "ce"}});
}

}  // namespace
}  // namespace qw
