#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "data/pickle_assembler.h"
#include "data/readers/reader.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using test::op_array;
using test::op_csr;
using test::op_graph;
using test::op_integer;
using test::op_text;
using test::pickled;
using testing::ElementsAre;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

std::string one_hot(const std::vector<int>& classes, int width) {
  std::string data(classes.size() * width, '\0');
  for (size_t row = 0; row < classes.size(); ++row) {
    if (classes[row] >= 0) data[row * width + classes[row]] = '\1';
  }
  return pickled(op_array("|u1", {static_cast<int64_t>(classes.size()), width}, data));
}

// Nodes 0 to 2 are known; 3 to 6 are test ids of which 5 is missing; the test file lists 6, 3, 4.
Files example() {
  return {{"ind.toy.x", pickled(op_csr(1, 4, {0, 1}, {3}, {1}))},
          {"ind.toy.y", one_hot({1}, 2)},
          {"ind.toy.allx", pickled(op_csr(3, 4, {0, 1, 1, 3}, {3, 0, 2}, {1, 2, 3}))},
          {"ind.toy.ally", one_hot({1, 0, -1}, 2)},
          {"ind.toy.tx", pickled(op_csr(3, 4, {0, 1, 2, 2}, {1, 2}, {6, 5}))},
          {"ind.toy.ty", one_hot({1, 1, 0}, 2)},
          {"ind.toy.graph", pickled(op_graph({{0, {1, 2}}, {1, {0, 6}}, {3, {3, 4}}, {5, {}}}))},
          {"ind.toy.test.index", "6\n3\n4\n"}};
}

Dataset load(const Files& files, bool directed = false) {
  LoadOptions options;
  options.directed = directed;
  Dataset dataset = kPlanetoidReader.read(MemoryFiles(files), "", options);
  check_consistent(dataset);
  return dataset;
}

std::string refusal(const std::string& part, const std::string& contents) {
  Files files = example();
  files["ind.toy." + part] = contents;
  return error_of([&] { load(files); });
}

TEST(Planetoid, AssemblesKnownAndTestNodes) {
  const Dataset dataset = load(example());
  EXPECT_EQ(dataset.name, "toy");
  EXPECT_EQ(dataset.format, "planetoid");
  EXPECT_EQ(dataset.graph.num_nodes(), 7);
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 0, 1, 3));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 2, 6, 4));
  EXPECT_THAT(dataset.targets.classes, ElementsAre(1, 0, 0, 1, 0, 0, 1));
  EXPECT_EQ(dataset.features.rows, 7);
  EXPECT_EQ(dataset.features.columns, 4);
  EXPECT_THAT(dataset.features.offsets, ElementsAre(0, 1, 1, 3, 4, 4, 4, 5));
  EXPECT_THAT(dataset.features.indices, ElementsAre(3, 0, 2, 2, 1));
  EXPECT_THAT(dataset.features.values, ElementsAre(1, 2, 3, 5, 6));
  EXPECT_TRUE(dataset.splits.empty());
  EXPECT_THAT(dataset.notes,
              ElementsAre("1 self-loops were dropped; --self-loops keep keeps them",
                          "1 node ids are missing from ind.toy.test.index; these nodes have no "
                          "features and class 0, as published"));
}

TEST(Planetoid, KeepsDirectionsWhenAsked) {
  const Dataset dataset = load(example(), true);
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 1, 2, 4, 6));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 0, 0, 3, 1));
}

TEST(Planetoid, TheStandardSplitWhereThereAreEnoughNodes) {
  constexpr int kKnown = 502;
  Files files = example();
  files["ind.toy.allx"] = pickled(op_csr(kKnown, 4, std::vector<int32_t>(kKnown + 1, 0), {}, {}));
  files["ind.toy.ally"] = one_hot(std::vector<int>(kKnown, 1), 2);
  files["ind.toy.test.index"] = "504\n502\n503\n";
  const Dataset dataset = load(files);
  ASSERT_EQ(dataset.splits.size(), 1u);
  std::vector<NodeId> validation(500);
  std::iota(validation.begin(), validation.end(), 1);
  EXPECT_THAT(dataset.splits[0].train, ElementsAre(0));
  EXPECT_EQ(dataset.splits[0].val, validation);
  EXPECT_THAT(dataset.splits[0].test, ElementsAre(502, 503, 504));
}

