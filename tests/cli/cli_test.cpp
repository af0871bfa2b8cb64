#include <nlohmann/json.hpp>

#include "support/support.h"

namespace qw {
namespace {

using nlohmann::json;
using test::CommandResult;

CommandResult qw(const std::vector<std::string>& arguments) {
  return test::run_command(QW_PROGRAM, arguments);
}

json json_of(const std::vector<std::string>& arguments) {
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

void expect_refused(const std::vector<std::string>& arguments, int exit_code, const std::string& line) {
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, line + "\n");
}

TEST(Cli, HelpAndVersion) {
  EXPECT_NE(qw({"--help"}).out.find("data"), std::string::npos);
  EXPECT_EQ(qw({}).exit_code, 0);
  EXPECT_EQ(qw({"--version"}).out.substr(0, 3), "qw ");
  const json version = json_of({"--version", "--json"});
  for (const char* field :
       {"version", "commit", "build", "libtorch", "cuda", "architecture", "cpu_features", "threads"}) {
    EXPECT_TRUE(version.contains(field)) << field;
  }
  for (const char* command : {"list", "get", "info", "convert", "split"}) {
    const CommandResult help = qw({"data", command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.out.find(command), std::string::npos);
    EXPECT_NE(help.out.find("--threads"), std::string::npos) << "global options are shown";
  }
}

TEST(Cli, UsageErrorsAreOneLineAndExitWith2) {
  expect_refused({"dta"}, 2, "qw: argument 'dta' is unknown; did you mean 'data'? (see qw --help)");
  expect_refused({"data"}, 2, "qw: A subcommand is required (see qw data --help)");
  expect_refused({"data", "info", "karate", "--direcetd"}, 2,
                 "qw: option '--direcetd' is unknown; did you mean '--directed'? (see qw data info --help)");
  expect_refused({"data", "info", "karate", "--task", "clasification"}, 2,
                 "qw: --task 'clasification' is unknown; did you mean 'classification'? known: auto, "
                 "classification, regression");
  expect_refused({"--threads", "x", "data", "list"}, 2,
                 "qw: --threads 'x' is not a whole number from 0 to 4096");
  expect_refused({"data", "info"}, 2,
                 "qw: no data: give a name, a file, a folder or a generator, or your own CSV with --edges");
  expect_refused(
      {"data", "get", "corra"}, 2,
      "qw data get: 'corra' is unknown; did you mean 'cora'? known: cora, citeseer, pubmed, computers, "
      "photo, chameleon, chameleon-directed, squirrel, actor, texas, cornell, county-facebook, all");
  expect_refused({"data", "split", "karate", "--split", "publshed"}, 2,
                 "qw: split 'publshed' is unknown; did you mean 'published'? known: stratified, kfold, "
                 "published, per-class, "
                 "random, stored");
  expect_refused({"data", "convert", "karate"}, 2, "qw data convert: --out PATH is missing");
}

TEST(Cli, FailedRunsExitWith1) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "a,b\n0,1\n0\n").string();
  expect_refused({"data", "info", "--edges", edges}, 1,
                 "qw: " + edges + ":3: 1 fields, expected 2 as in the first line");
  expect_refused({"data", "info", "--edges", "nowhere.csv"}, 1,
                 "qw: nowhere.csv: cannot read: No such file or directory");
}

TEST(Cli, InfoAsJson) {
  const json info = json_of({"data", "info", "karate", "--json"});
  EXPECT_EQ(info["nodes"], 34);
  EXPECT_EQ(info["edges"], 78);
  EXPECT_EQ(info["features"], 34);
  EXPECT_EQ(info["feature_nnz"], 34);
  EXPECT_EQ(info["classes"], 4);
  EXPECT_EQ(info["components"], 1);
  EXPECT_EQ(info["isolated_nodes"], 0);
  EXPECT_EQ(info["directed"], false);
  EXPECT_EQ(info["duplicate_nodes"], 7);  // 14, 15, 18, 20, 22 know 32 and 33 only; 17 and 21 know 0 and 1
  EXPECT_NEAR(info["intra_edge_rate"].get<double>(), 59.0 / 78, 1e-12);
  EXPECT_EQ(info["class_balance"].size(), 4u);
}

TEST(Cli, GlobalOptionsStandBeforeOrAfter) {
  EXPECT_EQ(json_of({"--json", "data", "info", "karate"}), json_of({"data", "info", "karate", "--json"}));
  EXPECT_EQ(json_of({"data", "info", "--data", "karate", "--json"}),
            json_of({"data", "info", "karate", "--json"}));
}

TEST(Cli, OwnCsv) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "a,b\nx,y\ny,z\nz,z\n").string();
  const std::string nodes = folder.write("n.csv", "who,age,team\nx,1,red\ny,2,\nz,,blue\n").string();
  const std::vector<std::string> arguments = {"data", "info", "--edges",  edges,  "--nodes", nodes,
                                              "--id", "who",  "--target", "team", "--json"};
  const CommandResult result = qw(arguments);
  const json info = json::parse(result.out);
  EXPECT_EQ(info["nodes"], 3);
  EXPECT_EQ(info["edges"], 2);
  EXPECT_EQ(info["labelled"], 2);
  EXPECT_EQ(result.err,
            "e.csv: column 'age' of " + nodes +
                ": 1 empty cells were filled with the mean, 1.5; --drop age leaves it out\n"
                "e.csv: 1 self-loops were dropped; --self-loops keep keeps them\n"
                "e.csv: 2 of 2 classes, such as 'blue', have fewer than 3 nodes, too few to train, "
                "validate and test on; --split decides where they go\n");
  std::vector<std::string> silent = arguments;
  silent.emplace_back("--quiet");
  EXPECT_EQ(qw(silent).err, "");
}

