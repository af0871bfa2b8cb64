#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "data/formats/npy.h"
#include "data/readers/reader.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

using Arrays = std::map<std::string, std::string>;

template <class Value>
std::string vector_of(const std::vector<Value>& values) {
  return write_npy(values, {static_cast<int64_t>(values.size())});
}
std::string ints(const std::vector<int64_t>& values) { return vector_of(values); }
std::string floats(const std::vector<float>& values) { return vector_of(values); }

// 0 -> 1, 1 -> 0, 1 -> 2, 3 -> 3 on five nodes, three features, two classes.
Arrays example() {
  return {{"adj_data", floats({1, 1, 1, 1})},        {"adj_indices", ints({1, 0, 2, 3})},
          {"adj_indptr", ints({0, 1, 3, 3, 4, 4})},  {"adj_shape", ints({5, 5})},
          {"attr_data", floats({1, 2, 0.5})},        {"attr_indices", ints({2, 0, 1})},
          {"attr_indptr", ints({0, 2, 2, 3, 3, 3})}, {"attr_shape", ints({5, 3})},
          {"labels", ints({0, 1, 1, 0, -1})}};
}

MemoryFiles as_files(const Arrays& arrays) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [name, array] : arrays) entries.emplace_back(name + ".npy", array);
  return MemoryFiles(Arrays{{"g.npz", write_zip(entries)}});
}

Dataset load(const Arrays& arrays, bool directed = false) {
  LoadOptions options;
  options.directed = directed;
  Dataset dataset = kCsrNpzReader.read(as_files(arrays), "g.npz", options);
  check_consistent(dataset);
  return dataset;
}

std::string refusal(const std::string& name, const std::string& array) {
  Arrays arrays = example();
  arrays[name] = array;
  return error_of([&] { load(arrays); });
}

std::string refusal_without(const std::string& name) {
  Arrays arrays = example();
  arrays.erase(name);
  return error_of([&] { load(arrays); });
}

// The header alone says that these are Python objects.
std::string objects() {
  std::string array = write_npy(std::vector<std::string>{"x"}, {1});
  array.replace(array.find("'<U1'"), 5, "'|O' ");
  return array;
}

TEST(CsrNpz, ReadsAGraph) {
  const Dataset dataset = load(example());
  EXPECT_EQ(dataset.name, "g");
  EXPECT_EQ(dataset.format, "csr-npz");
  EXPECT_EQ(dataset.graph.num_nodes(), 5);
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 1));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 2));
  EXPECT_TRUE(dataset.graph.weights().empty());
  EXPECT_THAT(dataset.notes, ElementsAre("1 self-loops were dropped; --self-loops keep keeps them"));
  EXPECT_EQ(dataset.features.rows, 5);
  EXPECT_EQ(dataset.features.columns, 3);
  EXPECT_THAT(dataset.features.offsets, ElementsAre(0, 2, 2, 3, 3, 3));
  EXPECT_THAT(dataset.features.indices, ElementsAre(0, 2, 1));
  EXPECT_THAT(dataset.features.values, ElementsAre(2, 1, 0.5));
  EXPECT_EQ(dataset.targets.task, Task::kClassification);
  EXPECT_THAT(dataset.targets.classes, ElementsAre(0, 1, 1, 0, -1));
}

TEST(CsrNpz, KeepsDirectionsWhenAsked) {
  const Dataset dataset = load(example(), true);
  EXPECT_TRUE(dataset.graph.directed());
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 1, 2));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 0, 1));
}

TEST(CsrNpz, WeightsOnlyWhenTheyAreNotAllOne) {
  Arrays arrays = example();
  arrays["adj_data"] = floats({1, 1, 2.5, 1});
  EXPECT_THAT(load(arrays).graph.weights(), ElementsAre(1, 2.5));
  arrays.erase("adj_data");
  EXPECT_TRUE(load(arrays).graph.weights().empty());
}

TEST(CsrNpz, DenseFeaturesAndNone) {
  Arrays arrays = example();
  for (const char* name : {"attr_data", "attr_indices", "attr_indptr", "attr_shape"}) arrays.erase(name);
  EXPECT_EQ(load(arrays).features.columns, 0);
  arrays["attr_matrix"] = write_npy(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2});
  const Dataset dataset = load(arrays);
  EXPECT_FALSE(dataset.features.sparse);
  EXPECT_THAT(dataset.features.dense, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  arrays["attr_matrix"] = floats({1, 2});
  EXPECT_EQ(error_of([&] { load(arrays); }),
            "g.npz: attr_matrix: expected one row of features per node, found an array of shape [2]");
  arrays["attr_matrix"] = write_npy(std::vector<float>{}, {int64_t{1} << 40, 0});
  EXPECT_THAT(error_of([&] { load(arrays); }), HasSubstr("g.npz: attr_matrix: 1099511627776 nodes"));
}

