#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "data/formats/gzip.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Files = std::map<std::string, std::string>;
using WeightedEdges = std::vector<std::tuple<NodeId, NodeId, double>>;

constexpr const char* kGeneral = "%%MatrixMarket matrix coordinate real general\n";
constexpr const char* kPattern = "%%MatrixMarket matrix coordinate pattern general\n";
constexpr const char* kSymmetric = "%%MatrixMarket matrix coordinate integer symmetric\n";

Dataset read_files(const Files& files, const std::string& entry, const LoadOptions& options = {}) {
  Dataset dataset = kMatrixMarketReader.read(MemoryFiles(files), entry, options);
  check_consistent(dataset);
  return dataset;
}

Dataset read(const std::string& matrix, bool directed = false) {
  LoadOptions options;
  options.directed = directed;
  return read_files({{"g.mtx", matrix}}, "g.mtx", options);
}

std::string error_of_files(const Files& files, const std::string& entry) {
  try {
    read_files(files, entry);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::string& matrix) { return error_of_files({{"g.mtx", matrix}}, "g.mtx"); }

// Three nodes in a path, with one side file.
Files path_with(const std::string& name, const std::string& contents) {
  return {{"g.mtx", std::string(kPattern) + "3 3 2\n1 2\n2 3\n"}, {name, contents}};
}

std::string side_error(const std::string& name, const std::string& contents) {
  return error_of_files(path_with(name, contents), "g.mtx");
}

WeightedEdges edges_of(const Graph& graph) {
  WeightedEdges edges;
  for (int64_t e = 0; e < graph.num_edges(); ++e) {
    edges.emplace_back(graph.heads()[e], graph.tails()[e],
                       graph.weights().empty() ? 1.0 : graph.weights()[e]);
  }
  return edges;
}

TEST(MatrixMarket, ReadsAPattern) {
  const Dataset dataset =
      read(std::string(kPattern) + "% a comment\n\n3 3 3\n1 2\n\n% another\n 3\t2 \n2 1\n");
  EXPECT_EQ(dataset.format, "matrix-market");
  EXPECT_EQ(dataset.name, "g");
  EXPECT_EQ(dataset.graph.num_nodes(), 3);
  EXPECT_EQ(edges_of(dataset.graph), (WeightedEdges{{0, 1, 1}, {1, 2, 1}}));
  EXPECT_TRUE(dataset.graph.weights().empty());
  EXPECT_EQ(dataset.targets.task, Task::kNone);
  EXPECT_EQ(dataset.features.columns, 0);
  EXPECT_TRUE(dataset.notes.empty());
}

TEST(MatrixMarket, ReadsWeights) {
  const Dataset dataset = read(std::string(kGeneral) + "3 3 3\n1 2 1\n2 3 -0.5\n3 2 7e-1\n");
  EXPECT_EQ(edges_of(dataset.graph), (WeightedEdges{{0, 1, 1}, {1, 2, -0.5}}));
  EXPECT_EQ(dataset.notes, (std::vector<std::string>{
                               "the matrix is general but read as undirected: of A[i,j] and A[j,i] the first "
                               "given is the weight",
                               "1 repeated edges had another weight or cost: the first weight and the lowest "
                               "cost count; --duplicate-edges keep keeps all, error refuses them"}));
}

TEST(MatrixMarket, HasNoWeightsWhenAllAreOne) {
  const Dataset dataset = read(std::string(kGeneral) + "3 3 2\n1 2 1.0\n2 3 1\n");
  EXPECT_TRUE(dataset.graph.weights().empty());
  EXPECT_EQ(dataset.graph.num_edges(), 2);
  EXPECT_TRUE(dataset.notes.empty());
}

TEST(MatrixMarket, KeepsArcsWhenDirected) {
  const Dataset dataset = read(std::string(kGeneral) + "3 3 3\n1 2 2\n2 1 3\n3 1 1\n", true);
  EXPECT_TRUE(dataset.graph.directed());
  EXPECT_EQ(edges_of(dataset.graph), (WeightedEdges{{0, 1, 3}, {0, 2, 1}, {1, 0, 2}}));
  EXPECT_TRUE(dataset.notes.empty());
}

TEST(MatrixMarket, ReadsSymmetricMatrices) {
  const std::string matrix = std::string(kSymmetric) + "3 3 3\n2 1 4\n3 2 5\n3 3 6\n";
  EXPECT_EQ(edges_of(read(matrix).graph), (WeightedEdges{{0, 1, 4}, {1, 2, 5}}));
  EXPECT_EQ(edges_of(read(matrix, true).graph), (WeightedEdges{{0, 1, 4}, {1, 0, 4}, {1, 2, 5}, {2, 1, 5}}));
  EXPECT_EQ(read(matrix).notes,
            (std::vector<std::string>{"1 self-loops were dropped; --self-loops keep keeps them"}));
}

TEST(MatrixMarket, LeavesOutZerosAndSaysSo) {
  const Dataset dataset = read(std::string(kSymmetric) + "3 3 2\n2 1 0\n3 2 1\n");
  EXPECT_EQ(edges_of(dataset.graph), (WeightedEdges{{1, 2, 1}}));
  EXPECT_TRUE(dataset.graph.weights().empty());
  EXPECT_EQ(dataset.notes, (std::vector<std::string>{"1 entries with the value 0 were dropped"}));
}

TEST(MatrixMarket, ReadsSmallMatrices) {
  EXPECT_EQ(read(std::string(kPattern) + "0 0 0\n").graph.num_nodes(), 0);
  EXPECT_EQ(read(std::string(kPattern) + "1 1 0").graph.num_nodes(), 1);
  const Dataset loop = read(std::string(kPattern) + "1 1 1\n1 1");
  EXPECT_EQ(loop.graph.num_nodes(), 1);
  EXPECT_EQ(loop.graph.num_edges(), 0);
}

TEST(MatrixMarket, IgnoresCaseCrlfAndByteOrderMark) {
  const Dataset dataset =
      read("\xEF\xBB\xBF%%matrixmarket MATRIX Coordinate Pattern SYMMETRIC\r\n%x\r\n2 2 1\r\n2 1\r\n");
  EXPECT_EQ(edges_of(dataset.graph), (WeightedEdges{{0, 1, 1}}));
}

TEST(MatrixMarket, ReadsGzipFiles) {
  const std::string matrix = std::string(kPattern) + "2 2 1\n1 2\n";
  const Files files = {{"g.mtx.gz", gzip(matrix)}, {"g_labels.txt", "1\n0\n"}};
  EXPECT_EQ(read_files(files, "g.mtx.gz").targets.classes, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(read_files(files, "").graph.num_edges(), 1);
}

TEST(MatrixMarket, RefusesOtherBanners) {
  const auto expected = [](const std::string& found) {
    return "g.mtx:1: expected a banner like '%%MatrixMarket matrix coordinate real general', found " + found;
  };
  EXPECT_EQ(error_of(""), "g.mtx: expected a Matrix Market banner, found an empty file");
  EXPECT_EQ(error_of("1 2\n"), expected("'1 2'"));
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real\n"),
            expected("'%%MatrixMarket matrix coordinate real'"));
  EXPECT_EQ(error_of("%%MatrixMarket vector coordinate real general\n"),
            "g.mtx:1: object 'vector' is not read here; it may be matrix");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n"),
            "g.mtx:1: format 'array' is not read here; it may be coordinate");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate complex general\n"),
            "g.mtx:1: field 'complex' is not read here; it may be real or integer or pattern");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real Hermitian\n"),
            "g.mtx:1: symmetry 'Hermitian' is not read here; it may be general or symmetric");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real skew-symmetric\n"),
            "g.mtx:1: symmetry 'skew-symmetric' is not read here; it may be general or symmetric");
}

