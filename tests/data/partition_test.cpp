#include "qw/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "data/partition_support.h"
#include "qw/data/load.h"
#include "qw/graph/generators.h"
#include "qw/graph/split_spec.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::random_dataset;
using test::RandomKind;

PartitionOptions range_of(int64_t parts, int64_t align = 1) {
  PartitionOptions options;
  options.parts = parts;
  options.align = align;
  return options;
}

PartitionOptions metis_of(int64_t parts) {
  PartitionOptions options;
  options.parts = parts;
  options.method = "metis";
  return options;
}

PartitionManifest cut(const Dataset& dataset, const PartitionOptions& options, const fs::path& out) {
  std::vector<std::string> notes;
  make_partition(dataset, options, out, notes);
  return open_partition(out);
}

std::vector<Part> all_parts(const PartitionManifest& manifest) {
  std::vector<Part> parts;
  for (int64_t number = 0; number < manifest.count(); ++number) parts.push_back(open_part(manifest, number));
  return parts;
}

// Directed and not, with and without costs and weights, repeated edges and self-loops kept and not, ...
std::vector<RandomKind> kinds() {
  std::vector<RandomKind> all;
  for (int bits = 0; bits < 16; ++bits) {
    RandomKind kind;
    kind.directed = (bits & 1) != 0;
    kind.costs = (bits & 2) != 0;
    kind.weights = ((bits & 2) != 0) != ((bits & 4) != 0);
    kind.policy = (bits & 4) != 0 ? EdgePolicy::kKeep : EdgePolicy::kDrop;
    kind.sparse = (bits & 8) != 0;
    kind.ids = (bits & 1) == (bits >> 3);
    kind.values = ((bits >> 1) & 1) == (bits >> 3);
    kind.edges = bits == 5 ? 0 : 90;
    all.push_back(kind);
  }
  return all;
}

template <class Check>
void for_all_cuts(const Check& check) {
  const test::TemporaryFolder folder;
  int count = 0;
  for (const RandomKind& kind : kinds()) {
    const Dataset dataset = random_dataset(kind, ++count);
    const int64_t parts = 1 + count % 7;
    for (const bool by_metis : {false, true}) {
      if (by_metis && !has_metis()) continue;
      SCOPED_TRACE(fmt::format("kind {}, {} parts, {}", count, parts, by_metis ? "metis" : "range"));
      const fs::path out = folder.path() / fmt::format("{}-{}", count, by_metis);
      check(dataset, cut(dataset, by_metis ? metis_of(parts) : range_of(parts), out));
    }
  }
}

TEST(Partition, JoinedIsTheGraphThatWasCut) {
  for_all_cuts([](const Dataset& dataset, const PartitionManifest& manifest) {
    test::expect_same_dataset(join_partition(manifest), dataset);
  });
}

TEST(Partition, PartsShareOutNodesAndEdges) {
  for_all_cuts([](const Dataset& dataset, const PartitionManifest& manifest) {
    std::set<NodeId> nodes;
    std::vector<int> owners(manifest.edges, 0), holders(manifest.edges, 0);
    int64_t cut_edges = 0;
    for (const Part& part : all_parts(manifest)) {
      EXPECT_GT(part.own(), 0);
      nodes.insert(part.original.begin(), part.original.end());
      std::set<NodeId> met;
      for (size_t e = 0; e < part.heads.size(); ++e) {
        owners[part.edges[e]] += part.owns_edge(static_cast<int64_t>(e)) ? 1 : 0;
        ++holders[part.edges[e]];
        for (const NodeId row : {part.heads[e], part.tails[e]})
          if (row >= part.own()) met.insert(part.halo[row - part.own()]);
      }
      EXPECT_EQ(std::vector<NodeId>(met.begin(), met.end()), test::copied(part.halo));
    }
    for (const int held : holders) cut_edges += held - 1;
    EXPECT_EQ(std::ssize(nodes), dataset.graph.num_nodes());
    EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), dataset.graph.num_edges());
    EXPECT_EQ(cut_edges, manifest.cut_edges);
  });
}

