#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/readers/reader.h"
#include "qw/core/error.h"
#include "support/skip_report.h"

namespace qw {
namespace {

constexpr const char* kEdgeFile = "out1_graph_edges.txt";
constexpr const char* kNodeFile = "out1_node_feature_label.txt";
constexpr const char* kNodeHeader = "node_id\tfeature\tlabel\n";
constexpr const char* kEdgeHeader = "node_id\tnode_id\n";

using Files = std::map<std::string, std::string>;

Dataset read_files(const Files& files, const LoadOptions& options = {}) {
  Dataset dataset = kGeomGcnReader.read(MemoryFiles(files), "", options);
  check_consistent(dataset);
  return dataset;
}

Dataset read_raw(const std::string& nodes, const std::string& edges, const LoadOptions& options = {}) {
  return read_files({{kNodeFile, nodes}, {kEdgeFile, edges}}, options);
}

Dataset read(const std::string& nodes, const std::string& edges, const LoadOptions& options = {}) {
  return read_raw(kNodeHeader + nodes, kEdgeHeader + edges, options);
}

std::string error_of_files(const Files& files) {
  try {
    read_files(files);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_raw(const std::string& nodes, const std::string& edges) {
  return error_of_files({{kNodeFile, nodes}, {kEdgeFile, edges}});
}

std::string node_error(const std::string& nodes) { return error_of_raw(kNodeHeader + nodes, kEdgeHeader); }

std::string edge_error(const std::string& edges) {
  return error_of_raw(std::string(kNodeHeader) + "0\t1\t0\n1\t0\t0\n", kEdgeHeader + edges);
}

std::vector<float> dense_of(const Features& features) {
  if (!features.sparse) return features.dense;
  std::vector<float> dense(features.rows * features.columns, 0.0f);
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t at = features.offsets[row]; at < features.offsets[row + 1]; ++at) {
      dense[row * features.columns + features.indices[at]] = features.values[at];
    }
  }
  return dense;
}

std::vector<std::pair<NodeId, NodeId>> edges_of(const Graph& graph) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (int64_t e = 0; e < graph.num_edges(); ++e) edges.emplace_back(graph.heads()[e], graph.tails()[e]);
  return edges;
}

using Edges = std::vector<std::pair<NodeId, NodeId>>;

TEST(GeomGcn, ReadsPlainFeaturesInAnyOrderOfIds) {
  const Dataset dataset = read("2\t0,1,1\t1\n0\t1,0,0\t0\n1\t0,0,0\t1\n", "2\t0\n0\t2\n1\t1\n1\t2\n1\t2\n");
  EXPECT_EQ(dataset.format, "geom-gcn");
  EXPECT_EQ(edges_of(dataset.graph), (Edges{{0, 2}, {1, 2}}));
  EXPECT_FALSE(dataset.graph.directed());
  EXPECT_EQ(dataset.features.columns, 3);
  EXPECT_EQ(dense_of(dataset.features), (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(dataset.targets.task, Task::kClassification);
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(dataset.targets.width, 2);
  EXPECT_EQ(dataset.notes,
            (std::vector<std::string>{"1 self-loops were dropped; --self-loops keep keeps them",
                                      "1 repeated edges were dropped; --duplicate-edges keep keeps them"}));
}

TEST(GeomGcn, KeepsArcsWhenDirected) {
  LoadOptions options;
  options.directed = true;
  const Dataset dataset = read("0\t1\t0\n1\t1\t0\n", "1\t0\n0\t1\n1\t0\n", options);
  EXPECT_TRUE(dataset.graph.directed());
  EXPECT_EQ(edges_of(dataset.graph), (Edges{{0, 1}, {1, 0}}));
}

TEST(GeomGcn, AcceptsCrlfByteOrderMarkAndNoLastLineEnd) {
  const Dataset dataset =
      read_raw("\xEF\xBB\xBFnode_id\tfeature\tlabel\r\n0\t1,0\t1\r\n1\t0,1\t0", "node_id\tnode_id\r\n0\t1");
  EXPECT_EQ(edges_of(dataset.graph), (Edges{{0, 1}}));
  EXPECT_EQ(dense_of(dataset.features), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{1, 0}));
}

TEST(GeomGcn, ReadsListsOfIndices) {
  const Dataset dataset =
      read_raw("node_id\tfeature(feature_amount:5)\tlabel\n1\t4,0,4\t1\n2\t\t0\n0\t1\t0\n",
               std::string(kEdgeHeader) + "0\t1\n");
  EXPECT_EQ(dataset.features.columns, 5);
  EXPECT_EQ(dense_of(dataset.features), (std::vector<float>{0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}));
  ASSERT_EQ(dataset.notes.size(), 1u);
  EXPECT_EQ(dataset.notes[0],
            "features are read as lists of indices, since line 2 of out1_node_feature_label.txt has a number "
            "above 1");
}

TEST(GeomGcn, ReadsOneNode) {
  const Dataset dataset = read("0\t1\t0\n", "0\t0\n");
  EXPECT_EQ(dataset.graph.num_nodes(), 1);
  EXPECT_EQ(dataset.graph.num_edges(), 0);
  EXPECT_EQ(dataset.targets.width, 1);
}

TEST(GeomGcn, ReadsHeadersAlone) {
  const Dataset dataset = read("", "");
  EXPECT_EQ(dataset.graph.num_nodes(), 0);
  EXPECT_EQ(dataset.features.columns, 0);
}

TEST(GeomGcn, ReadsNodesWithoutFeatures) {
  const Dataset dataset = read("0\t\t0\n1\t\t1\n", "0\t1\n");
  EXPECT_EQ(dataset.features.columns, 0);
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{0, 1}));
}

