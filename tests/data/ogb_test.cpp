#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "data/formats/gzip.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "support/support.h"

namespace qw {
namespace {

using Files = std::map<std::string, std::string>;
using Edges = std::vector<std::pair<NodeId, NodeId>>;

// Four nodes, four arcs (one twice, one back), two features, three classes.
Files small() {
  return {{"raw/num-node-list.csv", "4\n"},         {"raw/num-edge-list.csv", "4\n"},
          {"raw/edge.csv", "0,1\n1,0\n2,3\n2,3\n"}, {"raw/node-feat.csv", "0.5,1\n-2,3\n1e-3,4\n5,6\n"},
          {"raw/node-label.csv", "0\n2\n1\n0\n"},   {"split/time/train.csv", "2\n0\n"},
          {"split/time/valid.csv", "3\n"},          {"split/time/test.csv", "1\n"}};
}

Files with(Files files, const std::string& name, const std::string& contents) {
  files[name] = contents;
  return files;
}

Files without(Files files, const std::string& name) {
  files.erase(name);
  return files;
}

Files packed(const Files& files) {
  Files result;
  for (const auto& [name, contents] : files) result[name + ".gz"] = gzip(contents);
  return result;
}

Dataset read(const Files& files, const LoadOptions& options = {}) {
  Dataset dataset = kOgbReader.read(MemoryFiles(files), "", options);
  check_consistent(dataset);
  return dataset;
}

std::string error_of(const Files& files, const LoadOptions& options = {}) {
  try {
    read(files, options);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_with(const std::string& name, const std::string& contents) {
  return error_of(with(small(), name, contents));
}

Edges edges_of(const Graph& graph) {
  Edges edges;
  for (int64_t e = 0; e < graph.num_edges(); ++e) edges.emplace_back(graph.heads()[e], graph.tails()[e]);
  return edges;
}

void expect_small(const Dataset& dataset) {
  EXPECT_EQ(dataset.format, "ogb");
  EXPECT_EQ(dataset.graph.num_nodes(), 4);
  EXPECT_EQ(edges_of(dataset.graph), (Edges{{0, 1}, {2, 3}}));
  EXPECT_EQ(dataset.features.dense, (std::vector<float>{0.5f, 1, -2, 3, 1e-3f, 4, 5, 6}));
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{0, 2, 1, 0}));
  EXPECT_EQ(dataset.targets.width, 3);
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(dataset.splits[0].train, (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(dataset.splits[0].val, (std::vector<NodeId>{3}));
  EXPECT_EQ(dataset.splits[0].test, (std::vector<NodeId>{1}));
  EXPECT_EQ(dataset.notes,
            (std::vector<std::string>{"1 repeated edges were dropped; --duplicate-edges keep keeps them",
                                      "the split is the published one by time"}));
}

TEST(Ogb, ReadsPlainFiles) { expect_small(read(small())); }

TEST(Ogb, ReadsGzipFiles) { expect_small(read(packed(small()))); }

TEST(Ogb, ReadsCrlfByteOrderMarkAndNoLastLineEnd) {
  Files files = with(small(), "raw/edge.csv",
                     "\xEF\xBB\xBF"
                     "0,1\r\n1,0\r\n2,3\r\n2,3");
  files["raw/num-node-list.csv"] = "4";
  expect_small(read(files));
}

TEST(Ogb, ReadsTheRawFolderAlone) {
  Files files;
  for (const auto& [name, contents] : small()) {
    files[name.starts_with("raw/") ? name.substr(4) : "../" + name] = contents;
  }
  expect_small(read(files));
  for (const char* part : {"train", "valid", "test"})
    files.erase(std::string("../split/time/") + part + ".csv");
  EXPECT_TRUE(read(files).splits.empty());
}

TEST(Ogb, KeepsArcsWhenDirected) {
  LoadOptions options;
  options.directed = true;
  EXPECT_EQ(edges_of(read(small(), options).graph), (Edges{{0, 1}, {1, 0}, {3, 2}}));
}

TEST(Ogb, DropsSelfLoops) {
  EXPECT_EQ(edges_of(read(with(small(), "raw/edge.csv", "0,0\n3,3\n2,1\n1,1\n")).graph), (Edges{{1, 2}}));
}

TEST(Ogb, ReadsWithoutFeatures) {
  const Dataset dataset = read(without(small(), "raw/node-feat.csv"));
  EXPECT_EQ(dataset.features.columns, 0);
  EXPECT_EQ(dataset.features.rows, 0);
}

TEST(Ogb, ReadsMissingClasses) {
  Files files = without(small(), "split/time/train.csv");
  files["raw/node-label.csv"] = "0.0\nnan\n\n1.0\n";
  EXPECT_EQ(read(files).targets.classes, (std::vector<int32_t>{0, -1, -1, 1}));
}

TEST(Ogb, LabelsThatOccurAreTheClasses) {
  const Dataset dataset = read(with(small(), "raw/node-label.csv", "4\n1\n4\n1\n"));
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(dataset.targets.names, (std::vector<std::string>{"1", "4"}));
}

TEST(Ogb, ReadsSeveralLabels) {
  const Dataset dataset = read(with(small(), "raw/node-label.csv", "0,1,1\n1.0,nan,0\n0,0,0\n,1,NaN\n"));
  EXPECT_EQ(dataset.targets.task, Task::kMultiLabel);
  EXPECT_EQ(dataset.targets.width, 3);
  EXPECT_EQ(dataset.targets.size(), 4);
  const std::vector<double>& values = dataset.targets.values;
  const double missing = std::nan("");
  const std::vector<double> expected = {0, 1, 1, 1, missing, 0, 0, 0, 0, missing, 1, missing};
  ASSERT_EQ(values.size(), expected.size());
  for (size_t k = 0; k < values.size(); ++k) {
    EXPECT_TRUE(values[k] == expected[k] || (std::isnan(values[k]) && std::isnan(expected[k]))) << k;
  }
}

TEST(Ogb, TakesTheFirstSchemeByName) {
  Files files = small();
  files["split/sales_ranking/train.csv"] = "3\n";
  files["split/sales_ranking/valid.csv"] = "";
  files["split/sales_ranking/test.csv"] = "0\n1\n";
  const Dataset dataset = read(files);
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(dataset.splits[0].train, (std::vector<NodeId>{3}));
  EXPECT_TRUE(dataset.splits[0].val.empty());
  EXPECT_EQ(dataset.notes.back(), "the split is the published one by sales_ranking");
}

LoadOptions by_year() {
  LoadOptions options;
  options.target = "year";
  return options;
}

// Nodes without edges, of these years.
Files of_years(const std::vector<int>& years) {
  Files files = {{"raw/num-node-list.csv", std::to_string(years.size())},
                 {"raw/num-edge-list.csv", "0"},
                 {"raw/edge.csv", ""}};
  for (const int year : years) files["raw/node_year.csv"] += std::to_string(year) + "\n";
  return files;
}

// As numpy.quantile has it, by its definition; moved down so that no rounding lifts it past a year.
double quantile(std::vector<int> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]) - 1e-9;
}

TEST(OgbYears, AreFiveEvenClasses) {
  const Dataset dataset =
      read(of_years({2009, 2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008}), by_year());
  EXPECT_EQ(dataset.targets.task, Task::kClassification);
  EXPECT_EQ(dataset.targets.width, 5);
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{4, 0, 0, 1, 1, 2, 2, 3, 3, 4}));
  EXPECT_EQ(dataset.targets.names,
            (std::vector<std::string>{"to 2001", "2002-2003", "2004-2005", "2006-2007", "from 2008"}));
}