TEST(Partition, WhatOneSendsIsTheHaloOfTheOther) {
  for_all_cuts([](const Dataset&, const PartitionManifest& manifest) {
    const std::vector<Part> parts = all_parts(manifest);
    for (const Part& sender : parts) {
      for (const Part& receiver : parts) {
        std::vector<int64_t> sent, received, sent_original, received_original;
        for (const NodeId row : sender.sent_to(receiver.number)) {
          sent.push_back(sender.new_number(row));
          sent_original.push_back(sender.original[row]);
        }
        const auto [begin, end] = receiver.received_from(sender.number);
        for (int64_t row = begin; row < end; ++row) {
          received.push_back(receiver.new_number(static_cast<NodeId>(row)));
          received_original.push_back(receiver.halo_original[row - receiver.own()]);
        }
        EXPECT_EQ(sent, received);
        EXPECT_EQ(sent_original, received_original);
      }
    }
  });
}

TEST(Partition, EdgesStandInOneOrder) {
  for_all_cuts([](const Dataset&, const PartitionManifest& manifest) {
    std::map<EdgeId, std::tuple<int64_t, int64_t, double, double>> seen;
    for (const Part& part : all_parts(manifest)) {
      for (size_t e = 0; e < part.heads.size(); ++e) {
        const std::tuple edge(part.new_number(part.heads[e]), part.new_number(part.tails[e]),
                              part.costs.empty() ? 1 : part.costs[e],
                              part.weights.empty() ? 1 : part.weights[e]);
        EXPECT_EQ(seen.emplace(part.edges[e], edge).first->second, edge);
      }
    }
    EXPECT_EQ(std::ssize(seen), manifest.edges);
    auto before = std::pair<int64_t, int64_t>(-1, -1);
    for (const auto& [number, edge] : seen) {
      const std::pair ends(std::get<0>(edge), std::get<1>(edge));
      EXPECT_LE(before, ends);
      EXPECT_TRUE(manifest.directed || ends.first <= ends.second);
      before = ends;
    }
  });
}

TEST(Partition, RangesKeepNumbersAndMetisKeepsTheirOrder) {
  const test::TemporaryFolder folder;
  const Dataset dataset = random_dataset({}, 3);
  for (const Part& part : all_parts(cut(dataset, range_of(3), folder.path() / "range"))) {
    for (NodeId row = 0; row < part.own(); ++row) EXPECT_EQ(part.original[row], part.begin + row);
  }
  if (!has_metis()) GTEST_SKIP() << "no METIS: built without";
  const PartitionManifest manifest = cut(dataset, metis_of(3), folder.path() / "metis");
  for (const Part& part : all_parts(manifest))
    EXPECT_TRUE(std::is_sorted(part.original.begin(), part.original.end()));
  EXPECT_EQ(test::files_of(folder.path() / "metis"),
            (cut(dataset, metis_of(3), folder.path() / "again"), test::files_of(folder.path() / "again")));
}

TEST(Partition, FingerprintIsOfTheDataAlone) {
  const test::TemporaryFolder folder;
  const Dataset dataset = random_dataset({}, 4);
  const PartitionManifest two = cut(dataset, range_of(2), folder.path() / "2");
  const PartitionManifest three = cut(dataset, range_of(3), folder.path() / "3");
  EXPECT_EQ(two.fingerprint, three.fingerprint);
  EXPECT_NE(two.id, three.id);
  if (has_metis()) {
    EXPECT_EQ(cut(dataset, metis_of(2), folder.path() / "m").fingerprint, two.fingerprint);
  }
  Dataset other = random_dataset({}, 4);
  other.features.dense[7] += 1;
  EXPECT_NE(cut(other, range_of(2), folder.path() / "other").fingerprint, two.fingerprint);
}

TEST(Partition, SplitsAreThoseOfTheWhole) {
  const test::TemporaryFolder folder;
  const Dataset dataset = generate("csbm:nodes=500,features=4");
  const Dataset labels = partition_labels(cut(dataset, range_of(4, 16), folder.path() / "p"));
  for (const char* spec : {"stratified", "published", "kfold:k=4,fold=2", "random"})
    EXPECT_EQ(make_split(labels, spec, 7).train, make_split(dataset, spec, 7).train) << spec;
}