TEST(GeomGcn, RefusesFilesWithoutHeader) {
  EXPECT_EQ(error_of_raw("", kEdgeHeader),
            "out1_node_feature_label.txt: expected a header line 'node_id<TAB>feature<TAB>label', found an "
            "empty file");
  EXPECT_EQ(error_of_raw("0\t1\t0\n", kEdgeHeader),
            "out1_node_feature_label.txt:1: expected a header line 'node_id<TAB>feature<TAB>label', found "
            "'0\\x091\\x090'");
  EXPECT_EQ(error_of_raw(kNodeHeader, ""),
            "out1_graph_edges.txt: expected a header line 'node_id<TAB>node_id', found an empty file");
  EXPECT_EQ(error_of_raw(kNodeHeader, "0\t1\n"),
            "out1_graph_edges.txt:1: expected a header line 'node_id<TAB>node_id', found '0\\x091'");
}

TEST(GeomGcn, RefusesBadNodes) {
  const std::string at = "out1_node_feature_label.txt:";
  EXPECT_EQ(node_error("0\t1\n"), at + "2: expected 3 tab-separated fields (id, features, label), found 2");
  EXPECT_EQ(node_error("0\t1\t0\t0\n"),
            at + "2: expected 3 tab-separated fields (id, features, label), found 4");
  EXPECT_EQ(node_error("x\t1\t0\n"), at + "2: node id 'x' is not an integer");
  EXPECT_EQ(node_error("0\t1\t0\n2\t1\t0\n"), at + "3: node id 2 is outside 0 to 1");
  EXPECT_EQ(node_error("0\t1\t0\n-1\t1\t0\n"), at + "3: node id -1 is outside 0 to 1");
  EXPECT_EQ(node_error("1\t1\t0\n1\t1\t0\n"), at + "3: node 1 stands on line 2 already");
  EXPECT_EQ(node_error("0\t1\t\n"), at + "2: label '' is not an integer");
  EXPECT_EQ(node_error("0\t1\t9\n"),
            "out1_node_feature_label.txt: the labels are 1 different numbers up to 9 on 1 nodes, too many to "
            "be classes; "
            "as values they can be learned from a CSV (--task regression)");
  EXPECT_EQ(node_error("0\t1\t-1\n"), at + "2: label -1 is outside 0 to 2147483646");
  EXPECT_EQ(node_error("0\t1\t0\n\n1\t1\t0\n"),
            at + "3: expected 3 tab-separated fields (id, features, label), found 1");
}

TEST(GeomGcn, RefusesBadPlainFeatures) {
  const std::string at = "out1_node_feature_label.txt:";
  EXPECT_EQ(node_error("0\t1,0\t0\n1\t1\t0\n"), at + "3: expected 2 features as in the first row, found 1");
  EXPECT_EQ(node_error("0\t1,0\t0\n1\t\t0\n"), at + "3: expected 2 features as in the first row, found 0");
  EXPECT_EQ(node_error("0\t1,0,\t0\n"), at + "2: the list of features ends in a comma");
  EXPECT_EQ(node_error("0\t1,,0\t0\n"), at + "2: feature '' is not an integer");
  EXPECT_EQ(node_error("0\t1,0.5\t0\n"), at + "2: feature '0.5' is not an integer");
  EXPECT_EQ(
      node_error("0\t1,0,2,0\t0\n"),
      at +
          "2: a feature is neither 0 nor 1, and rows of 4 numbers are too long to be lists of indices from 0 "
          "to 2");
}

