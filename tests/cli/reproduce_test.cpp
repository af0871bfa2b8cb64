// Presets and the paper's experiments, by the program.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kPresets =
    R"({"karate/gcn/qw": {"data": "karate", "options": {"model": "gcn", "solver": "bregman", "lambda": 7, "hidden": 8}, "found_by": "a test"}})";

TEST(PresetCommands, APresetNamesTheDataAndWhatIsWrittenWins) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("p.json", kPresets).string();
  const test::CommandResult result =
      test::qw({"train", "--preset", "karate/gcn/qw", "--presets", file, "--hidden", "4", "--epochs", "2",
                "--split", "random", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("preset karate/gcn/qw: --model gcn --solver bregman --lambda 7 --hidden 8 (a test)"));
  const auto config = nlohmann::json::parse(result.out).at("config");
  EXPECT_EQ(config.at("data").at("what"), "karate");
  EXPECT_EQ(config.at("learn").at("lambda"), 7);
  EXPECT_EQ(config.at("model_options").at("hidden"), 4);
}

TEST(PresetCommands, AutoSuitsTheGraph) {
  const test::CommandResult result = test::qw({"train", "karate", "--preset", "auto", "--model", "gin",
                                               "--epochs", "2", "--split", "random", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("preset auto: --model gin --lr 0.01"));
  EXPECT_THAT(result.err, HasSubstr("--solver proximal"));
  EXPECT_THAT(result.err, HasSubstr("% of the edges are within a class"));
  EXPECT_EQ(nlohmann::json::parse(result.out).at("config").at("request").at("model"), "gin");
}

TEST(PresetCommands, SayWhatIsWrong) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("p.json", kPresets).string();
  const test::CommandResult unknown = test::qw({"train", "--preset", "karate/gnc/qw", "--presets", file});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err,
            "qw: preset 'karate/gnc/qw' is unknown; did you mean 'karate/gcn/qw'? qw presets lists all, and "
            "auto suits any "
            "graph\n");
  const test::CommandResult missing = test::qw({"train", "--preset", "a", "--presets", "nowhere.json"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.json"));
}

TEST(PresetCommands, AreListed) {
  const test::CommandResult text = test::qw({"presets", "no such thing"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, StartsWith("preset"));
  EXPECT_EQ(nlohmann::json::parse(test::qw({"presets", "no such thing", "--json"}).out),
            nlohmann::json::object());
}

TEST(ReproduceCommand, ShowsWhatIsThereWithoutTraining) {
  const test::TemporaryFolder folder;
  const test::CommandResult result = test::qw({"reproduce", "table1", "fig-lambda", "--datasets", "squirrel",
                                               "--show", "--out", folder.path().string(), "--report"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string html = read_file(folder.path() / "report.html");
  for (const char* part : {"<h2>table1: Node classification", "46.55 ± 1.15", "<p class=\"lead\">0 of "})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(result.out, HasSubstr("## table1: Node classification"));
  EXPECT_THAT(result.out, HasSubstr("46.55 ± 1.15"));
  EXPECT_THAT(result.out, HasSubstr("copies of nodes that leak"));
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  for (const char* name : {"table1.md", "table1.csv", "table1.json", "fig-lambda.md"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "fig-lambda.svg")) << "there is nothing to draw";
}

TEST(ReproduceCommand, TrainsWhatIsLackingOnce) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  const test::ScopedEnvironment mirror("QW_DATA_MIRROR", test::shared_datasets().c_str());
  const test::TemporaryFolder folder, cache;
  const test::ScopedEnvironment own_cache("QW_CACHE_DIR", cache.path().c_str());
  const std::vector<std::string> command{
      "reproduce", "table1", "--datasets",          "texas", "--models", "gcn", "--runs", "1",
      "--json",    "--out",  folder.path().string()};
  const test::CommandResult first = test::qw(command);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto document = nlohmann::json::parse(first.out);
  ASSERT_EQ(document.at(0).at("cells").size(), 3u);
  for (const auto& cell : document.at(0).at("cells")) EXPECT_EQ(cell.at("values").size(), 1u);
  const test::CommandResult second = test::qw(command);
  EXPECT_EQ(nlohmann::json::parse(second.out), document);
  EXPECT_THAT(second.err, Not(HasSubstr("done")));
}

TEST(ReproduceCommand, SaysWhatIsWrong) {
  const test::CommandResult unknown = test::qw({"reproduce", "tabel1"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, StartsWith("qw reproduce: 'tabel1' is unknown; did you mean 'table1'?"));
  EXPECT_EQ(test::qw({"reproduce", "table1", "--datasets", "karate"}).err,
            "qw reproduce: --datasets 'karate' is unknown; known: actor, arxiv-year, chameleon, citeseer, "
            "computers, cora, "
            "cornell, photo, pubmed, squirrel, texas\n");
  EXPECT_EQ(test::qw({"reproduce", "table2", "--datasets", "texas"}).err,
            "qw reproduce: table2 has none of these models and data sets\n");
  const test::TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  EXPECT_EQ(test::qw({"reproduce", "table1", "--device", "gpu", "--out", out.string()}).err,
            "qw: --device 'gpu' is unknown; known: cpu, cuda, cuda:0, ...\n");
  EXPECT_EQ(test::qw({"reproduce", "fig-runtime", "--store", "s.db", "--out", out.string()}).err,
            "qw reproduce: fig-runtime has times, which are this device's own and stay in " + out.string() +
                "/times-cpu.db: leave out --store\n");
  EXPECT_EQ(test::qw({"reproduce", "table1", "--data-at", "nix=x", "--out", out.string()}).err,
            "qw reproduce: --data-at 'nix': no data has this name\n");
  EXPECT_EQ(test::qw({"reproduce", "table1", "--show", "--data-at", "cora=x", "--out", out.string()}).err,
            "qw reproduce: --show trains nothing: leave out --data-at\n");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace qw