TEST(OgbYears, AThresholdIsInTheUpperClass) {
  // Six years: the quantiles k/5 are the years themselves.
  const Dataset dataset = read(of_years({1990, 2000, 2010, 2015, 2016, 2020}), by_year());
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(dataset.targets.names,
            (std::vector<std::string>{"to 1999", "2000-2009", "2010-2014", "2015", "from 2016"}));
}

TEST(OgbYears, MatchTheirDefinition) {
  const RandomStream random(7, 0);
  uint64_t drawn = 0;
  for (int size = 5; size < 120; ++size) {
    std::vector<int> years(size);
    const auto span = 1 + random.below(drawn++, 40);
    for (int& year : years) year = 1980 + static_cast<int>(random.below(drawn++, span));
    const Dataset dataset = read(of_years(years), by_year());
    EXPECT_EQ(dataset.targets.width, 5);
    for (int node = 0; node < size; ++node) {
      int expected = 0;
      for (int k = 1; k < 5; ++k) expected += quantile(years, k / 5.0) <= years[node] ? 1 : 0;
      ASSERT_EQ(dataset.targets.classes[node], expected) << size << " years, node " << node;
    }
  }
}

TEST(OgbYears, ManyOfOneYearLeaveClassesEmpty) {
  const Dataset dataset = read(of_years({2018, 2018, 2018, 2018, 2018, 2010}), by_year());
  EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{4, 4, 4, 4, 4, 0}));
  EXPECT_EQ(dataset.targets.names,
            (std::vector<std::string>{"to 2017", "no year", "no year", "no year", "from 2018"}));
}

