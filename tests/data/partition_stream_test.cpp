// Cutting in passes gives the files that cutting in memory gives, byte for byte, and says the same.
#include <fmt/format.h>

#include "core/text.h"
#include "data/formats/gzip.h"
#include "data/partition/edge_buckets.h"
#include "data/partition_support.h"
#include "qw/graph/generators.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::files_of;

PartitionOptions options_of(const std::string& stream, int64_t parts = 3) {
  PartitionOptions options;
  options.parts = parts;
  options.align = 4;
  options.stream = stream;
  if (stream == "yes") options.memory = 1;  // MiB
  return options;
}

void expect_same(const std::string& what, const LoadOptions& load = {}, int64_t parts = 3) {
  SCOPED_TRACE(what + load.edges);
  const test::TemporaryFolder folder;
  std::vector<std::string> streamed, loaded;
  make_partition(what, load, options_of("yes", parts), folder.path() / "stream", streamed);
  make_partition(what, load, options_of("no", parts), folder.path() / "memory", loaded);
  EXPECT_EQ(streamed, loaded);
  EXPECT_EQ(files_of(folder.path() / "stream"), files_of(folder.path() / "memory"));
}

std::string refusal(const std::string& what, const LoadOptions& load = {}) {
  const test::TemporaryFolder folder;
  std::vector<std::string> notes;
  return error_of([&] { make_partition(what, load, options_of("yes"), folder.path() / "p", notes); });
}

TEST(PartitionStream, Csbm) {
  expect_same("csbm:nodes=1000,degree=7,features=3");
  expect_same("csbm:nodes=77,degree=7,features=3,classes=4,seed=9", {}, 7);
}

TEST(PartitionStream, CsbmInManyBuckets) {
  expect_same("csbm:nodes=20000,degree=40,features=2,classes=3");  // 400,000 edges of 131,072 a bucket
}

// Half of all pairs: most are proposed more than once, in many rounds.
TEST(PartitionStream, CsbmThatRepeats) {
  expect_same("csbm:nodes=60,degree=24,homophily=0.5,features=2,classes=2");
}

TEST(PartitionStream, CsbmWithMadeFeatures) {
  LoadOptions load;
  load.missing_features = "constant";
  expect_same("csbm:nodes=100,features=0", load);
  load.missing_features = "none";
  expect_same("csbm:nodes=100,features=0", load);
}

TEST(PartitionStream, SameBitsForAnyNumberOfThreads) {
  const test::TemporaryFolder folder;
  for (const int threads : {1, 5}) {
    const test::ScopedThreads scoped(threads);
    std::vector<std::string> notes;
    make_partition("csbm:nodes=9000,degree=20,features=3", {}, options_of("yes"),
                   folder.path() / std::to_string(threads), notes);
  }
  EXPECT_EQ(files_of(folder.path() / "1"), files_of(folder.path() / "5"));
}

// Rows of random numbers, `columns` of values behind the ends.
std::string random_rows(int64_t rows, int64_t nodes, int columns, uint64_t seed) {
  const RandomStream random(seed, 2);
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    text += fmt::format("{},{}", random.below(row * 5, nodes), random.below(row * 5 + 1, nodes));
    for (int column = 0; column < columns; ++column)
      text += fmt::format(",{}", random.below(row * 5 + 2 + column, 7) / 2.0);
    text += '\n';
  }
  return text;
}

struct CsvTest : testing::Test {
  LoadOptions load_of(const std::string& name, const std::string& text) const {
    LoadOptions load;
    load.edges = folder_.write(name, text).string();
    load.missing_features = "none";
    return load;
  }
  test::TemporaryFolder folder_;
};

TEST_F(CsvTest, NumbersWithAndWithoutGaps) {
  expect_same("", load_of("dense.csv", random_rows(300, 20, 0, 1)));
  expect_same("", load_of("gaps.csv", random_rows(300, 100000, 0, 2)));
  LoadOptions load = load_of("constant.csv", random_rows(300, 50, 0, 3));
  load.missing_features = "constant";
  expect_same("", load);
}