TEST(CsrNpz, LabelsThatOccurAreTheClasses) {
  Arrays arrays = example();
  arrays["labels"] = ints({5, 1, -1, 3, 1});
  const Targets gaps = load(arrays).targets;
  EXPECT_EQ(gaps.width, 3);
  EXPECT_THAT(gaps.classes, ElementsAre(2, 0, -1, 1, 0));
  EXPECT_THAT(gaps.names, ElementsAre("1", "3", "5"));
  arrays["labels"] = floats({1, 2, 1, NAN, 2});
  EXPECT_THAT(load(arrays).targets.names, ElementsAre("1", "2"));
}

TEST(CsrNpz, LabelsMayBeValues) {
  Arrays arrays = example();
  arrays["labels"] = vector_of(std::vector<double>{0.5, 1, NAN, 0, 2});
  const Targets values = load(arrays).targets;
  EXPECT_EQ(values.task, Task::kRegression);
  EXPECT_EQ(values.values[0], 0.5);
  EXPECT_EQ(values.labelled(), 4);
  arrays["labels"] = floats({0, 1, NAN, 2, 1});
  EXPECT_THAT(load(arrays).targets.classes, ElementsAre(0, 1, -1, 2, 1));
  arrays["labels"] = floats({0, 1, 52000, 2, 1});
  EXPECT_EQ(load(arrays).targets.task, Task::kRegression);
  arrays.erase("labels");
  EXPECT_EQ(load(arrays).targets.task, Task::kNone);
}

