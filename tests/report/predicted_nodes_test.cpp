#include "report/predicted_nodes.h"

#include <fmt/format.h>

#include <cmath>

#include "core/manifest.h"
#include "support/support.h"

namespace qw {
namespace {

using test::edge_list;
using test::error_of;

// Four nodes in a row; the first trains, the others test.
TrainedOn trained_on(Targets targets) {
  Dataset dataset;
  dataset.graph = Graph::build(edge_list(4, {{0, 1}, {1, 2}, {2, 3}}));
  dataset.node_ids = {"a", "b", "c", "d,e"};
  dataset.features.rows = 4;
  dataset.targets = std::move(targets);
  return remember(dataset, {{{0}, {}, {1, 2, 3}}}, "stored");
}

TEST(PredictedNodes, OfClasses) {
  const TrainedOn data = trained_on(class_targets({0, 1, 0, -1}, {"x", "y"}));
  const test::TemporaryFolder folder;
  // Without transport b would be x (wrong) and c would be x (right).
  const auto file = folder.write("predictions.csv",
                                 "id,prediction,confidence,set,probability x,probability "
                                 "y,label,part,network x,network y,transport x,transport y\n"
                                 "a,x,0.9,x,0.9,0.1,x,train,2,0,0,0\n"
                                 "b,y,0.6,x|y,0.4,0.6,y,test,1,0,-2,0\n"
                                 "c,y,0.7,,0.3,0.7,x,test,1,0,0,3\n"
                                 "\"d,e\",x,0.5,x|y,0.5,0.5,,test,1,0,-0.5,0\n");
  const PredictedNodes nodes = read_predictions(file, data, true);
  EXPECT_EQ(nodes.nodes, (std::vector<NodeId>{1, 2})) << "test nodes with a label";
  EXPECT_EQ(nodes.ids, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(nodes.predicted, (std::vector<std::string>{"y", "y"}));
  EXPECT_EQ(nodes.labels, (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(nodes.confidence, (std::vector<double>{0.6, 0.7}));
  EXPECT_EQ(nodes.set_size, (std::vector<double>{2, 0}));
  EXPECT_EQ(nodes.probability, (std::vector<double>{0.4, 0.6, 0.3, 0.7}));
  EXPECT_EQ(nodes.split.train, (std::vector<NodeId>{0}));
  EXPECT_EQ(nodes.split.test, (std::vector<NodeId>{1, 2, 3}));
  EXPECT_EQ(nodes.transport.nodes, 4);
  EXPECT_EQ(nodes.transport.moved, 3);
  EXPECT_EQ(nodes.transport.changed, 2);
  EXPECT_EQ(nodes.transport.righted, 1);
  EXPECT_EQ(nodes.transport.wronged, 1);
  EXPECT_EQ(read_predictions(file, data, false).transport.nodes, 0);
}

TEST(PredictedNodes, OfLabels) {
  Targets targets{.task = Task::kMultiLabel,
                  .width = 2,
                  .classes = {},
                  .values = {1, 0, 1, 1, NAN, 0, 0, 0},
                  .names = {"p", "q"}};
  const TrainedOn data = trained_on(targets);
  const test::TemporaryFolder folder;
  const std::string header =
      "id,prediction,confidence,set,probability p,probability q,label,part,network p,network q,transport "
      "p,transport q\n";
  // Above 0 of scores, or above 1/2 of shares: both say that b and d were changed.
  for (const double zero : {0.0, 0.5}) {
    const std::string low = fmt::format("{}", zero - 0.25), high = fmt::format("{}", zero + 0.25);
    const auto file =
        folder.write("predictions.csv", header + fmt::format("a,p,0.6,p|q?,0.6,0.2,p,train,{1},{0},0,0\n"
                                                             "b,p|q,0.6,p|q?,0.6,0.7,p|q,test,{1},{0},0,0.5\n"
                                                             "c,p,0.6,p?|q?,0.6,0.2,p?,test,{1},{0},0,0\n"
                                                             "\"d,e\",q,0.6,,0.1,0.9,,test,{0},{0},0,0.5\n",
                                                             low, high));
    const PredictedNodes nodes = read_predictions(file, data, true);
    EXPECT_EQ(nodes.nodes, (std::vector<NodeId>{1, 2, 3}));
    EXPECT_EQ(nodes.set_size, (std::vector<double>{1, 2, 0}));
    EXPECT_EQ(nodes.transport.changed, 2);
    EXPECT_EQ(nodes.transport.moved, 2);
  }
}

TEST(PredictedNodes, OfSeveralValues) {
  const TrainedOn data = trained_on(value_targets({0, 1, 2, 3, 4, NAN, 6, 7}, {"u", "v"}));
  const test::TemporaryFolder folder;
  const auto file = folder.write("predictions.csv",
                                 "id,prediction u,low u,high u,prediction v,low v,high v,label u,label "
                                 "v,part,network u,network v,transport u,"
                                 "transport v\n"
                                 "a,0,-1,1,1,0,2,0,1,train,0,1,0,0\n"
                                 "b,2,1,3,4,3,5,2,3,test,1,4,1,0\n"
                                 "c,4,3,5,4,3,5,4,,test,4,4,0,0\n"
                                 "\"d,e\",7,6,8,7,6,8,6,7,test,6,5,1,2\n");
  const PredictedNodes nodes = read_predictions(file, data, true);
  EXPECT_EQ(nodes.value, (std::vector<double>{2, 4, 4, 4, 7, 7}));
  EXPECT_EQ(nodes.low, (std::vector<double>{1, 3, 3, 3, 6, 6}));
  EXPECT_EQ(nodes.high.size(), 6u);
  EXPECT_TRUE(nodes.predicted.empty());
  EXPECT_NEAR(nodes.transport.shift, 4.0 / 8, 1e-15);
  EXPECT_NEAR(nodes.transport.error_with, (0 + 1 + 0 + 1 + 0) / 5.0, 1e-15);
  EXPECT_NEAR(nodes.transport.error_without, (1 + 1 + 0 + 0 + 2) / 5.0, 1e-15);
}

TEST(PredictedNodes, NamesWithMarksHaveNoSetSizes) {
  const TrainedOn data = trained_on(class_targets({0, 1, 0, -1}, {"x|y", "z"}));
  const test::TemporaryFolder folder;
  const auto file = folder.write("predictions.csv",
                                 "id,prediction,set,label,part\na,z,z,x|y,train\nb,z,x|y|z,z,test\n"
                                 "c,z,z,x|y,test\n\"d,e\",z,z,,test\n");
  const PredictedNodes nodes = read_predictions(file, data, false);
  EXPECT_EQ(nodes.nodes.size(), 2u);
  EXPECT_TRUE(nodes.set_size.empty()) << "who could tell whether 'x|y|z' is two or three";
}

TEST(PredictedNodes, OtherNodesAreRefused) {
  const TrainedOn data = trained_on(class_targets({0, 1, 0, -1}, {"x", "y"}));
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    const auto file = folder.write("p.csv", text);
    return error_of([&] { read_predictions(file, data, false); }).substr(file.string().size());
  };
  EXPECT_EQ(refusal("id,prediction\na,x\n"), ": has no columns id and part");
  EXPECT_EQ(refusal("id,part\na,train\nc,test\n"), ", line 3: is not about node 1 of the training");
  EXPECT_EQ(refusal("id,part\na,train\nb,test\n"), ": has 2 nodes, and the training 4");
  EXPECT_TRUE(read_predictions(folder.path() / "none.csv", data, false).nodes.empty());
  const auto file = folder.write("q.csv", "id,part\n");
  Manifest manifest(folder.path());
  manifest.add("q.csv");
  manifest.write();
  folder.write("q.csv", "id,part\na,train\n");
  EXPECT_NE(error_of([&] { read_predictions(file, data, false); }).find("q.csv"), std::string::npos);
}

}  // namespace
}  // namespace qw