TEST(Partition, MarksOfStoredSplitsStandInTheParts) {
  const test::TemporaryFolder folder;
  const Dataset dataset = random_dataset({}, 5);
  for (const Part& part : all_parts(cut(dataset, range_of(3), folder.path() / "p"))) {
    ASSERT_EQ(std::ssize(part.splits), 2 * part.own());
    for (NodeId row = 0; row < part.own(); ++row) {
      const auto& train = dataset.splits[0].train;
      const bool trains = std::binary_search(train.begin(), train.end(), part.original[row]);
      EXPECT_EQ(part.splits[row] == 1, trains);
    }
  }
}

TEST(Partition, LoadsAsTheDataItWasCutFrom) {
  const test::TemporaryFolder folder;
  const Dataset dataset = generate("csbm:nodes=100,features=4");
  const std::string out = (folder.path() / "p").string();
  cut(dataset, range_of(3, 8), out);
  test::expect_same_dataset(load_dataset(out), dataset);
  LoadOptions directed;
  directed.directed = true;
  EXPECT_EQ(test::error_of([&] { load_dataset(out, directed); }),
            in_quotes(out) + " keeps the edges as they were when it was cut; leave --directed out");
}

TEST(Partition, RangesAreWholeBlocks) {
  const test::TemporaryFolder folder;
  const Dataset dataset = generate("csbm:nodes=100,degree=4,features=2");
  std::vector<std::string> notes;
  make_partition(dataset, range_of(3, 16), folder.path() / "3", notes);
  EXPECT_EQ(open_partition(folder.path() / "3").begins, (std::vector<int64_t>{0, 32, 64, 100}));
  EXPECT_TRUE(notes.empty());
  make_partition(dataset, range_of(4, 64), folder.path() / "4", notes);
  EXPECT_EQ(open_partition(folder.path() / "4").begins, (std::vector<int64_t>{0, 64, 100}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "100 nodes are 2 blocks of 64: 2 parts instead of 4; a smaller --align makes more");
}

TEST(Partition, MetisCutsFewerEdges) {
  if (!has_metis()) GTEST_SKIP() << "no METIS: built without";
  const test::TemporaryFolder folder;
  const Dataset dataset = generate("csbm:nodes=400,degree=8,homophily=0.95,classes=4,features=2");
  const PartitionManifest metis = cut(dataset, metis_of(4), folder.path() / "metis");
  EXPECT_LT(3 * metis.cut_edges, cut(dataset, range_of(4), folder.path() / "range").cut_edges);
  for (const PartSummary& part : metis.parts) EXPECT_LT(part.nodes, 110);
}

TEST(Partition, OptionsThatMakeNoSense) {
  const test::TemporaryFolder folder;
  const Dataset dataset = random_dataset({}, 1);
  const auto error = [&](PartitionOptions options) {
    return test::error_of([&] { cut(dataset, options, folder.path() / "p"); });
  };
  EXPECT_EQ(error(range_of(0)), "--parts 0 is not at least 1");
  EXPECT_EQ(error(range_of(41)), "--parts 41 are more than the 40 nodes of the graph");
  EXPECT_EQ(error(range_of(2, 0)), "--align 0 is not at least 1");
  PartitionOptions options = metis_of(2);
  options.align = 8;
  EXPECT_EQ(error(options), "--align is for --method range; METIS puts nodes anywhere");
  options = metis_of(2);
  options.stream = "yes";
  EXPECT_EQ(error(options), "--stream is for --method range; METIS needs the whole graph");
  options = metis_of(2);
  options.memory = 5;
  EXPECT_EQ(error(options), "--memory is for --method range, of a stream");
  options = range_of(2);
  options.seed = 5;
  EXPECT_EQ(error(options), "--seed is for --method metis; ranges have none");
  options = range_of(2);
  options.stream = "no";
  options.memory = 5;
  EXPECT_EQ(error(options), "--memory is for --stream yes");
  options = range_of(2);
  options.method = "metsi";
  EXPECT_EQ(error(options), "--method 'metsi' is unknown; did you mean 'metis'? known: metis, range");
  options = range_of(2);
  options.stream = "yes";
  EXPECT_EQ(error(options), "--stream yes and --memory are for data that is not loaded yet");
  EXPECT_FALSE(fs::exists(folder.path() / "p"));
  if (!has_metis()) {
    EXPECT_EQ(error(metis_of(2)),
              "this qw was built without METIS (libmetis-dev); --method range needs none");
  }
}

}  // namespace
}  // namespace qw