TEST_F(CsvTest, CostsWeightsDirectionsAndPolicies) {
  for (int bits = 0; bits < 24; ++bits) {
    LoadOptions load = load_of(fmt::format("e{}.csv", bits), "a,b,w,c\n" + random_rows(200, 15, 2, bits + 1));
    load.directed = (bits & 1) != 0;
    if ((bits & 2) != 0) load.edge_weight = "w";
    if ((bits & 4) != 0) load.edge_cost = "c";
    load.duplicate_edges = bits % 3 == 0 ? "keep" : "drop";
    load.self_loops = bits >= 8 ? "keep" : "drop";
    expect_same("", load);
  }
}

TEST_F(CsvTest, RemarksAreTheSame) {
  LoadOptions load =
      load_of("r.csv", "% comment\n0 1 2.5\n1 0 2.5\n\n0 1 -1\n# inside\n2 2 1\n3 1 1\n3 1 1\n");
  load.edge_weight = "3";
  expect_same("", load, 1);
  expect_same("", load_of("counts.txt", "4 3\n0 1\n1 2\n2 3\n"), 1);
  expect_same("", load_of("counts_from_1.txt", "4 3\n1 2\n2 3\n3 4\n"), 1);
  expect_same("", load_of("no_counts.txt", "4 5\n1 2\n2 3\n3 4\n"), 1);
}

TEST_F(CsvTest, Gzipped) {
  expect_same("", load_of("e.csv.gz", gzip(random_rows(300, 1000, 0, 4))));
  LoadOptions load;
  load.missing_features = "none";
  expect_same(load_of("f.csv", random_rows(300, 30, 0, 5)).edges, load);
}

TEST_F(CsvTest, ErrorsAreTheSame) {
  const auto same_error = [&](const LoadOptions& load) {
    EXPECT_EQ(refusal("", load), error_of([&] { load_dataset("", load); }));
  };
  same_error(load_of("short.csv", "0,1\n1,2\n3\n"));
  LoadOptions load = load_of("loop.csv", "0,1\n1,2\n2,2\n");
  load.self_loops = "error";
  same_error(load);
  load = load_of("twice.csv", "0,1\n4,5\n1,0\n5,4\n4,5\n");
  load.duplicate_edges = "error";
  same_error(load);
  same_error(load_of("labels.csv", "id,label\n0,1\n1,2\n2,1\n3,2\n4,1\n5,2\n6,1\n7,2\n"));
  std::string labels;
  for (int node = 0; node < 30; ++node) labels += fmt::format("{},{}\n", node, node % 3);
  same_error(load_of("nameless_labels.csv", labels));
  load = load_of("weight.csv", "0,1,2\n1,2,x\n");
  load.edge_weight = "3";
  same_error(load);
}

TEST_F(CsvTest, WhatNeedsTheWhole) {
  const auto why = [&](const LoadOptions& load) {
    const std::string error = refusal("", load);
    const std::string beginning = "--stream yes: ";
    const size_t at = error.find("passes: ");
    EXPECT_TRUE(error.starts_with(beginning) && at != std::string::npos) << error;
    return error.substr(at + 8);
  };
  EXPECT_EQ(why(load_of("names.csv", "ann,bob\nbob,eve\n")), "its ids are not all plain numbers");
  EXPECT_EQ(why(load_of("utf8.csv", "von,zu,\xC3\xA4\n1,2,3\n")), "it is not plain ASCII");
  EXPECT_EQ(why(load_of("mac.csv", "1,2\r2,3\r")), "its lines end in CR alone");
  EXPECT_EQ(why(load_of("quotes.csv", "1,2\n\"3\",4\n")), "it has fields in quotes");
  EXPECT_EQ(why(load_of("matrix.csv", ",7,8\n7,0,1\n8,1,0\n")), "it is a matrix");
  LoadOptions load = load_of("made.csv", "1,2\n3,4\n");
  load.missing_features = "auto";
  EXPECT_EQ(why(load),
            "features are made from the whole graph; --missing-features constant or none needs less");
  load = load_of("e.csv", "1,2\n3,4\n");
  load.nodes = folder_.write("n.csv", "id,f,label\n1,0.5,a\n2,1.5,b\n3,2.5,a\n").string();
  EXPECT_EQ(why(load), "edges name nodes that the table of nodes has not");
  load.encoding = "latin-1";
  EXPECT_EQ(why(load), "it has another encoding");
  load = load_of("g.csv", "a,b\n1,2\n3,1\n");
  load.nodes = (folder_.path() / "n.csv").string();
  EXPECT_EQ(why(load), "its first line may be an edge");
}