TEST(MatrixMarket, RefusesBadSizes) {
  const std::string pattern = kPattern;
  EXPECT_EQ(error_of(pattern), "g.mtx:1: the file ends before its line of sizes 'rows columns entries'");
  EXPECT_EQ(error_of(pattern + "% comment\n"),
            "g.mtx:2: the file ends before its line of sizes 'rows columns entries'");
  EXPECT_EQ(error_of(pattern + "3 3\n"), "g.mtx:2: expected 'rows columns entries', found '3 3'");
  EXPECT_EQ(error_of(pattern + "3 3 x\n"), "g.mtx:2: size 'x' is not an integer");
  EXPECT_EQ(error_of(pattern + "3 3 -1\n"), "g.mtx:2: size -1 is outside 0 to 9223372036854775807");
  EXPECT_EQ(error_of(pattern + "3 4 0\n"), "g.mtx:2: an adjacency matrix is square; this one is 3 x 4");
  EXPECT_EQ(error_of(pattern + "3 3 1000000000000\n"),
            "g.mtx:2: 1000000000000 entries do not fit in a file of 67 bytes");
  EXPECT_EQ(error_of(pattern + "3 3 9223372036854775807\n"),
            "g.mtx:2: 9223372036854775807 entries do not fit in a file of 73 bytes");
  EXPECT_EQ(error_of(pattern + "1000000000 1000000000 0\n"),
            "g.mtx: claims 1,000,000,000 nodes in 73 B, which cannot be");
  EXPECT_EQ(error_of(pattern + "3000000000 3000000000 0\n"),
            "g.mtx: 3000000000 nodes; a graph has 0 to 2147483646");
}

