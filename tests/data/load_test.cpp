#include "qw/data/load.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "qw/data/card.h"
#include "qw/data/check.h"
#include "qw/data/save.h"
#include "qw/graph/generators.h"
#include "qw/graph/statistics.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(Load, GeneratorsAndFolders) {
  EXPECT_EQ(load_dataset("karate").graph.num_edges(), 78);
  const test::TemporaryFolder folder;
  folder.write("edges.csv", "a,b\n0,1\n");
  EXPECT_EQ(load_dataset(folder.path().string()).graph.num_edges(), 1);
  EXPECT_EQ(load_dataset((folder.path() / "edges.csv").string()).graph.num_edges(), 1);
}

TEST(Load, Errors) {
  const test::TemporaryFolder folder;
  const test::ScopedEnvironment cache("QW_CACHE_DIR", folder.path().c_str());
  const test::ScopedEnvironment mirror("QW_DATA_MIRROR", nullptr);
  EXPECT_EQ(error_of([] { load_dataset(""); }),
            "no data: give a name, a file, a folder or a generator, or your own CSV with --edges");
  EXPECT_EQ(error_of([] { load_dataset("corra"); }).substr(0, 51),
            "--data 'corra' is unknown; did you mean 'cora'? kno");
  EXPECT_EQ(error_of([] { load_dataset("cora"); }), "cora is not in the cache, " +
                                                        (folder.path() / "datasets/cora").string() +
                                                        "; get it with: qw data get cora");
  EXPECT_NE(error_of([] { load_dataset(std::string(5000, 'x')); }).find("it is no file or folder either"),
            std::string::npos);
  EXPECT_EQ(error_of([] { load_dataset("friend.csv"); }),
            "--data 'friend.csv': there is no such file or folder");
  LoadOptions own;
  own.edges = "e.csv";
  EXPECT_EQ(error_of([&] { load_dataset("cora", own); }),
            "--edges names your own graph, so 'cora' cannot be loaded too");
  const std::string odd = folder.write("odd.bin", "x").string();
  const std::string tried = error_of([&] { load_dataset(odd); });
  EXPECT_EQ(tried.find(odd + ": is in no format known here; tried heterophilous-npz ("), 0u) << tried;
  EXPECT_NE(tried.find("or a folder with edges.csv and nodes.csv)"), std::string::npos) << tried;
}

TEST(Load, MirrorIsUsedWhenSet) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  const test::TemporaryFolder folder;
  const test::ScopedEnvironment cache("QW_CACHE_DIR", folder.path().c_str());
  const test::ScopedEnvironment mirror("QW_DATA_MIRROR", test::shared_datasets().c_str());
  EXPECT_EQ(load_dataset("texas").graph.num_nodes(), 183);
}

// Every published graph has the counts of its card, and the paper's intra-edge rate where the counts agree.
TEST(Load, EveryPublishedGraph) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  const auto tables = test::shared_datasets().parent_path() / "paper" / "tables.json";
  const auto published = nlohmann::json::parse(std::ifstream(tables)).at("datasets");
  for (const DatasetCard& card : dataset_cards()) {
    SCOPED_TRACE(card.name);
    const std::filesystem::path folder = test::shared_datasets() / card.mirror_folder();
    const std::string what =
        card.name == card.mirror_folder() ? folder.string() : (folder / card.entry).string();
    LoadOptions options;
    options.directed = card.directed;
    const Dataset dataset = load_dataset(what, options);
    check_counts(card, dataset);
    EXPECT_EQ(dataset.graph.directed(), card.directed);
    if (!published.contains(card.name)) continue;
    const auto& row = published.at(card.name);
    if (row[0] != dataset.graph.num_nodes() || row[2] != dataset.graph.num_edges()) continue;
    // Actor's rate does not match: docs/data.md gives both figures.
    if (card.name == "actor") continue;
    const double rate = intra_edge_rate(dataset.graph, dataset.targets).value();
    EXPECT_NEAR(100 * rate, row[3].get<double>(), 0.1);
  }
}

TEST(Load, CountyFacebookFromItsTwoFiles) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  LoadOptions options;
  options.edges = (test::shared_datasets() / "county-facebook/adj.csv").string();
  options.nodes = (test::shared_datasets() / "county-facebook/dat.csv").string();
  options.target = "MedianIncome";
  const Dataset dataset = load_dataset("", options);
  EXPECT_EQ(dataset.graph.num_nodes(), 3105);
  EXPECT_EQ(dataset.graph.num_edges(), 22555);
  EXPECT_EQ(dataset.features.columns, 10);
  EXPECT_EQ(dataset.targets.task, Task::kRegression);
  EXPECT_EQ(dataset.targets.labelled(), 3105);
  EXPECT_EQ(dataset.targets.values[0], 54487.0);
}

