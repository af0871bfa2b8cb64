// qw compare, on summaries made by hand and on those of real trainings.
#include <cmath>
#include <map>

#include "cli/program.h"
#include "qw/report/paired.h"

namespace qw {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Training {
  std::string name = "cornell";
  std::string model = "gcn";
  std::string solver = "ce";
  std::string split = "auto";
  std::vector<uint64_t> seeds{5, 6, 7, 8};
  std::map<std::string, std::vector<double>> test{{"accuracy", {0.50, 0.52, 0.51, 0.50}}};
};

class Compare : public ::testing::Test {
 protected:
  std::string add(const std::string& folder, const Training& training) {
    json metrics = json::object();
    for (const auto& [metric, values] : training.test) {
      json runs = json::array();
      for (const double value : values) runs.push_back(std::isnan(value) ? json(nullptr) : json(value));
      metrics[metric] = {{"mean", 0.5}, {"std", 0.25}, {"ci95", 0.125}, {"runs", runs}};
    }
    json summary{{"config",
                  {{"schema", 1},
                   {"data", {{"what", training.name}}},
                   {"request", {{"model", training.model}, {"split", training.split}}},
                   {"learn", {{"solver", training.solver}}}}},
                 {"name", training.name},
                 {"seeds", training.seeds},
                 {"train", json::object()},
                 {"val", metrics},
                 {"test", metrics}};
    folder_.write(folder + "/summary.json", summary.dump());
    return folder_.path() / folder;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Compare, SaysThatItHelps) {
  const std::string ce = add("ce", {});
  const std::string better =
      add("qw", {.solver = "bregman", .test = {{"accuracy", {0.54, 0.55, 0.56, 0.54}}}});
  // Differences 4, 3, 5, 4 points: mean 4, standard error sqrt(2/3) / 2, t 3.1824.
  const CommandResult result = qw({"compare", ce, better});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "\nbregman (" + better + ") helps here by 4.0 +- 1.3 points over ce (" +
                                       ce + "): 4 wins of 4\n"))
      << result.out;
  EXPECT_TRUE(contains(result.out, "50.00 +- 12.50")) << result.out;
  EXPECT_TRUE(contains(result.out, "25.00  +4.00 +- 1.30  4/0/0             0.12\n")) << result.out;
  EXPECT_TRUE(contains(
      qw({"compare", better, ce}).out,
      "\nce (" + ce + ") hurts here by 4.0 +- 1.3 points against bregman (" + better + "): 4 losses of 4\n"));
}

TEST_F(Compare, SaysThatSeedsCannotTell) {
  const std::string ce = add("ce", {});
  const std::string same = add("qw", {.solver = "bregman", .test = {{"accuracy", {0.54, 0.48, 0.53, 0.50}}}});
  EXPECT_TRUE(contains(qw({"compare", ce, same}).out,
                       "\nbregman (" + same + ") makes no difference to ce (" + ce +
                           ") that 4 seeds can show: +0.5 +- 5.4 points, 2 wins, 1 tie, 1 loss of 4\n"))
      << qw({"compare", ce, same}).out;
  EXPECT_TRUE(contains(qw({"compare", ce, ce}).out, "can show: 0.0 +- 0.0 points, 4 ties of 4\n"));
}

TEST_F(Compare, ErrorsAreBetterWhenSmaller) {
  const std::string mse =
      add("mse", {.solver = "mse", .test = {{"mae", {3, 3, 3, 3}}, {"r2", {0.5, 0.5, 0.5, 0.5}}}});
  const std::string fitted =
      add("qw", {.solver = "bregman", .test = {{"mae", {1.9, 2, 2, 2.1}}, {"r2", {0.4, 0.4, 0.4, 0.412}}}});
  EXPECT_TRUE(
      contains(qw({"compare", mse, fitted, "--metric", "mae"}).out, " helps here by 1.0 +- 0.1 over mse ("));
  EXPECT_TRUE(contains(qw({"compare", mse, fitted, "--metric", "r2"}).out,
                       " hurts here by 0.097 +- 0.010 against mse ("));
  const json result = json_of({"compare", mse, fitted, "--json"});
  EXPECT_EQ(result.at("metric"), "mae") << "the first";
  EXPECT_EQ(result.at("higher_is_better"), false);
  EXPECT_EQ(result.at("comparisons")[0].at("wins"), 4);
  EXPECT_LT(result.at("comparisons")[0].at("difference").get<double>(), 0);
}

