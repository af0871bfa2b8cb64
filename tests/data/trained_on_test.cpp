#include "qw/data/trained_on.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "core/text.h"
#include "data/schema/schema_json.h"
#include "data/schema/trained_on_file.h"
#include "support/support.h"

namespace qw {
namespace {

// A path of five nodes with two named features, three of them labelled.
Dataset small(bool directed = false) {
  Dataset data;
  data.name = "small";
  EdgeList edges{5, {0, 1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4}, {0.5, 1, 1, 2}};
  data.graph = Graph::build(edges, {.directed = directed});
  data.features = {5, 2, false, {1, 0, 2, 5, 0, 0, 3, 1, 4, 4}, {}, {}, {}, {"x", "y"}};
  data.targets = class_targets({0, 1, -1, 0, -1}, {"no", "yes"});
  data.node_ids = {"e", "d", "c,\"quoted\"", "b", "a"};
  return data;
}

std::vector<Split> splits() { return {{{0}, {1}, {3}}, {{3}, {}, {0, 1}}}; }

// The same data with its nodes in another order and the columns swapped.
Dataset permuted(const Dataset& data, const std::vector<NodeId>& place) {
  Dataset other = data;
  EdgeList edges;
  edges.num_nodes = data.graph.num_nodes();
  for (EdgeId e = data.graph.num_edges() - 1; e >= 0; --e) {
    edges.heads.push_back(place[data.graph.heads()[e]]);
    edges.tails.push_back(place[data.graph.tails()[e]]);
    edges.costs.push_back(data.graph.costs()[e]);
    edges.weights.push_back(data.graph.weights()[e]);
  }
  other.graph = Graph::build(edges, {.directed = data.graph.directed()});
  for (size_t node = 0; node < place.size(); ++node) {
    const NodeId at = place[node];
    other.node_ids[at] = data.node_ids[node];
    other.targets.classes[at] = data.targets.classes[node] < 0 ? -1 : 1 - data.targets.classes[node];
    other.features.dense[2 * at] = data.features.dense[2 * node + 1];
    other.features.dense[2 * at + 1] = data.features.dense[2 * node];
  }
  other.features.names = {"y", "x"};
  other.targets.names = {"yes", "no"};
  return other;
}

void expect_same(const Fingerprint& one, const Fingerprint& two) {
  EXPECT_EQ(one.graph, two.graph);
  EXPECT_EQ(one.features, two.features);
  EXPECT_EQ(one.labels, two.labels);
}

TEST(TrainedOn, FingerprintsAreTheSameForAnyOrder) {
  for (const bool directed : {false, true}) {
    const Dataset data = small(directed);
    const Fingerprint expected = fingerprint(remember(data, {}, ""));
    std::vector<NodeId> place{0, 1, 2, 3, 4};
    std::mt19937 random(7);
    for (int trial = 0; trial < 20; ++trial) {
      std::shuffle(place.begin(), place.end(), random);
      const Dataset other = permuted(data, place);
      expect_same(fingerprint(remember(other, {}, "")), expected);
      EXPECT_TRUE(changes_since(remember(data, {}, ""), other).none());
    }
  }
}

TEST(TrainedOn, CountsWhatChanged) {
  const TrainedOn trained_on = remember(small(), splits(), "stored");
  const Fingerprint before = fingerprint(trained_on);
  const auto text = [&](const Dataset& data) { return changes_since(trained_on, data).text(); };
  EXPECT_EQ(text(small()), "nothing");
  Dataset data = small();
  data.targets.classes = {1, -1, 0, 0, -1};
  EXPECT_EQ(text(data), "3 labels");
  EXPECT_NE(fingerprint(remember(data, {}, "")).labels, before.labels);
  data.features.dense[3] = 6;
  EXPECT_EQ(text(data), "3 labels and the features of 1 node");
  EXPECT_NE(fingerprint(remember(data, {}, "")).features, before.features);
  // One edge weighs more, one is gone, one is new.
  data = small();
  data.graph = Graph::build({5, {0, 1, 2, 0}, {1, 2, 3, 4}, {1, 2, 3, 4}, {0.5, 7, 1, 2}});
  EXPECT_EQ(text(data), "3 edges");
  EXPECT_NE(fingerprint(remember(data, {}, "")).graph, before.graph);
  // Node "a" became "z": its edge is gone and another is new.
  data = small();
  data.node_ids[4] = "z";
  EXPECT_EQ(text(data), "2 edges and 2 nodes");
  // Data without any labels is data to be predicted.
  data = small();
  data.targets = class_targets({-1, -1, -1, -1, -1}, {"no", "yes"});
  EXPECT_EQ(text(data), "nothing");
  EXPECT_EQ(text(small(true)), "the direction of the edges (--directed)");
  // What pandas makes of whole numbers.
  Dataset numbered = small(), floats = small();
  numbered.node_ids = {"7", "8", "9", "10", "11"};
  floats.node_ids = {"7.0", "8.0", "9.0", "10.0", "11.0"};
  EXPECT_TRUE(changes_since(remember(numbered, {}, ""), floats).none());
  EXPECT_EQ(places(remember(floats, {}, ""), numbered), (std::vector<NodeId>{0, 1, 2, 3, 4}));
  numbered.node_ids = {"7", "7.0", "9", "10", "11"};
  EXPECT_TRUE(changes_since(remember(numbered, {}, ""), numbered).none());
  const Dataset turned = permuted(small(), {4, 3, 2, 1, 0});
  EXPECT_TRUE(changes_since(trained_on, turned).reordered);
  EXPECT_FALSE(changes_since(trained_on, small()).reordered);
}

TrainedOn reread(const TrainedOn& trained_on) {
  const DataSchema schema =
      schema_from_json(nlohmann::ordered_json::parse(to_json(trained_on.schema).dump()), "schema.json");
  return trained_on_from(schema, trained_on_bytes(trained_on), "t", split_csv(trained_on), "split.csv");
}

TEST(TrainedOn, IsReadBackAsItWasWritten) {
  Dataset values = small(), labels = small(), numbered = small();
  values.targets = value_targets({1.5, std::nan(""), -3, 1e-300, 0.1}, {"pay"});
  labels.targets = {
      Task::kMultiLabel, 2, {}, {1, 0, 0, 1, std::nan(""), std::nan(""), 0, 0, 1, 1}, {"p", "q"}};
  numbered.node_ids.clear();
  for (const Dataset& data : {small(), small(true), values, labels, numbered}) {
    TrainedOn written = remember(data, splits(), "");
    if (data.targets.task != Task::kClassification) written.splits = {{{0}, {}, {3, 4}}};
    const TrainedOn read = reread(written);
    EXPECT_EQ(read.node_ids, written.node_ids);
    EXPECT_EQ(read.feature_rows, written.feature_rows);
    EXPECT_EQ(read.targets.classes, written.targets.classes);
    EXPECT_TRUE(changes_since(read, data).none());
    EXPECT_EQ(fingerprint(read).splits, fingerprint(written).splits);
    expect_same(fingerprint(read), fingerprint(written));
    EXPECT_EQ(to_json(read.schema), to_json(written.schema));
  }
}

TEST(TrainedOn, SaysWhatIsWrongWithItsFiles) {
  const TrainedOn good = remember(small(), splits(), "");
  const auto refusal = [&](const TrainedOn& bytes_of, const std::string& csv) {
    return test::error_of(
        [&] { trained_on_from(good.schema, trained_on_bytes(bytes_of), "t", csv, "split.csv"); });
  };
  EXPECT_EQ(refusal(good, "id,run_0\nnobody,train\n"), "split.csv:2: node id 'nobody' is not in the graph");
  EXPECT_EQ(refusal(good, "id,run_0\nc,\n"), "split.csv:2: node id 'c' is not in the graph");
  EXPECT_EQ(refusal(good, "id,run_0\na,train\n"),
            "split.csv: the train part of the split has node 4, which has no label");
  TrainedOn bad = good;
  bad.targets.classes[0] = 2;
  EXPECT_EQ(refusal(bad, split_csv(good)), "t: its labels are not those of 5 nodes");
  bad = good;
  bad.feature_rows.pop_back();
  EXPECT_EQ(refusal(bad, split_csv(good)), "t: has features of 4 nodes instead of 5");
  bad = good;
  bad.node_ids.pop_back();
  EXPECT_EQ(refusal(bad, split_csv(good)), "t: its ids are not those of 5 nodes");
  const auto schema_refusal = [](const nlohmann::ordered_json& json) {
    return test::error_of([&] { schema_from_json(json, "schema.json"); });
  };
  EXPECT_EQ(schema_refusal(nlohmann::ordered_json::array()),
            "schema.json: does not describe the data of a training");
  nlohmann::ordered_json json = to_json(good.schema);
  json["target"]["task"] = "guessing";
  EXPECT_EQ(schema_refusal(json), "schema.json: 'guessing' is no task");
  json = to_json(good.schema);
  json["features"]["count"] = 7;
  EXPECT_EQ(schema_refusal(json), "schema.json: the numbers of names and of columns differ");
}

TEST(Conform, MatchesClassesByNameAndLeavesOutNewOnes) {
  const DataSchema schema = schema_of(small());
  Dataset data = small();
  data.targets = class_targets({2, 0, 1, -1, 0}, {"maybe", "no", "yes"});
  conform(data, schema);
  EXPECT_EQ(data.targets.classes, (std::vector<int32_t>{1, -1, 0, -1, -1}));
  EXPECT_EQ(data.targets.names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_THAT(data.notes,
              testing::ElementsAre("2 nodes are of class 'maybe', which the training does not know: left "
                                   "out of what is measured"));
  data = small();
  data.targets = value_targets({1, 2, 3, 4, 5});
  conform(data, schema);
  EXPECT_EQ(data.targets.classes, std::vector<int32_t>(5, -1));
  EXPECT_THAT(data.notes, testing::ElementsAre("the labels (regression) are not of the training's kind "
                                               "(classification): they are left out"));
  data = small();
  data.features = features_from_dense(5, 3, std::vector<float>(15, 1.0f));
  EXPECT_EQ(test::error_of([&] { conform(data, schema); }), "small has 3 features; the training had 2");
  data = small();
  data.features.names = {"x", "z"};
  EXPECT_EQ(test::error_of([&] { conform(data, schema); }),
            "small: feature 2 is 'z', where the training had 'y'");
}

}  // namespace
}  // namespace qw