TEST(MatrixMarket, RefusesBadEntries) {
  const std::string pattern = std::string(kPattern) + "3 3 2\n";
  EXPECT_EQ(error_of(pattern + "1 2\n"), "g.mtx:3: expected 2 entries, but the file ends after 1");
  EXPECT_EQ(error_of(pattern), "g.mtx:2: expected 2 entries, but the file ends after 0");
  EXPECT_EQ(error_of(pattern + "1 2\n2 3\n3 1\n"), "g.mtx:5: expected 2 entries, found one more");
  EXPECT_EQ(error_of(pattern + "1 2\n2 3 1\n"), "g.mtx:4: expected an entry of 2 numbers, found 3");
  EXPECT_EQ(error_of(pattern + "0 2\n2 3\n"), "g.mtx:3: row 0 is outside 1 to 3");
  EXPECT_EQ(error_of(pattern + "1 4\n2 3\n"), "g.mtx:3: column 4 is outside 1 to 3");
  EXPECT_EQ(error_of(pattern + "1 b\n2 3\n"), "g.mtx:3: column 'b' is not an integer");
  EXPECT_EQ(error_of(std::string(kPattern) + "0 0 1\n1 1\n"), "g.mtx:3: row 1 cannot be: there are none");
  const std::string real = std::string(kGeneral) + "3 3 1\n";
  EXPECT_EQ(error_of(real + "1 2\n"), "g.mtx:3: expected an entry of 3 numbers, found 2");
  EXPECT_EQ(error_of(real + "1 2 x\n"), "g.mtx:3: value 'x' is not a number");
  EXPECT_EQ(error_of(real + "1 2 inf\n"), "g.mtx:3: value 'inf' is not finite");
  EXPECT_EQ(error_of(std::string(kSymmetric) + "3 3 1\n1 2 1.5\n"), "g.mtx:3: value '1.5' is not an integer");
}

TEST(MatrixMarket, ReadsFeatures) {
  const Dataset dataset = read_files(
      path_with("g_features.mtx", std::string(kGeneral) + "3 2 5\n3 1 5\n1 2 0.5\n1 1 2\n3 1 -1\n2 2 0\n"),
      "g.mtx");
  EXPECT_EQ(dataset.features.rows, 3);
  EXPECT_EQ(dataset.features.columns, 2);
  EXPECT_EQ(dataset.features.dense, (std::vector<float>{2, 0.5f, 0, 0, 4, 0}));
}

TEST(MatrixMarket, RefusesBadFeatures) {
  const auto error = [](const std::string& contents) { return side_error("g_features.mtx", contents); };
  EXPECT_EQ(error(std::string(kGeneral) + "2 2 0\n"),
            "g_features.mtx:2: expected a row of features for each of 3 nodes, found 2");
  EXPECT_EQ(error(std::string(kSymmetric) + "3 3 0\n"),
            "g_features.mtx:2: features are a general matrix, not a symmetric one");
  EXPECT_EQ(error(std::string(kGeneral) + "3 1000000 0\n"),
            "g_features.mtx:2: 1000000 columns in a file of 58 bytes cannot be");
  EXPECT_EQ(error(std::string(kGeneral) + "3 2 1\n1 3 1\n"), "g_features.mtx:3: column 3 is outside 1 to 2");
  EXPECT_EQ(error(std::string(kGeneral) + "3 2 1\n1 1 -1e39\n"),
            "g_features.mtx:3: value -1e+39 is too large for a 32-bit number");
}