TEST_F(Compare, JsonHasTheComparisonItself) {
  const std::vector<double> first{0.50, 0.52, 0.51, 0.50}, second{0.54, 0.53, 0.50, 0.54},
      third{0.5, 0.4, 0.3, 0.2};
  const std::string ce = add("ce", {});
  const std::string a = add("a", {.solver = "bregman", .test = {{"accuracy", second}}});
  const std::string b = add("b", {.solver = "badmm", .test = {{"accuracy", third}}});
  const json result = json_of({"compare", ce, a, b, "--json", "--part", "val"});
  EXPECT_EQ(result.at("part"), "val");
  EXPECT_EQ(result.at("data"), "cornell");
  ASSERT_EQ(result.at("runs").size(), 3U);
  EXPECT_EQ(result.at("runs")[2].at("solver"), "badmm");
  EXPECT_EQ(result.at("runs")[0].at("seeds"), 4);
  ASSERT_EQ(result.at("comparisons").size(), 2U);
  for (int i = 0; i < 2; ++i) {
    const json& shown = result.at("comparisons")[i];
    const PairedComparison expected = compare_paired(first, i == 0 ? second : third, true);
    EXPECT_EQ(shown.at("run"), i == 0 ? a : b);
    EXPECT_EQ(shown.at("baseline"), ce);
    EXPECT_EQ(shown.at("pairs"), 4);
    EXPECT_EQ(shown.at("difference"), expected.difference);
    EXPECT_EQ(shown.at("interval"), json({expected.lower(), expected.upper()}));
    EXPECT_EQ(shown.at("wins"), expected.wins);
    EXPECT_EQ(shown.at("ties"), expected.ties);
    EXPECT_EQ(shown.at("losses"), expected.losses);
    EXPECT_EQ(shown.at("p"), expected.p_value);
    EXPECT_EQ(shown.at("verdict"), verdict_name(expected.verdict));
    EXPECT_TRUE(contains(qw({"compare", ce, a, b}).out, shown.at("sentence").get<std::string>() + "\n"));
  }
}

TEST_F(Compare, PairsBySeedWhateverTheOrder) {
  const std::string ce = add("ce", {});
  // Seeds 8, 7, 6 of the other: differences 1, 2, 3 points. Seed 5 is not measured there, seed 9 not here.
  const std::string other = add(
      "other",
      {.solver = "bregman", .seeds = {8, 7, 6, 5, 9}, .test = {{"accuracy", {0.51, 0.53, 0.55, NAN, 0.9}}}});
  const json shown = json_of({"compare", ce, other, "--json"}).at("comparisons")[0];
  EXPECT_EQ(shown.at("pairs"), 3);
  EXPECT_NEAR(shown.at("difference").get<double>(), 0.02, 1e-15);
  EXPECT_TRUE(
      contains(qw({"compare", ce, other}).out, "\n  3 pairs: " + ce + " has 4 seeds, " + other + " has 5\n"));
}

TEST_F(Compare, StoredSplitsGoByTheNumberOfTheRun) {
  const std::string first = add("first", {.split = "stored"});
  const std::string later = add("later", {.split = "stored", .seeds = {6, 7, 8, 9}});
  expect_refused({"compare", first, later}, 1,
                 "qw: " + first + " and " + later +
                     " have no measured seed in common: train both with the same --seed and --split");
}

TEST_F(Compare, NamesWhatTellsRunsApart) {
  const std::string gcn = add("gcn", {});
  const std::string mlp = add("mlp", {.model = "mlp"});
  const std::string both = add("both", {.model = "mlp", .solver = "bregman"});
  EXPECT_TRUE(contains(qw({"compare", gcn, mlp}).out,
                       "\nmlp (" + mlp + ") makes no difference to gcn (" + gcn + ")"));
  EXPECT_TRUE(contains(qw({"compare", gcn, both}).out,
                       "\nmlp bregman (" + both + ") makes no difference to gcn ce ("));
}