TEST(OgbYears, MissingOnesAreUnlabelledAndDoNotCount) {
  Files files = of_years({0, 0, 0, 0, 0, 0, 0});
  files["raw/node_year.csv"] = "2001\nnan\n2002.0\n2003\n\n2004\n2005\n";
  EXPECT_EQ(read(files, by_year()).targets.classes, (std::vector<int32_t>{0, -1, 1, 2, -1, 3, 4}));
}

TEST(OgbYears, ReplaceLabelsAndSplitAndNothingElse) {
  Files files = small();
  files["raw/num-node-list.csv"] = "5";
  files["raw/node-feat.csv"] += "7,8\n";
  files["raw/node-label.csv"] += "1\n";
  files["raw/node_year.csv"] = "2020\n2019\n2018\n2017\n2016\n";
  EXPECT_EQ(read(files).targets.classes, (std::vector<int32_t>{0, 2, 1, 0, 1}));
  for (const Files& each : {files, packed(files)}) {
    const Dataset dataset = read(each, by_year());
    EXPECT_EQ(edges_of(dataset.graph), (Edges{{0, 1}, {2, 3}}));
    EXPECT_EQ(dataset.features.dense, (std::vector<float>{0.5f, 1, -2, 3, 1e-3f, 4, 5, 6, 7, 8}));
    EXPECT_EQ(dataset.targets.classes, (std::vector<int32_t>{4, 3, 2, 1, 0}));
    EXPECT_TRUE(dataset.splits.empty());
    EXPECT_EQ(dataset.notes,
              (std::vector<std::string>{"1 repeated edges were dropped; --duplicate-edges keep keeps them",
                                        "the published split is left out: it is not for learning years"}));
  }
}

TEST(OgbYears, RefusesBadYears) {
  const auto refused = [](const std::string& years) {
    return error_of(with(of_years({1, 2, 3, 4, 5}), "raw/node_year.csv", years), by_year());
  };
  EXPECT_EQ(refused("2001\n2002\n2003\n2004\n"),
            "raw/node_year.csv: expected 5 lines, one per node, found 4");
  EXPECT_EQ(refused("2001\n2002\n20x3\n2004\n2005\n"), "raw/node_year.csv:3: year '20x3' is not an integer");
  EXPECT_EQ(refused("2001\n2002\n2003.5\n2004\n2005\n"),
            "raw/node_year.csv:3: year '2003.5' is not an integer");
  EXPECT_EQ(refused("2001\n-2002\n2003\n2004\n2005\n"),
            "raw/node_year.csv:2: year -2002 is outside 0 to 9999");
  EXPECT_EQ(refused("2001\n2002\n2003\n2004\n20055\n"),
            "raw/node_year.csv:5: year 20055 is outside 0 to 9999");
  EXPECT_EQ(refused("2001,1\n2002,2\n2003,3\n2004,4\n2005,5\n"),
            "raw/node_year.csv:1: expected 1 columns, found 2");
  EXPECT_EQ(refused("2001\n2002\nnan\n2004\n2005\n"),
            "raw/node_year.csv: 4 years are too few for 5 classes of them");
  EXPECT_EQ(error_of(with(of_years({}), "raw/node_year.csv", ""), by_year()),
            "raw/node_year.csv: 0 years are too few for 5 classes of them");
  EXPECT_EQ(error_of(small(), by_year()),
            "raw/node_year.csv.gz: no such file, but --target year needs the year of each node");
}