TEST(MatrixMarket, LabelsThatOccurAreTheClasses) {
  const Targets targets = read_files(path_with("g_labels.txt", "3\n1\n3\n"), "g.mtx").targets;
  EXPECT_EQ(targets.classes, (std::vector<int32_t>{1, 0, 1}));
  EXPECT_EQ(targets.names, (std::vector<std::string>{"1", "3"}));
}

TEST(MatrixMarket, ReadsLabels) {
  const std::vector<int32_t> expected = {1, -1, 0};
  EXPECT_EQ(read_files(path_with("g_labels.txt", "1\r\n-1\n 0 "), "g.mtx").targets.classes, expected);
  EXPECT_EQ(read_files(path_with("g_labels.mtx", "% classes\n1\n-1\n0\n"), "g.mtx").targets.classes,
            expected);
  EXPECT_EQ(read_files(path_with("g_labels.mtx.gz",
                                 gzip("%%MatrixMarket matrix array integer general\n% c\n3 1\n1\n-1\n0\n")),
                       "")
                .targets.classes,
            expected);
}

TEST(MatrixMarket, RefusesBadLabels) {
  EXPECT_EQ(side_error("g_labels.txt", ""), "g_labels.txt: expected 3 labels, one per node, found 0");
  EXPECT_EQ(side_error("g_labels.txt", "1\n0\n"), "g_labels.txt: expected 3 labels, one per node, found 2");
  EXPECT_EQ(side_error("g_labels.txt", "1\n0\n1\n1\n"),
            "g_labels.txt:4: expected 3 labels, one per node, found one more");
  EXPECT_EQ(side_error("g_labels.txt", "1\n0\none\n"), "g_labels.txt:3: label 'one' is not an integer");
  EXPECT_EQ(side_error("g_labels.txt", "1\n-2\n0\n"), "g_labels.txt:2: label -2 is outside -1 to 2147483646");
  EXPECT_EQ(side_error("g_labels.txt", "1\n30\n0\n"),
            "g_labels.txt: the labels are 3 different numbers up to 30 on 3 nodes, too many to be classes; "
            "as values they can be learned from a CSV (--task regression)");
  const std::string array = "%%MatrixMarket matrix array integer general\n";
  EXPECT_EQ(side_error("g_labels.mtx", array + "2 1\n0\n0\n"),
            "g_labels.mtx:2: expected 3 x 1 labels, one per node, found 2 x 1");
  EXPECT_EQ(side_error("g_labels.mtx", array + "3\n"), "g_labels.mtx:2: expected 'rows columns', found '3'");
  EXPECT_EQ(side_error("g_labels.mtx", array),
            "g_labels.mtx:1: the file ends before its line of sizes 'rows columns'");
  EXPECT_EQ(side_error("g_labels.mtx", "%%MatrixMarket matrix array real general\n3 1\n"),
            "g_labels.mtx:1: labels are an array of the kind 'integer general'");
  EXPECT_EQ(side_error("g_labels.mtx", kGeneral),
            "g_labels.mtx:1: format 'coordinate' is not read here; it may be array");
}

TEST(MatrixMarket, FindsTheMatrixOfAFolder) {
  const std::string matrix = std::string(kPattern) + "1 1 0\n";
  const auto recognises = [](const Files& files, const std::string& entry) {
    return kMatrixMarketReader.recognises(MemoryFiles(files), entry);
  };
  EXPECT_TRUE(recognises({{"a.mtx", ""}}, ""));
  EXPECT_TRUE(recognises({{"a.mtx.gz", ""}}, ""));
  EXPECT_TRUE(recognises({}, "a.mtx"));
  EXPECT_TRUE(recognises({}, "a.mtx.gz"));
  EXPECT_FALSE(recognises({}, "a.gz"));
  EXPECT_FALSE(recognises({{"a_features.mtx", ""}, {"a_labels.mtx", ""}, {"b.txt", ""}}, ""));
  EXPECT_EQ(read_files({{"a.mtx", matrix}, {"a.mtx.gz", "damaged"}, {"a_labels.txt", "0"}}, "").targets.width,
            1);
  EXPECT_EQ(error_of_files({{"a.mtx", matrix}, {"b.mtx", matrix}}, ""),
            "expected one matrix in the folder, found 2: a.mtx, b.mtx; name the file to read");
}

}  // namespace
}  // namespace qw