TEST(Cli, BytesThatAreNoUtf8AreReadAsText) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "a,b\nx,y\n").string();
  const std::string nodes = folder.write("n.csv", "id,team\nx,caf\xe9\ny,tea\n").string();
  const json info = json_of(
      {"data", "info", "--edges", edges, "--nodes", nodes, "--id", "id", "--target", "team", "--json"});
  EXPECT_EQ(info["class_balance"][0]["class"], "caf\u00e9");
}

TEST(Cli, OptionsThatDoNotApplyAreRefused) {
  expect_refused({"data", "info", "karate", "--directed"}, 2,
                 "qw: 'karate' makes an undirected graph; leave --directed out");
  expect_refused({"data", "info", "karate", "--edge-cost", "x"}, 2,
                 "qw: --edge-cost is for your own CSV; 'karate' has no use for it");
  expect_refused({"data", "inf"}, 2,
                 "qw: argument 'inf' is unknown; did you mean 'info'? (see qw data --help)");
}

TEST(Cli, SplitAndConvert) {
  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "split.csv").string();
  const json split = json_of({"data", "split", "karate", "--split", "random:train=0.5,val=0.25", "--seed",
                              "3", "--out", out, "--json"});
  EXPECT_EQ(split["train"].size(), 17u);
  EXPECT_EQ(split["seed"], 3);
  EXPECT_TRUE(std::filesystem::exists(out));
  const std::string copy = (folder.path() / "karate.npz").string();
  EXPECT_EQ(json_of({"data", "convert", "karate", "--to", "csr-npz", "--out", copy, "--json"})["edges"], 78);
  EXPECT_EQ(json_of({"data", "info", copy, "--json"})["duplicate_nodes"], 7);
}

TEST(Cli, ListShowsEverything) {
  const json list = json_of({"data", "list", "--json"});
  EXPECT_EQ(list["datasets"].size(), 12u);
  EXPECT_EQ(list["generators"].size(), 2u);
  EXPECT_EQ(list["formats"].size(), 7u);
  EXPECT_NE(qw({"data", "list"}).out.find("county-facebook"), std::string::npos);
}

TEST(Cli, GetFromAMirrorThenInfoByName) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  const test::TemporaryFolder folder;
  const test::ScopedEnvironment cache("QW_CACHE_DIR", folder.path().c_str());
  const test::ScopedEnvironment mirror("QW_DATA_MIRROR", nullptr);
  const json got =
      json_of({"data", "get", "texas", "cora", "--mirror", test::shared_datasets().string(), "--json"});
  EXPECT_EQ(got.size(), 2u);
  EXPECT_EQ(json_of({"data", "info", "cora", "--json"})["nodes"], 2708);
  EXPECT_EQ(json_of({"data", "get", "texas", "--json"})[0]["already_cached"], 1);
}

TEST(Cli, WarnsOfDuplicateNodes) {
  const auto chameleon = test::shared_datasets() / "chameleon";
  QW_SKIP_WITHOUT(chameleon);
  EXPECT_NE(qw({"data", "info", chameleon.string()}).err.find("duplicate"), std::string::npos);
}

}  // namespace
}  // namespace qw