TEST(CsrNpz, TakesNamesButNotObjects) {
  Arrays arrays = example();
  arrays["class_names"] = vector_of(std::vector<std::string>{"cat", "dog"});
  arrays["attr_names"] = vector_of(std::vector<std::string>{"a", "b", "c"});
  arrays["node_names"] = vector_of(std::vector<std::string>{"v", "w", "x", "y", "z"});
  const Dataset named = load(arrays);
  EXPECT_THAT(named.targets.names, ElementsAre("cat", "dog"));
  EXPECT_THAT(named.features.names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(named.node_id(4), "z");
  for (const char* name : {"class_names", "attr_names", "node_names"}) arrays[name] = objects();
  const Dataset unnamed = load(arrays);
  EXPECT_TRUE(unnamed.targets.names.empty());
  EXPECT_TRUE(unnamed.features.names.empty());
  EXPECT_TRUE(unnamed.node_ids.empty());
}

TEST(CsrNpz, AnEmptyGraph) {
  const Dataset dataset = load({{"adj_indptr", ints({0})},
                                {"adj_indices", ints({})},
                                {"adj_shape", ints({0, 0})},
                                {"labels", ints({})}});
  EXPECT_EQ(dataset.graph.num_nodes(), 0);
}

TEST(CsrNpz, SaysWhatIsWrong) {
  EXPECT_EQ(refusal_without("adj_indices"), "g.npz: has no array 'adj_indices'");
  EXPECT_EQ(refusal_without("attr_data"), "g.npz: has no array 'attr_data'");
  EXPECT_EQ(refusal("adj_shape", ints({5})),
            "g.npz: adj_shape: expected the numbers of rows and columns, found [5]");
  EXPECT_EQ(refusal("adj_shape", ints({5, 6})), "g.npz: adj_shape: expected a square matrix, found [5, 6]");
  EXPECT_EQ(refusal("adj_shape", ints({6, 6})),
            "g.npz: adj_indptr: 6 row offsets; 6 rows have one more than there are rows");
  EXPECT_EQ(refusal("adj_shape", ints({int64_t{1} << 30, int64_t{1} << 30})),
            "g.npz: claims 1,073,741,824 nodes in 48 B, which cannot be");
  EXPECT_EQ(refusal("adj_indptr", ints({0, 3, 1, 3, 4, 4})),
            "g.npz: adj_indptr: row offsets run from 0 to 4; expected ascending from 0 to 4, the number of "
            "entries");
  EXPECT_EQ(refusal("adj_indptr", ints({0, 1, 3, 3, 4, 5})),
            "g.npz: adj_indptr: row offsets run from 0 to 5; expected ascending from 0 to 4, the number of "
            "entries");
  EXPECT_EQ(refusal("adj_indices", ints({1, 0, 5, 3})),
            "g.npz: adj_indices: entry 2 is in column 5; expected 0 to 4");
  EXPECT_EQ(refusal("adj_data", floats({1})), "g.npz: adj_data: 1 values for 4 entries");
  EXPECT_EQ(refusal("adj_data", floats({1, NAN, 1, 1})), "g.npz: edge 1 weighs nan; a weight is finite");
  EXPECT_EQ(refusal("attr_data", floats({1, 2, INFINITY})),
            "g.npz: attr_data: item 2 is inf; expected a finite number");
  EXPECT_EQ(refusal("attr_data", floats({1, 2})), "g.npz: attr_data: 2 values for 3 entries");
  EXPECT_EQ(refusal("attr_indices", ints({2, 0, 3})),
            "g.npz: attr_indices: entry 2 is in column 3; expected 0 to 2");
  EXPECT_EQ(refusal("attr_indptr", ints({0, 2, 3})),
            "g.npz: attr_indptr: 3 row offsets; 5 rows have one more than there are rows");
  EXPECT_EQ(refusal("labels", ints({0, 1})), "g: the graph has 5 nodes but there are 2 targets");
  EXPECT_EQ(refusal("labels", ints({0, 1, -2, 0, 0})),
            "g.npz: labels: node 2 has class -2; classes count from 0");
  EXPECT_EQ(refusal("labels", floats({0, INFINITY, 0, 0, 0})),
            "g.npz: labels: the label of node 1 is infinite");
  EXPECT_EQ(refusal("labels", write_npy(std::vector<int32_t>{0, 1, 0, 1, 0}, {5, 1})),
            "g.npz: labels: expected one label per node, found an array of shape [5, 1]");
  EXPECT_EQ(refusal("class_names", vector_of(std::vector<std::string>{"cat"})),
            "g.npz: labels: 1 names of classes for 2 classes");
  EXPECT_EQ(refusal("attr_names", vector_of(std::vector<std::string>{"a"})),
            "g.npz: attr_names: 1 names for 3 columns of features");
}

TEST(CsrNpz, RecognisesItsArrays) {
  const MemoryFiles files = as_files(example());
  EXPECT_TRUE(kCsrNpzReader.recognises(files, "g.npz"));
  EXPECT_TRUE(kCsrNpzReader.recognises(files, ""));
  EXPECT_FALSE(kHeterophilousNpzReader.recognises(files, ""));
  EXPECT_FALSE(kCsrNpzReader.recognises(as_files({{"labels", ints({1})}}), ""));
  EXPECT_FALSE(kCsrNpzReader.recognises(MemoryFiles(Arrays{{"g.csv", "1,2"}}), "g.csv"));
  EXPECT_FALSE(kCsrNpzReader.recognises(MemoryFiles(Arrays{{"g.npz", "hello"}}), "g.npz"));
  const std::string bytes = files.read("g.npz");
  EXPECT_FALSE(kCsrNpzReader.recognises(MemoryFiles(Arrays{{"a.npz", bytes}, {"b.npz", bytes}}), ""));
  const MemoryFiles cut(Arrays{{"g.npz", bytes.substr(0, bytes.size() - 40)}});
  EXPECT_TRUE(kCsrNpzReader.recognises(cut, "g.npz"));
  EXPECT_THAT(error_of([&] { kCsrNpzReader.read(cut, "g.npz", {}); }),
              HasSubstr("g.npz: not a zip archive, or cut short"));
  EXPECT_EQ(error_of([&] { kCsrNpzReader.read(MemoryFiles(Arrays{}), "", {}); }),
            "expected one .npz file, found none or several");
}

struct Published {
  const char* folder;
  int64_t nodes, edges, features, classes;
};

class CsrNpzPublished : public testing::TestWithParam<Published> {};

TEST_P(CsrNpzPublished, HasTheKnownCounts) {
  const auto folder = test::shared_datasets() / GetParam().folder;
  QW_SKIP_WITHOUT(folder);
  ASSERT_TRUE(kCsrNpzReader.recognises(FolderFiles(folder), ""));
  const Dataset dataset = kCsrNpzReader.read(FolderFiles(folder), "", {});
  check_consistent(dataset);
  EXPECT_EQ(dataset.graph.num_nodes(), GetParam().nodes);
  EXPECT_EQ(dataset.graph.num_edges(), GetParam().edges);
  EXPECT_EQ(dataset.features.columns, GetParam().features);
  EXPECT_EQ(dataset.targets.width, GetParam().classes);
}

INSTANTIATE_TEST_SUITE_P(Files, CsrNpzPublished,
                         testing::Values(Published{"pubmed", 19717, 44324, 500, 3},
                                         Published{"computers", 13752, 245861, 767, 10},
                                         Published{"photo", 7650, 119081, 745, 8}),
                         [](const auto& tested) { return tested.param.folder; });

}  // namespace
}  // namespace qw