// Rows of nodes in an order of their own, some of them without edges.
std::string node_rows(int64_t nodes) {
  std::string text = "id,f,g,label,split\n";
  for (int64_t row = 0; row < nodes; ++row) {
    const int64_t node = (row * 7 + 3) % nodes;
    text += fmt::format("{},{},{},{},{}\n", node * 3, row / 2.0, row % 2 == 0 ? "x" : "y",
                        row % 5 == 0   ? ""
                        : row % 3 == 0 ? "red"
                                       : "blue",
                        row % 5 == 0   ? ""
                        : row % 2 == 0 ? "train"
                        : row % 4 == 1 ? "val"
                                       : "test");
  }
  return text;
}

TEST_F(CsvTest, TableOfNodes) {
  std::string edges;
  const RandomStream random(5, 5);
  for (int64_t e = 0; e < 300; ++e)
    edges +=
        fmt::format("{};{};{}\n", 3 * random.below(2 * e, 40), 3 * random.below(2 * e + 1, 45), e % 4 - 1);
  LoadOptions load = load_of("e.csv", edges);
  load.missing_features = "auto";
  load.nodes = folder_.write("n.csv", node_rows(50)).string();
  load.target = "label";
  expect_same("", load);
  load.edge_weight = "3";
  load.one_hot = true;
  expect_same("", load);
  load.unknown_nodes = "add";
  load.one_hot = false;
  load.nodes = folder_.write("few.csv", node_rows(43)).string();
  expect_same("", load);
}

TEST_F(CsvTest, Folder) {
  folder_.write("edges.csv", "source,target,weight\n0,3,1.5\n3,6,2\n9,0,3\n");
  folder_.write("nodes.csv", node_rows(6));
  expect_same(folder_.path().string());
}

TEST(PartitionStream, MemoryIsForStreams) {
  const test::TemporaryFolder folder;
  PartitionOptions options = options_of("auto", 2);
  options.memory = 7;
  std::vector<std::string> notes;
  EXPECT_EQ(error_of([&] { make_partition("karate", {}, options, folder.path() / "p", notes); }),
            "--memory 7: 'karate' cannot be read in passes: of generators and names only csbm can");
}

TEST(PartitionStream, OtherDataIsReadWhole) {
  EXPECT_EQ(refusal("karate"),
            "--stream yes: 'karate' cannot be read in passes: of generators and names only csbm can");
  const test::TemporaryFolder folder;
  folder.write("g.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n");
  const std::string matrix = (folder.path() / "g.mtx").string();
  EXPECT_EQ(refusal(matrix),
            fmt::format("--stream yes: {} cannot be read in passes: of files only CSV and OGB "
                        "folders can",
                        in_quotes(matrix)));
  std::vector<std::string> notes;
  make_partition("karate", {}, options_of("auto", 2), folder.path() / "karate", notes);
  EXPECT_EQ(notes.back(), "all of it was read into memory: of generators and names only csbm can");
}