TEST(GeomGcn, RefusesBadIndices) {
  const std::string at = "out1_node_feature_label.txt:";
  EXPECT_EQ(node_error("0\t5,x\t0\n"), at + "2: feature 'x' is not an integer");
  EXPECT_EQ(node_error("0\t5,-1\t0\n"), at + "2: feature -1 is outside 0 to 6079");
  EXPECT_EQ(node_error("0\t2000000000\t0\n"), at + "2: feature 2000000000 is outside 0 to 6463");
  EXPECT_EQ(node_error("0\t5,\t0\n"), at + "2: feature '' is not an integer");
}

TEST(GeomGcn, RefusesBadEdges) {
  const std::string at = "out1_graph_edges.txt:";
  EXPECT_EQ(edge_error("0\t1\n0\n"), at + "3: expected 2 tab-separated node ids, found 1 fields");
  EXPECT_EQ(edge_error("0\t1\t1\n"), at + "2: expected 2 tab-separated node ids, found 3 fields");
  EXPECT_EQ(edge_error("0\t1x\n"), at + "2: node id '1x' is not an integer");
  EXPECT_EQ(edge_error("2\t0\n"), at + "2: node id 2 is outside 0 to 1");
  EXPECT_EQ(error_of_raw(kNodeHeader, std::string(kEdgeHeader) + "0\t0\n"),
            at + "2: node id 0 cannot be: there are none");
}

TEST(GeomGcn, RecognisesItsFiles) {
  const MemoryFiles both(Files{{kNodeFile, ""}, {kEdgeFile, ""}});
  const MemoryFiles one(Files{{kEdgeFile, ""}});
  EXPECT_TRUE(kGeomGcnReader.recognises(both, ""));
  EXPECT_TRUE(kGeomGcnReader.recognises(both, kEdgeFile));
  EXPECT_TRUE(kGeomGcnReader.recognises(both, kNodeFile));
  EXPECT_FALSE(kGeomGcnReader.recognises(both, "other.txt"));
  EXPECT_FALSE(kGeomGcnReader.recognises(one, ""));
  EXPECT_TRUE(kGeomGcnReader.recognises(one, kEdgeFile));
}

TEST(GeomGcn, NamesTheMissingFile) {
  EXPECT_EQ(error_of_files({{kEdgeFile, kEdgeHeader}}),
            "out1_node_feature_label.txt: cannot read: no such file");
  EXPECT_EQ(error_of_files({{kNodeFile, kNodeHeader}}), "out1_graph_edges.txt: cannot read: no such file");
}

struct Published {
  const char* folder;
  int64_t edges;
};

class GeomGcnPublished : public testing::TestWithParam<Published> {};

TEST_P(GeomGcnPublished, HasTheKnownCounts) {
  const std::filesystem::path folder = std::filesystem::path("../shared/datasets") / GetParam().folder;
  QW_SKIP_WITHOUT(folder / kEdgeFile);
  const Dataset dataset = kGeomGcnReader.read(FolderFiles(folder), kEdgeFile, {});
  check_consistent(dataset);
  EXPECT_EQ(dataset.name, GetParam().folder);
  EXPECT_EQ(dataset.graph.num_nodes(), 183);
  EXPECT_EQ(dataset.graph.num_edges(), GetParam().edges);
  EXPECT_EQ(dataset.features.rows, 183);
  EXPECT_EQ(dataset.features.columns, 1703);
  EXPECT_TRUE(dataset.features.sparse);
  EXPECT_EQ(dataset.targets.width, 5);
  EXPECT_EQ(dataset.targets.labelled(), 183);
}

INSTANTIATE_TEST_SUITE_P(Shared, GeomGcnPublished,
                         testing::Values(Published{"texas", 279}, Published{"cornell", 277}),
                         [](const auto& test) { return std::string(test.param.folder); });

}  // namespace
}  // namespace qw