TEST(Planetoid, SaysWhatIsWrong) {
  Files files = example();
  files.erase("ind.toy.ty");
  EXPECT_EQ(error_of([&] { load(files); }), "ind.toy.ty: cannot read: no such file");
  EXPECT_EQ(refusal("allx", pickled("N")), "ind.toy.allx: expected a scipy csr_matrix, found None");
  EXPECT_EQ(refusal("ally", pickled("]")), "ind.toy.ally: expected a numpy array, found a list");
  EXPECT_EQ(refusal("graph", pickled("]")), "ind.toy.graph: expected a dict, found a list");
  EXPECT_EQ(refusal("graph", pickled("}" + op_text("a") + "]s")),
            "ind.toy.graph: expected an integer, found text");
  EXPECT_EQ(refusal("graph", pickled("}K\x01K\x02s")), "ind.toy.graph: expected a list, found an integer");
  EXPECT_EQ(refusal("graph", pickled(op_graph({{0, {7}}}))), "ind.toy.graph: node 7 is outside 0 to 6");
  EXPECT_EQ(refusal("graph", pickled(op_graph({{-1, {0}}}))), "ind.toy.graph: node -1 is outside 0 to 6");
  EXPECT_EQ(refusal("allx", pickled(op_csr(4, 4, {0, 1}, {0}, {1}))),
            "ind.toy.allx: 2 row offsets; 4 rows have one more than there are rows");
  EXPECT_EQ(refusal("allx", pickled(op_csr(1, 4, {0, 1}, {0}, {1, 2}))),
            "ind.toy.allx: 2 values for 1 entries");
  EXPECT_EQ(refusal("tx", pickled(op_csr(3, 5, {0, 0, 0, 0}, {}, {}))),
            "ind.toy.tx: 5 columns, but ind.toy.allx has 4");
  EXPECT_EQ(refusal("tx", pickled(op_csr(2, 4, {0, 0, 0}, {}, {}))),
            "ind.toy.tx: 2 rows, but ind.toy.test.index has 3");
  EXPECT_EQ(refusal("ally", one_hot({1, 0}, 2)), "ind.toy.ally: 2 rows, but ind.toy.allx has 3");
  EXPECT_EQ(refusal("ty", one_hot({1, 0}, 2)), "ind.toy.ty: 2 rows, but ind.toy.tx has 3");
  EXPECT_EQ(refusal("y", one_hot({1, 0}, 2)), "ind.toy.y: 2 rows, but ind.toy.x has 1");
  EXPECT_EQ(refusal("ally", pickled(op_array("|u1", {3}, "abc"))),
            "ind.toy.ally: expected one row of class indicators per node, found an array of shape [3]");
  EXPECT_EQ(refusal("test.index", "6\n3\n3\n"), "ind.toy.test.index: node 3 stands there twice");
  EXPECT_THAT(refusal("test.index", "6\nx\n4\n"), HasSubstr("ind.toy.test.index:2: test node id 'x'"));
  EXPECT_THAT(refusal("test.index", "6\n2\n4\n"), HasSubstr("ind.toy.test.index:2: test node id"));
  EXPECT_THAT(refusal("test.index", "6\n2000000000\n4\n"), HasSubstr("ind.toy.test.index:2: test node id"));
}

TEST(Planetoid, SharedListsDoNotUnfold) {
  std::string program = "}(" + op_integer(0) + "]q\x01(";
  for (int k = 0; k < 2000; ++k) program += op_integer(1);
  program += "e";
  for (int k = 0; k < 2000; ++k) program += op_integer(0) + "h\x01";
  EXPECT_THAT(refusal("graph", pickled(program + "u")),
              HasSubstr("ind.toy.graph: the 12013 bytes of the pickle unfold"));
}

TEST(Planetoid, RecognisesItsFiles) {
  const MemoryFiles files(example());
  EXPECT_TRUE(kPlanetoidReader.recognises(files, ""));
  EXPECT_TRUE(kPlanetoidReader.recognises(files, "ind.toy.graph"));
  EXPECT_TRUE(kPlanetoidReader.recognises(files, "ind.toy.test.index"));
  EXPECT_FALSE(kPlanetoidReader.recognises(files, "toy.npz"));
  EXPECT_FALSE(kPlanetoidReader.recognises(MemoryFiles(Files{{"ind..x", ""}, {"ind.x", ""}}), ""));
  Files two = example();
  two["ind.other.x"] = "";
  EXPECT_FALSE(kPlanetoidReader.recognises(MemoryFiles(two), ""));
  EXPECT_TRUE(kPlanetoidReader.recognises(MemoryFiles(two), "ind.toy.x"));
  EXPECT_EQ(error_of([&] { kPlanetoidReader.read(MemoryFiles(two), "", {}); }),
            "expected the files ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph and .test.index of one NAME");
}

struct Published {
  const char* name;
  int64_t nodes, edges, features, classes, train;
};

class PlanetoidPublished : public testing::TestWithParam<Published> {};

TEST_P(PlanetoidPublished, HasTheKnownCounts) {
  const auto folder = test::shared_datasets() / GetParam().name;
  QW_SKIP_WITHOUT(folder);
  const Dataset dataset = kPlanetoidReader.read(FolderFiles(folder), "", {});
  check_consistent(dataset);
  EXPECT_EQ(dataset.graph.num_nodes(), GetParam().nodes);
  EXPECT_EQ(dataset.graph.num_edges(), GetParam().edges);
  EXPECT_EQ(dataset.features.columns, GetParam().features);
  EXPECT_EQ(dataset.targets.width, GetParam().classes);
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(static_cast<int64_t>(dataset.splits[0].train.size()), GetParam().train);
  EXPECT_EQ(dataset.splits[0].test.size(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Files, PlanetoidPublished,
                         testing::Values(Published{"cora", 2708, 5278, 1433, 7, 140},
                                         Published{"citeseer", 3327, 4552, 3703, 6, 120}),
                         [](const auto& tested) { return tested.param.name; });

TEST(PlanetoidCiteseer, FifteenIdsAreMissing) {
  const auto folder = test::shared_datasets() / "citeseer";
  QW_SKIP_WITHOUT(folder);
  const Dataset dataset = kPlanetoidReader.read(FolderFiles(folder), "", {});
  EXPECT_THAT(dataset.notes, testing::Contains(HasSubstr("15 node ids are missing")));
}

}  // namespace
}  // namespace qw