class GoldenSplits : public testing::TestWithParam<std::filesystem::path> {};

// The published splits, bit for bit, of targets that the file has or of a data set that it names.
TEST_P(GoldenSplits, EveryCase) {
  const auto file = GetParam() / "splits.json";
  QW_SKIP_WITHOUT(file);
  const auto golden = nlohmann::json::parse(std::ifstream(file));
  EXPECT_TRUE(std::equal(kPublishedSeeds.begin(), kPublishedSeeds.end(), golden.at("seeds").begin(),
                         golden.at("seeds").end()));
  const bool has_targets = golden.contains("targets");
  if (!has_targets) QW_SKIP_WITHOUT(test::shared_datasets());
  int checked = 0;
  for (const auto& [name, cases] : golden.at("splits").items()) {
    const Targets targets = has_targets ? class_targets(golden.at("targets").at(name))
                                        : load_dataset((test::shared_datasets() / name).string()).targets;
    for (const auto& expected : cases) {
      const Split split =
          published_split(targets, expected.at("seed"), expected.at("train_rate"), expected.at("val_rate"));
      EXPECT_EQ(nlohmann::json(split.train), expected.at("train")) << name << " " << expected.at("seed");
      EXPECT_EQ(nlohmann::json(split.val), expected.at("val")) << name;
      EXPECT_EQ(nlohmann::json(split.test), expected.at("test")) << name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenSplits,
                         testing::Values(test::own_golden_folder(), test::golden_folder()),
                         test::golden_folder_name);

void expect_same(const Dataset& found, const Dataset& expected) {
  EXPECT_EQ(found.graph.num_nodes(), expected.graph.num_nodes());
  EXPECT_TRUE(std::ranges::equal(found.graph.heads(), expected.graph.heads()));
  EXPECT_TRUE(std::ranges::equal(found.graph.tails(), expected.graph.tails()));
  EXPECT_TRUE(std::ranges::equal(found.graph.weights(), expected.graph.weights()));
  EXPECT_EQ(found.features.sparse, expected.features.sparse);
  EXPECT_EQ(found.features.dense, expected.features.dense);
  EXPECT_EQ(found.features.offsets, expected.features.offsets);
  EXPECT_EQ(found.features.indices, expected.features.indices);
  EXPECT_EQ(found.features.values, expected.features.values);
  EXPECT_EQ(found.targets.classes, expected.targets.classes);
  EXPECT_EQ(found.targets.values, expected.targets.values);
}

class SaveAndLoad : public testing::TestWithParam<std::string> {};

TEST_P(SaveAndLoad, GivesTheSameDataset) {
  const test::TemporaryFolder folder;
  const std::string ending = GetParam() == "csv" ? "" : GetParam() == "csr-npz" ? ".npz" : ".mtx";
  for (const char* spec : {"karate", "csbm:nodes=200,features=5,classes=3,degree=6"}) {
    const Dataset dataset = generate(spec);
    const std::string path = (folder.path() / (dataset.name + ending)).string();
    save_dataset(dataset, GetParam(), path);
    expect_same(load_dataset(path), dataset);
  }
}

TEST_P(SaveAndLoad, KeepsWeightsAndDirections) {
  const test::TemporaryFolder folder;
  EdgeList edges = test::edge_list(3, {{0, 1}, {1, 0}, {2, 1}});
  edges.weights = {0.5, 2, 1.25};
  GraphOptions directed;
  directed.directed = true;
  Dataset dataset;
  dataset.name = "toy";
  dataset.graph = Graph::build(std::move(edges), directed);
  dataset.targets = class_targets({0, -1, 1});
  const std::string path = (folder.path() / (GetParam() == "csv"       ? "toy"
                                             : GetParam() == "csr-npz" ? "toy.npz"
                                                                       : "toy.mtx"))
                               .string();
  save_dataset(dataset, GetParam(), path);
  LoadOptions options;
  options.directed = true;
  options.missing_features = "none";
  expect_same(load_dataset(path, options), dataset);
}

INSTANTIATE_TEST_SUITE_P(Formats, SaveAndLoad, testing::Values("csv", "csr-npz", "matrix-market"),
                         [](const auto& param) {
                           std::string name = param.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST(Save, CsvKeepsCostsIdsSplitAndValues) {
  const test::TemporaryFolder folder;
  EdgeList edges = test::edge_list(2, {{0, 1}});
  edges.costs = {0.1};
  Dataset dataset;
  dataset.name = "toy";
  dataset.graph = Graph::build(std::move(edges));
  dataset.targets = value_targets({0.1, 2.5});
  dataset.node_ids = {"first, node", "b"};
  dataset.splits = {{{0}, {}, {1}}};
  save_dataset(dataset, "csv", folder.path());
  const Dataset again = load_dataset(folder.path().string());
  EXPECT_EQ(again.graph.costs()[0], 0.1);
  EXPECT_EQ(again.node_ids, dataset.node_ids);
  EXPECT_EQ(again.targets.values, dataset.targets.values);
  EXPECT_EQ(again.splits.at(0).test, (std::vector<NodeId>{1}));
}

TEST(Save, Errors) {
  Dataset values;
  values.name = "toy";
  values.graph = Graph::build(test::edge_list(1, {}));
  values.targets = value_targets({1, 2}, {"a", "b"});
  EXPECT_EQ(error_of([&] { save_dataset(values, "csv", "x"); }), "toy: csv holds one target per node, not 2");
  EXPECT_EQ(error_of([&] { save_dataset(values, "csr-npz", "x.npz"); }),
            "toy: csr-npz holds one target per node, not 2");
  EXPECT_EQ(error_of([&] { save_dataset(values, "matrix-market", "x.mtx"); }),
            "toy: matrix-market holds classes only, and the target is regression; use csv");
  EXPECT_EQ(error_of([&] { save_dataset(values, "cvs", "x"); }),
            "format 'cvs' is unknown; did you mean 'csv'? known: csv, csr-npz, matrix-market");
  EdgeList edges = test::edge_list(2, {{0, 1}});
  edges.costs = {1};
  Dataset costly;
  costly.name = "toy";
  costly.graph = Graph::build(std::move(edges));
  EXPECT_EQ(error_of([&] { save_dataset(costly, "csr-npz", "x.npz"); }),
            "toy: csr-npz cannot hold edge costs; use csv");
  EXPECT_EQ(error_of([&] { save_dataset(costly, "matrix-market", "x.mtx"); }),
            "toy: matrix-market cannot hold edge costs; use csv");
}

TEST(Save, EndingsAndLeftovers) {
  const Dataset karate = generate("karate");
  EXPECT_EQ(error_of([&] { save_dataset(karate, "csr-npz", "x"); }), "csr-npz: 'x' must end in .npz");
  EXPECT_EQ(error_of([&] { save_dataset(karate, "matrix-market", "x.mtx.gz"); }),
            "matrix-market: 'x.mtx.gz' must end in .mtx");
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "g.mtx").string();
  save_dataset(karate, "matrix-market", path);
  Dataset bare;
  bare.name = "bare";
  bare.graph = Graph::build(test::edge_list(2, {{0, 1}}));
  save_dataset(bare, "matrix-market", path);
  LoadOptions as_it_is;
  as_it_is.missing_features = "none";
  EXPECT_EQ(load_dataset(path, as_it_is).features.columns, 0)
      << "the features of the graph that was there before";
}

TEST(Save, SaysWhatIsNotKept) {
  const test::TemporaryFolder folder;
  GraphOptions directed;
  directed.directed = true;
  Dataset dataset;
  dataset.name = "toy";
  dataset.graph = Graph::build(test::edge_list(2, {{0, 1}}), directed);
  dataset.targets = class_targets({0, 1});
  dataset.splits = {{{0}, {}, {1}}, {{1}, {}, {0}}};
  dataset.features = features_from_dense(2, 1, {1, 2});
  dataset.features.names = {"id"};
  EXPECT_EQ(save_dataset(dataset, "csv", folder.path()),
            (std::vector<std::string>{
                "the graph is directed: read it back with --directed", "1 of 2 splits were kept",
                "if the task is guessed wrongly, read it back with --task classification"}));
  EXPECT_EQ(load_dataset(folder.path().string()).features.names, (std::vector<std::string>{"feature id"}));
}

TEST(CheckConsistent, NamesTheDataset) {
  Dataset dataset;
  dataset.name = "toy";
  dataset.graph = Graph::build(test::edge_list(3, {}));
  dataset.targets = class_targets({0, 1});
  EXPECT_EQ(error_of([&] { check_consistent(dataset); }),
            "toy: the graph has 3 nodes but there are 2 targets");
}

TEST(CheckCounts, NamesTheFirstDifference) {
  DatasetCard card;
  card.name = "toy";
  card.nodes = 1234;
  EXPECT_EQ(error_of([&] { check_counts(card, {}); }), "toy: has 0 nodes, expected 1,234");
}

}  // namespace
}  // namespace qw