TEST_F(Compare, WarnsOfDuplicateNodes) {
  for (const char* name : {"squirrel", "chameleon", "chameleon-directed"}) {
    const std::string run = add(name, {.name = name});
    const std::string line = std::string(name) + ": it contains duplicate nodes that leak from train to test";
    EXPECT_TRUE(contains(qw({"compare", run, run}).out, "\n" + line)) << name;
    const json warnings = json_of({"compare", run, run, "--json"}).at("warnings");
    ASSERT_EQ(warnings.size(), 1U) << name;
    EXPECT_TRUE(warnings[0].get<std::string>().starts_with(line)) << name;
  }
  const std::string plain = add("plain", {});
  EXPECT_EQ(json_of({"compare", plain, plain, "--json"}).at("warnings"), json::array());
}

TEST_F(Compare, BadFoldersAreOneLine) {
  const std::string ce = add("ce", {});
  const std::string here = folder_.path();
  expect_refused({"compare", ce}, 2,
                 "qw compare: give two folders or more that qw train --out made; the others are compared "
                 "with the first");
  expect_refused({"compare", ce, "/nowhere"}, 1,
                 "qw: /nowhere: there is no such folder; a run is a folder that qw train --out made");
  expect_refused({"compare", ce, here}, 1,
                 "qw: " + here + " has no summary.json; a run is a folder that qw train --out made");
  folder_.write("begun/config.json", "{}");
  expect_refused({"compare", ce, here + "/begun"}, 1,
                 "qw: " + here + "/begun is not finished; go on with: qw train --resume " + here + "/begun");
  folder_.write("broken/summary.json", "{");
  expect_refused({"compare", ce, here + "/broken"}, 1,
                 "qw: " + here + "/broken/summary.json: is not JSON: something is wrong at byte 2");
  folder_.write("other/summary.json", "{}");
  expect_refused({"compare", ce, here + "/other"}, 1,
                 "qw: " + here + "/other/summary.json: is no summary of a training: it has no \"config\"");
  folder_.write("odd/summary.json", R"({"config": {"data": 1, "request": 2}, "name": [3]})");
  expect_refused(
      {"compare", ce, here + "/odd"}, 1,
      "qw: " + here + "/odd/summary.json: is no summary of a training: a field is of the wrong kind");
  folder_.write("deep/summary.json", std::string(100'000, '['));
  expect_refused(
      {"compare", ce, here + "/deep"}, 1,
      "qw: " + here + "/deep/summary.json: is not JSON of ours: nested deeper than 100 levels at byte 100");
  const std::string uneven = add("uneven", {.seeds = {1}});
  expect_refused({"compare", ce, uneven}, 1,
                 "qw: " + uneven + "/summary.json: is no summary of a training: 4 values for 1 seeds");
}

TEST_F(Compare, WhatCannotBePairedIsOneLine) {
  const std::string ce = add("ce", {});
  const std::string texas = add("texas", {.name = "texas"});
  expect_refused(
      {"compare", ce, texas}, 1,
      "qw: " + ce + " is a training on cornell and " + texas + " one on texas: they cannot be paired");
  const std::string split = add("split", {.split = "random:train=0.1,val=0.2"});
  expect_refused(
      {"compare", ce, split}, 1,
      "qw: " + ce + " has split auto and " + split +
          " has random:train=0.1,val=0.2: they cannot be paired; train both with the same --split");
  const std::string seeds = add("seeds", {.seeds = {1, 2, 3, 4}});
  expect_refused({"compare", ce, seeds}, 1,
                 "qw: " + ce + " and " + seeds +
                     " have no measured seed in common: train both with the same --seed and --split");
  expect_refused(
      {"compare", ce, ce, "--metric", "acuracy"}, 2,
      "qw compare: --metric 'acuracy' is unknown; did you mean 'accuracy'? known: accuracy (of " + ce + ")");
  expect_refused({"compare", ce, ce, "--part", "train"}, 1, "qw: " + ce + " has no metrics of part train");
  expect_refused({"compare", ce, ce, "--part", "tset"}, 2,
                 "qw compare: --part 'tset' is unknown; did you mean 'test'? known: train, val, test");
}

// Of one seed in common the nodes are paired: nine of ten are right beside six, eight of them where both are.
TEST_F(Compare, PairsTheNodesOfOneRun) {
  const Training one{.seeds = {5}, .test = {{"accuracy", {0.6}}, {"macro_f1", {0.5}}}};
  const std::string first = add("first", one), second = add("second", one);
  std::string few = "id,prediction,confidence,label,part\n", many = few;
  for (int i = 0; i < 10; ++i) {
    few += fmt::format("n{},{},0.5,a,test\n", i, i < 6 ? "a" : "b");
    many += fmt::format("n{},{},0.5,a,test\n", i, i > 0 ? "a" : "b");
  }
  folder_.write("first/run-0/predictions.csv", few + "x,b,0.5,a,train\ny,b,0.5,,test\n");
  folder_.write("second/run-0/predictions.csv", many + "x,a,0.5,a,train\ny,a,0.5,,test\n");
  const json compared = json_of({"compare", first, second, "--json"}).at("comparisons").at(0);
  EXPECT_EQ(compared.at("pairs"), 10);
  EXPECT_EQ(compared.at("pairs_are"), "nodes");
  EXPECT_NEAR(compared.at("difference").get<double>(), 0.3, 1e-12);  // 4 wins, 1 loss
  EXPECT_EQ(compared.at("wins"), 4);
  EXPECT_EQ(compared.at("losses"), 1);
  EXPECT_TRUE(contains(compared.at("sentence"), "that 10 test nodes can show: +30"));
  expect_refused({"compare", first, second, "--metric", "macro_f1"}, 1,
                 "qw: " + first + " and " + second +
                     " have one measured seed in common, and macro_f1 of one run has no interval: train both "
                     "with --runs 10");
  folder_.write("second/run-0/predictions.csv", few + "z,a,0.5,a,test\n");
  expect_refused({"compare", first, second}, 1,
                 "qw: " + first + " and " + second +
                     " have not the same test nodes, two at least: they cannot be paired");
  folder_.write("second/run-0/predictions.csv", "id,label\n1,2\n");
  expect_refused(
      {"compare", first, second}, 1,
      "qw: " + second + "/run-0/predictions.csv: has no column 'prediction', so that nodes cannot be paired");
}

TEST_F(Compare, PairsTheNodesOfOneRunByTheirValues) {
  const Training one{.seeds = {5}, .test = {{"r2", {0.6}}, {"mae", {0.5}}}};
  const std::string first = add("first", one), second = add("second", one);
  const std::string header = "id,prediction,low,high,label,part\n";
  folder_.write("first/run-0/predictions.csv", header + "a,1,0,2,0,test\nb,1,0,2,2,test\n");
  folder_.write("second/run-0/predictions.csv", header + "a,0.5,0,2,0,test\nb,1.75,0,2,2,test\n");
  const auto difference = [&](const char* metric) {
    const json found = json_of({"compare", first, second, "--metric", metric, "--json"});
    return found.at("comparisons").at(0).at("difference").get<double>();
  };
  // Labels 0 and 2 have the variance 1; errors were 1 and 1, and are 0.5 and 0.25.
  EXPECT_NEAR(difference("r2"), 1 - (0.25 + 0.0625) / 2, 1e-12);
  EXPECT_NEAR(difference("mae"), -0.625, 1e-12);
  folder_.write("second/run-0/predictions.csv", header + "a,x,0,2,0,test\nb,1.75,0,2,2,test\n");
  expect_refused({"compare", first, second}, 1, "qw: " + second + "/run-0/predictions.csv: 'x' is no number");
}

TEST_F(Compare, ReadsWhatTrainingWrote) {
  std::vector<std::string> folders;
  for (const char* solver : {"ce", "bregman"}) {
    folders.push_back(folder_.path() / solver);
    const CommandResult trained = qw({"train", "--data", "karate", "--solver", solver, "--epochs", "3",
                                      "--runs", "3", "--out", folders.back(), "--quiet"});
    if (contains(trained.err, "built without LibTorch")) GTEST_SKIP() << "qw train needs LibTorch";
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  const json result = json_of({"compare", folders[0], folders[1], "--json"});
  EXPECT_EQ(result.at("data"), "karate");
  EXPECT_EQ(result.at("metric"), "accuracy");
  EXPECT_EQ(result.at("comparisons")[0].at("pairs"), 3);
  EXPECT_NEAR(result.at("comparisons")[0].at("difference").get<double>(),
              result.at("runs")[1].at("mean").get<double>() - result.at("runs")[0].at("mean").get<double>(),
              1e-12);
}

TEST(CompareCommand, HelpShowsTheOptions) {
  EXPECT_TRUE(contains(qw({"--help"}).out, "compare"));
  const std::string help = qw({"compare", "--help"}).out;
  for (const char* option : {"RUN", "--metric", "--part", "--json"})
    EXPECT_TRUE(contains(help, option)) << option;
}

}  // namespace
}  // namespace qw