struct OgbTest : testing::Test {
  OgbTest() {
    for (const char* name : {"raw", "split/time"}) fs::create_directories(folder_.path() / name);
    std::string labels, features, train, val;
    for (int node = 0; node < 50; ++node) {
      labels += node % 7 == 0 ? "nan\n" : fmt::format("{}.0\n", node % 3);
      features += fmt::format("{},0,{}\n", node / 4.0, node % 2);
      if (node % 7 != 0) (node % 2 == 0 ? train : val) += fmt::format("{}\n", node);
    }
    folder_.write("raw/num-node-list.csv.gz", gzip("50\n"));
    folder_.write("raw/num-edge-list.csv.gz", gzip("400\n"));
    folder_.write("raw/edge.csv.gz", gzip(random_rows(400, 50, 0, 8)));
    folder_.write("raw/node-feat.csv.gz", gzip(features));
    folder_.write("raw/node-label.csv.gz", gzip(labels));
    folder_.write("split/time/train.csv", train);
    folder_.write("split/time/valid.csv.gz", gzip(val));
    folder_.write("split/time/valid.csv", val);
    folder_.write("split/time/test.csv", "");
  }
  test::TemporaryFolder folder_;
};

TEST_F(OgbTest, Folder) {
  expect_same(folder_.path().string());
  LoadOptions load;
  load.directed = true;
  load.self_loops = "keep";
  expect_same(folder_.path().string(), load);
}

TEST_F(OgbTest, SparseFeaturesAndNone) {
  std::string features;
  for (int node = 0; node < 50; ++node) features += fmt::format("0,0,{},0,0\n", node % 3);
  folder_.write("raw/node-feat.csv.gz", gzip(features));
  expect_same(folder_.path().string());
  fs::remove(folder_.path() / "raw/node-feat.csv.gz");
  LoadOptions load;
  load.missing_features = "constant";
  expect_same(folder_.path().string(), load);
  EXPECT_NE(refusal(folder_.path().string()).find("features are made"), std::string::npos);
}

TEST_F(OgbTest, ErrorsAreTheSame) {
  const auto same_error = [&](const std::string& name, const std::string& text) {
    const std::string before = read_file(folder_.path() / name);
    folder_.write(name, gzip(text));
    EXPECT_EQ(refusal(folder_.path().string()), error_of([&] { load_dataset(folder_.path().string()); }));
    folder_.write(name, before);
  };
  same_error("raw/edge.csv.gz", random_rows(399, 50, 0, 8));
  same_error("raw/edge.csv.gz", random_rows(399, 50, 0, 8) + "3,50\n");
  same_error("raw/edge.csv.gz", random_rows(400, 50, 1, 8));
  same_error("raw/node-feat.csv.gz", "1,2\n");
  same_error("raw/node-label.csv.gz", "1\n");
}

TEST(EdgeBuckets, SortsWhatBuildingAGraphSorts) {
  const test::TemporaryFolder folder;
  const RandomStream random(3, 3);
  EdgeList list;
  list.num_nodes = 30;
  EdgeBuckets buckets(folder.path(), {false, true, true}, {}, {0, 7, 7, 20}, "edges");
  for (int64_t e = 0; e < 500; ++e) {
    list.tails.push_back(static_cast<NodeId>(random.below(4 * e, 30)));
    list.heads.push_back(static_cast<NodeId>(random.below(4 * e + 1, 30)));
    list.costs.push_back(static_cast<double>(random.below(4 * e + 2, 5)));
    list.weights.push_back(static_cast<double>(random.below(4 * e + 3, 5)));
    buckets.add(list.tails.back(), list.heads.back(), list.costs.back(), list.weights.back());
  }
  const Graph graph = Graph::build(list);
  std::vector<NodeId> heads, tails;
  std::vector<double> costs, weights;
  buckets.each([&](const EdgeBlock& block) {
    heads.insert(heads.end(), block.heads.begin(), block.heads.end());
    tails.insert(tails.end(), block.tails.begin(), block.tails.end());
    costs.insert(costs.end(), block.costs.begin(), block.costs.end());
    weights.insert(weights.end(), block.weights.begin(), block.weights.end());
  });
  EXPECT_EQ(heads, test::copied(graph.heads()));
  EXPECT_EQ(tails, test::copied(graph.tails()));
  EXPECT_EQ(costs, test::copied(graph.costs()));
  EXPECT_EQ(weights, test::copied(graph.weights()));
}

}  // namespace
}  // namespace qw
