// The plan of a training over parts: closed forms on parts made by hand.
#include "distributed/training_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/support.h"

namespace qw {
namespace {

TrainRequest request_for(const std::string& model, const std::string& solver) {
  TrainRequest request;
  request.model = model;
  request.model_options.hidden = 8;
  request.learn.solver = solver;
  return request;
}

// Four parts of 1,000 nodes; each has 10 rows of the next one in its halo and 5 of the one after it.
PartedGraph four_parts() {
  PartedGraph graph{"made", "by hand", 4000, 16'000, {}, {}, {}};
  for (int64_t part = 0; part < 4; ++part) {
    PartSummary summary;
    summary.nodes = 1000;
    summary.halo = 15;
    summary.edges = 4020;
    summary.cut_edges = 40;
    graph.parts.push_back(summary);
    PartOutline outline{std::vector<int64_t>(4, 0), 20'000};
    outline.received[(part + 1) % 4] = 10;
    outline.received[(part + 2) % 4] = 5;
    graph.outlines.push_back(outline);
  }
  graph.data = {Task::kClassification, 3, 20, false, 20, false, false, false, 0.5, 0.25, 0.25};
  return graph;
}

TEST(Rehearsal, CountsWhatPropagationsSend) {
  const RehearsedData data = four_parts().data;
  // Features times the graph are kept; the second layer sends 3 columns forward, backward and to evaluate.
  const EpochCounts gcn = rehearse(data, request_for("gcn", "ce"));
  EXPECT_NEAR(gcn.exchanged[kSent], 3 * 3 * 4, 1e-6);
  EXPECT_NEAR(gcn.exchanged[kHalo], 0, 1e-6);
  EXPECT_NEAR(gcn.exchanged[kCutEdges], 0, 1e-6);
  EXPECT_NEAR(gcn.flops[kEntries], 3 * 2 * 3, 0.2);  // shares of few nodes are rounded
  EXPECT_EQ(gcn.widest_once, 20 * 4);
  const int64_t parameters = 20 * 8 + 8 + 8 * 3 + 3;
  EXPECT_GE(gcn.gathered, 4 * parameters);
  EXPECT_LT(gcn.gathered, 4 * parameters + 100);
  // A layer of attention fetches rows with a gradient, which goes back.
  TrainRequest gat = request_for("gat", "ce");
  gat.model_options.heads = 2;
  const EpochCounts attention = rehearse(data, gat);
  EXPECT_NEAR(attention.exchanged[kSent], 2 * (16 + 3) * 4, 1e-6);
  EXPECT_NEAR(attention.exchanged[kHalo], (16 + 3) * 4, 1e-6);
  // The flow needs the residual of the halo too; weights of edges send what each edge between parts has.
  const EpochCounts flow = rehearse(data, request_for("gcn", "proximal"));
  EXPECT_NEAR(flow.exchanged[kSent], 4 * 3 * 4, 1e-6);
  TrainRequest weights = request_for("gcn", "bregman");
  weights.learn.edge_weights = true;
  EXPECT_NEAR(rehearse(data, weights).exchanged[kCutEdges], 3 * 4, 1e-6);
  // A perceptron sends gradients and losses alone; where a metric needs all scores, rows for each node.
  EXPECT_NEAR(sum_of(rehearse(data, request_for("mlp", "ce")).exchanged, {1, 100, 100, 100, 100, 100, 100}),
              0, 1e-6);
  TrainRequest metric = request_for("mlp", "ce");
  metric.learn.metric = "macro_f1";
  EXPECT_NEAR(rehearse(data, metric).exchanged[kNodes], 3 * 4, 1e-6);
}

TEST(PartsPlan, IsTheSumOfItsParts) {
  const TrainRequest request = request_for("gcn", "ce");
  const PartedGraph graph = four_parts();
  const Machine machine{"made", 1, 1, 8, 2};
  const PartsPlan two = plan_of(graph, request, 2, machine), four = plan_of(graph, request, 4, machine);
  const EpochCounts counts = rehearse(graph.data, request);
  ASSERT_EQ(two.processes.size(), 2u);
  // Of the rows that parts 0 and 1 send, those for each other stay: 0 sends 5 to part 2 and 10 to part 3, 1
  // sends 5 to part 3.
  EXPECT_NEAR(two.processes[0].sent, 20 * 36 + 2 * counts.gathered, 1);
  EXPECT_NEAR(four.processes[0].sent, 15 * 36 + 3 * counts.gathered, 1);
  EXPECT_EQ(plan_of(graph, request, 1, machine).processes[0].sent, 0);
  EXPECT_NEAR(four.sending, four.loudest().sent / 1e9, 1e-12);
  EXPECT_NEAR(four.waiting, counts.calls * 2e-3, 1e-12);
  EXPECT_NEAR(two.processes[1].computing, 2 * four.processes[1].computing, 1e-12);
  EXPECT_EQ(four.parameters, 20 * 8 + 8 + 8 * 3 + 3);
  const auto bytes_of = [](const ProcessPlan& plan, const std::string& what) {
    for (const MemoryItem& item : plan.items)
      if (item.what == what) return item.bytes;
    return int64_t{0};
  };
  EXPECT_EQ(bytes_of(four.processes[1], "graph structure"), 8 * 1000 + 8 * (2 * 4020 - 40 + 1000));
  EXPECT_EQ(bytes_of(four.processes[1], "features"), 4 * 20'000);
  EXPECT_EQ(bytes_of(four.processes[1], "labels of all nodes"), 4000 * (2 * 4 + 4));
  EXPECT_EQ(bytes_of(two.processes[1], "features"), 2 * 4 * 20'000);
  EXPECT_GE(bytes_of(four.processes[1], "rows of the halo"), 8 * (15 + 1000) + 12 * (1000 + 15 + 15));
  EXPECT_GE(four.processes[0].end_bytes, four.processes[0].bytes);
}

TEST(GraphSize, IsCutByLotUnlessToldOtherwise) {
  const GraphSize size = graph_size("size:nodes=1000,edges=5000,features=7,classes=4");
  const PartedGraph lot = parted_graph(size, 4);
  ASSERT_EQ(lot.parts.size(), 4u);
  EXPECT_EQ(lot.parts[0].nodes, 250);
  EXPECT_EQ(lot.parts[0].halo, std::llround(250 * 3 * (1 - std::pow(0.75, 10))));
  EXPECT_EQ(lot.parts[0].cut_edges, 2 * 5000 * 3 / 4 / 4);
  EXPECT_EQ(lot.parts[0].edges, (5000 + 5000 * 3 / 4) / 4 + 1);
  EXPECT_EQ(lot.outlines[0].received[0], 0);
  EXPECT_EQ(lot.outlines[0].received[3], lot.parts[0].halo / 3);
  EXPECT_EQ(parted_graph(size, 1).parts[0].halo, 0);
  const PartedGraph told =
      parted_graph(graph_size("size:nodes=1000,edges=5000,features=7,classes=4,halo=0.5"), 4);
  EXPECT_EQ(told.parts[0].halo, 125);
  EXPECT_LT(told.parts[0].cut_edges, lot.parts[0].cut_edges);
  EXPECT_NEAR(told.data.test, 0.2, 1e-12);
}

TEST(GraphSize, SaysWhatIsWrong) {
  EXPECT_EQ(test::error_of([] { graph_size("size:nodes=5,edges=2"); }), "size: give features, classes");
  EXPECT_EQ(test::error_of([] { graph_size("size:nodes=5,edges=2,features=1,classes=2,train=0.9,val=0.2"); }),
            "size: train and val are more than all nodes");
  EXPECT_EQ(test::error_of([] { parted_graph(graph_size("size:nodes=5,edges=2,features=1,classes=2"), 6); }),
            "size: 5 nodes are too few for 6 processes");
  EXPECT_EQ(test::error_of([] { machine_named("cqu"); }),
            "--machine 'cqu' is unknown; did you mean 'cpu'? known: cpu, h200");
  EXPECT_EQ(machine_named("cpu:latency=3").latency, 3);
}

}  // namespace
}  // namespace qw