TEST(OgbYears, AreTheOnlyOtherTarget) {
  LoadOptions options;
  options.target = "yaer";
  const std::string unknown =
      "--target 'yaer' is unknown; did you mean 'year'? known: year; leave it out to learn the labels of the "
      "OGB folder";
  EXPECT_EQ(error_of(small(), options), unknown);
  EXPECT_THROW(read(small(), options), UsageError);

  const test::TemporaryFolder folder;
  for (const auto& [name, contents] : of_years({2001, 2002, 2003, 2004, 2005})) folder.write(name, contents);
  const std::string path = folder.path().string();
  EXPECT_EQ(test::error_of([&] { load_dataset(path, options); }), unknown);
  EXPECT_EQ(load_dataset(path, by_year()).targets.classes, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  options = by_year();
  options.task = "classification";
  EXPECT_EQ(test::error_of([&] { load_dataset(path, options); }),
            "--task is for your own CSV; " + in_quotes(path) + " has no use for it");
  EXPECT_EQ(test::error_of([&] { load_dataset("karate", by_year()); }),
            "--target is for your own CSV; 'karate' has no use for it");
  const test::TemporaryFolder other;
  const std::string matrix =
      other.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n").string();
  EXPECT_EQ(test::error_of([&] { load_dataset(matrix, by_year()); }),
            "--target is for your own CSV; " + in_quotes(matrix) + " has no use for it");
}

TEST(Ogb, ReadsOneNodeAndNone) {
  Files files = {{"raw/num-node-list.csv", "1\n"},
                 {"raw/num-edge-list.csv", "0\n"},
                 {"raw/edge.csv", ""},
                 {"raw/node-label.csv", "0\n"}};
  EXPECT_EQ(read(files).graph.num_nodes(), 1);
  files["raw/num-node-list.csv"] = "0\n";
  files["raw/node-label.csv"] = "";
  EXPECT_EQ(read(files).graph.num_nodes(), 0);
}

TEST(Ogb, NamesTheDataSetAfterItsFolder) {
  class Elsewhere : public MemoryFiles {
   public:
    using MemoryFiles::MemoryFiles;
    std::string label(const std::string& name) const override { return "data/ogbn_arxiv/" + name; }
  };
  EXPECT_EQ(kOgbReader.read(Elsewhere(small()), "", {}).name, "ogbn_arxiv");
  EXPECT_EQ(read(small()).name, "ogb");
}

TEST(Ogb, RefusesBadCounts) {
  EXPECT_EQ(error_with("raw/num-node-list.csv", ""),
            "raw/num-node-list.csv: expected 1 lines, since a node-property data set is one graph, found 0");
  EXPECT_EQ(error_with("raw/num-node-list.csv", "4\n4\n"),
            "raw/num-node-list.csv: expected 1 lines, since a node-property data set is one graph, found 2");
  EXPECT_EQ(error_with("raw/num-node-list.csv", "4,4\n"),
            "raw/num-node-list.csv:1: expected 1 columns, found 2");
  EXPECT_EQ(error_with("raw/num-node-list.csv", "four\n"),
            "raw/num-node-list.csv:1: number of nodes 'four' is not an integer");
  EXPECT_EQ(error_with("raw/num-node-list.csv", "-4\n"),
            "raw/num-node-list.csv:1: number of nodes -4 is outside 0 to 9223372036854775807");
  EXPECT_EQ(error_with("raw/num-node-list.csv", "1000000000000\n"),
            "raw/node-label.csv: expected 1000000000000 lines, one per node, found 4");
  EXPECT_EQ(error_with("raw/num-edge-list.csv", "5\n"),
            "raw/edge.csv: expected 5 lines, one per edge, found 4");
}

TEST(Ogb, RefusesBadEdges) {
  EXPECT_EQ(error_with("raw/edge.csv", "0,1\n1,0\n2\n2,3\n"), "raw/edge.csv:3: expected 2 columns, found 1");
  EXPECT_EQ(error_with("raw/edge.csv", "0,1\n1,0\n2,3,1\n2,3\n"),
            "raw/edge.csv:3: expected 2 columns, found 3");
  EXPECT_EQ(error_with("raw/edge.csv", "0,1,1\n1,0\n2,3\n2,3\n"),
            "raw/edge.csv:1: expected 2 columns, found 3");
  EXPECT_EQ(error_with("raw/edge.csv", "0,1\n1,0\n2,4\n2,3\n"),
            "raw/edge.csv:3: node id 4 is outside 0 to 3");
  EXPECT_EQ(error_with("raw/edge.csv", "0,1\n1,zero\n2,3\n2,3\n"),
            "raw/edge.csv:2: node id 'zero' is not an integer");
  EXPECT_EQ(error_with("raw/edge.csv", "0,1\n\n2,3\n2,3\n"), "raw/edge.csv:2: node id '' is not an integer");
}

TEST(Ogb, RefusesBadFeatures) {
  EXPECT_EQ(error_with("raw/node-feat.csv", "1\n2\n"),
            "raw/node-feat.csv: expected 4 lines, one per node, found 2");
  EXPECT_EQ(error_with("raw/node-feat.csv", "1\n2\n3\nx\n"),
            "raw/node-feat.csv:4: feature 'x' is not a number");
  EXPECT_EQ(error_with("raw/node-feat.csv", "1\n2\n3\nnan\n"),
            "raw/node-feat.csv:4: feature 'nan' is not finite");
  EXPECT_EQ(error_with("raw/node-feat.csv", "1\n2\n3\n-1e300\n"),
            "raw/node-feat.csv:4: feature '-1e300' is too large for a 32-bit number");
  EXPECT_EQ(error_with("raw/node-feat.csv", "1,1\n2,2\n3\n4,4\n"),
            "raw/node-feat.csv:3: expected 2 columns, found 1");
  EXPECT_EQ(error_with("raw/node-feat.csv", "1,1,1,1,1,1,1,1\n2\n3\n4\n"),
            "raw/node-feat.csv:1: 8 columns and 4 lines of them do not fit in 22 bytes");
}

TEST(Ogb, RefusesBadLabels) {
  EXPECT_EQ(
      error_with("raw/node-label.csv", "0\n1\n7\n9\n"),
      "raw/node-label.csv: the labels are 4 different numbers up to 9 on 4 nodes, too many to be classes; "
      "as values they can be learned from a CSV (--task regression)");
  EXPECT_EQ(error_with("raw/node-label.csv", "0\n1\n0.5\n1\n"),
            "raw/node-label.csv:3: label '0.5' is not an integer");
  EXPECT_EQ(error_with("raw/node-label.csv", "0\n1\n.0\n1\n"),
            "raw/node-label.csv:3: label '' is not an integer");
  EXPECT_EQ(error_with("raw/node-label.csv", "0\n-1\n0\n1\n"),
            "raw/node-label.csv:2: label -1 is outside 0 to 2147483646");
  EXPECT_EQ(error_with("raw/node-label.csv", "0,1\n1,2\n0,0\n1,1\n"),
            "raw/node-label.csv:2: label '2' is none of 0, 1 and nan, as each of several labels is");
  EXPECT_EQ(error_with("raw/node-label.csv", "0,1\n1,x\n0,0\n1,1\n"),
            "raw/node-label.csv:2: label 'x' is not a number");
  EXPECT_EQ(error_with("raw/node-label.csv", "0,1\n1\n0,0\n1,1\n"),
            "raw/node-label.csv:2: expected 2 columns, found 1");
}

TEST(Ogb, RefusesBadSplits) {
  EXPECT_EQ(error_with("split/time/test.csv", "4\n"), "split/time/test.csv:1: node id 4 is outside 0 to 3");
  EXPECT_EQ(error_with("split/time/test.csv", "1\n1\n"),
            "split/time/test.csv:2: node 1 is in the split already");
  EXPECT_EQ(error_with("split/time/test.csv", "1\n0\n"),
            "split/time/test.csv:2: node 0 is in the split already");
  EXPECT_EQ(error_with("split/time/test.csv", "1,2\n"), "split/time/test.csv:1: expected 1 columns, found 2");
  EXPECT_EQ(error_with("raw/node-label.csv", "0\nnan\n1\n1\n"), "split/time/test.csv:1: node 1 has no label");
  EXPECT_EQ(error_of(without(small(), "split/time/valid.csv")),
            "split/time/valid.csv.gz: cannot read: no such file");
}

TEST(Ogb, NamesMissingFiles) {
  EXPECT_EQ(error_of(without(small(), "raw/num-node-list.csv")),
            "raw/num-node-list.csv.gz: cannot read: no such file");
  EXPECT_EQ(error_of(without(small(), "raw/num-edge-list.csv")),
            "raw/num-edge-list.csv.gz: cannot read: no such file");
  EXPECT_EQ(error_of(without(small(), "raw/node-label.csv")),
            "raw/node-label.csv.gz: cannot read: no such file");
}

TEST(Ogb, RecognisesItsFolders) {
  const auto recognises = [](const Files& files, const std::string& entry) {
    return kOgbReader.recognises(MemoryFiles(files), entry);
  };
  EXPECT_TRUE(recognises({{"raw/edge.csv", ""}}, ""));
  EXPECT_TRUE(recognises({{"raw/edge.csv.gz", ""}}, ""));
  EXPECT_TRUE(recognises({{"edge.csv", ""}, {"num-node-list.csv.gz", ""}}, ""));
  EXPECT_TRUE(recognises({{"edge.csv.gz", ""}, {"num-node-list.csv.gz", ""}}, "edge.csv.gz"));
  EXPECT_FALSE(recognises({{"edge.csv", ""}}, ""));
  EXPECT_FALSE(recognises({{"edge.csv", ""}}, "edge.csv"));
  EXPECT_FALSE(recognises({{"raw/edge.csv", ""}}, "other.csv"));
  EXPECT_FALSE(recognises({}, ""));
}

TEST(Ogb, GivesTheSameForAnyNumberOfThreads) {
  constexpr int64_t kNodes = 60'000;
  Files files;
  std::string& features = files["raw/node-feat.csv"];
  std::string& edges = files["raw/edge.csv"];
  std::string& labels = files["raw/node-label.csv"];
  for (int64_t node = 0; node < kNodes; ++node) {
    for (int64_t column = 0; column < 8; ++column) {
      features += std::to_string(static_cast<double>((node * 37 + column * 11) % 1009) / 8.0);
      features += column == 7 ? '\n' : ',';
    }
    edges += std::to_string(node) + "," + std::to_string((node * 7919 + 1) % kNodes) + "\n";
    labels += std::to_string(node % 10) + "\n";
  }
  files["raw/num-node-list.csv"] = std::to_string(kNodes);
  files["raw/num-edge-list.csv"] = std::to_string(kNodes);

  const int threads_before = thread_count();
  set_thread_count(1);
  const Dataset one = read(files);
  set_thread_count(4);
  const Dataset four = read(files);
  set_thread_count(threads_before);

  EXPECT_EQ(one.features.dense, four.features.dense);
  EXPECT_EQ(one.features.dense[8 * 1000 + 3], static_cast<float>((1000 * 37 + 33) % 1009) / 8.0f);
  EXPECT_EQ(edges_of(one.graph), edges_of(four.graph));
  EXPECT_EQ(one.targets.classes, four.targets.classes);
}

}  // namespace
}  // namespace qw
