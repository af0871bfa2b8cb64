// What a sweep tries, from its description.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "core/embedded.h"
#include "qw/study/sweep.h"
#include "study/study.h"

namespace qw {
namespace {

using test::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Json small_sweep() {
  return {{"each", {{"data", {"cora"}}, {"model", {"gcn"}}}}, {"search", {{"lr", {0.001, 0.02}}}}};
}

Json with(Json sweep, const char* name, Json value) {
  sweep[name] = std::move(value);
  return sweep;
}

SweepCell only_cell(const Json& description) {
  std::vector<SweepCell> cells = sweep_cells(description, "f");
  EXPECT_EQ(cells.size(), 1U);
  return std::move(cells.front());
}

std::vector<double> rates(const SweepCell& cell) {
  std::vector<double> lr;
  for (const TrainRequest& request : cell.configs) lr.push_back(request.learn.lr);
  return lr;
}

std::vector<std::string> texts(const SweepCell& cell) {
  std::vector<std::string> all;
  for (const TrainRequest& request : cell.configs) all.push_back(options_json(request).dump());
  return all;
}

TEST(Space, GridIsTheProductTheLastNameTurningFastest) {
  const std::vector<double> lr{0.001, 0.02, 0.3};
  const std::vector<int64_t> hidden{8, 16, 32};
  const SweepCell cell = only_cell(with(small_sweep(), "search", {{"lr", lr}, {"hidden", hidden}}));
  ASSERT_EQ(cell.configs.size(), lr.size() * hidden.size());
  for (size_t i = 0; i < cell.configs.size(); ++i) {
    EXPECT_EQ(cell.configs[i].learn.lr, lr[i / hidden.size()]);
    EXPECT_EQ(cell.configs[i].model_options.hidden, hidden[i % hidden.size()]);
    EXPECT_EQ(cell.configs[i].data, "cora");
    EXPECT_EQ(cell.configs[i].model, "gcn");
    EXPECT_EQ(cell.configs[i].split, "auto");
  }
}

TEST(Space, EveryCombinationOfEachIsACell) {
  Json sweep = small_sweep();
  sweep["method"] = "qw";
  sweep["each"] = {{"data", {"cora", {{"what", "own.csv"}, {"load", {{"target", "y"}}}}}},
                   {"model", {"gcn", "gat"}}};
  const std::vector<SweepCell> cells = sweep_cells(sweep, "f");
  std::vector<std::string> names;
  for (const SweepCell& cell : cells) names.push_back(cell.name);
  EXPECT_THAT(names, ElementsAre("cora/gcn/qw", "cora/gat/qw", "own.csv/gcn/qw", "own.csv/gat/qw"));
  EXPECT_EQ(cells[3].configs[0].data, sweep["each"]["data"][1]);
  EXPECT_EQ(cells[3].each, Json({{"data", sweep["each"]["data"][1]}, {"model", "gat"}}));
}

TEST(Space, DataOfFilesBearTheNamesOfTheirEdges) {
  const auto file = [](const char* edges, const char* target) {
    return Json{{"what", ""}, {"load", {{"edges", edges}, {"target", target}}}};
  };
  Json sweep = small_sweep();
  sweep["method"] = "qw";
  const auto names_of = [&](const std::vector<Json>& data) {
    sweep["each"] = {{"data", data}};
    std::vector<std::string> names;
    for (const SweepCell& cell : sweep_cells(sweep, "f")) names.push_back(cell.name);
    return names;
  };
  EXPECT_THAT(names_of({file("a.csv", "y"), file("b.csv", "y")}), ElementsAre("a.csv/qw", "b.csv/qw"));
  EXPECT_THAT(names_of({file("a.csv", "y"), file("a.csv", "z"), "cora"}),
              ElementsAre(file("a.csv", "y").dump() + "/qw", file("a.csv", "z").dump() + "/qw", "cora/qw"));
}

TEST(Space, ValuesThatAreObjectsSetSeveralOptions) {
  const Json solvers{{{"solver", "ce"}}, {{"solver", "badmm"}, {"inner_steps", 7}}};
  const SweepCell cell = only_cell(with(small_sweep(), "search", {{"how", solvers}, {"lr", {0.5}}}));
  ASSERT_EQ(cell.configs.size(), 2U);
  EXPECT_EQ(cell.configs[0].learn.solver, "ce");
  EXPECT_EQ(cell.configs[1].learn.solver, "badmm");
  EXPECT_EQ(cell.configs[1].learn.inner_steps, 7);
  EXPECT_EQ(cell.configs[1].learn.lr, 0.5);
}

TEST(Space, RulesHoldForTheirCellsAlone) {
  Json sweep = small_sweep();
  sweep["each"]["model"] = {"gcn", "appnp"};
  sweep["fixed"] = {{"epochs", 50}};
  sweep["where"] = Json::parse(R"([{"if": {"model": "appnp", "data": "cora"}, "fixed": {"epochs": 9},
      "search": {"alpha": [0.3, 0.4]}, "include": [{"lr": 5}]}, {"if": {"data": "texas"}, "fixed": {"epochs": 1}}])");
  sweep["each"]["data"] = {"cora", "texas"};
  const std::vector<SweepCell> cells = sweep_cells(sweep, "f");
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_THAT(rates(cells[0]), ElementsAre(0.001, 0.02));
  EXPECT_THAT(rates(cells[1]), ElementsAre(5, 0.001, 0.001, 0.02, 0.02));
  EXPECT_THAT(rates(cells[3]), ElementsAre(0.001, 0.02));
  const int64_t epochs[] = {50, 9, 1, 1};
  for (size_t i = 0; i < 4; ++i) {
    for (const TrainRequest& request : cells[i].configs) EXPECT_EQ(request.learn.epochs, epochs[i]);
  }
  EXPECT_EQ(cells[1].configs[2].model_options.alpha, 0.4);
}

TEST(Space, IncludedOptionsAreFirstAndNothingIsTriedTwice) {
  Json sweep = small_sweep();
  sweep["include"] = {{{"lr", 0.02}}, {{"lr", 7}}, {{"lr", 0.02}}};
  sweep["search"]["lr"] = {0.001, 0.02, 0.001};
  EXPECT_THAT(rates(only_cell(sweep)), ElementsAre(0.02, 7, 0.001));
}

TEST(Space, RandomChoicesDifferAndAreTheSameForASeed) {
  Json sweep = with(small_sweep(), "strategy", "random");
  sweep["samples"] = 40;
  sweep["search"] = {{"lr", {{"log", {1e-4, 1}}}}, {"hidden", {8, 16}}};
  const std::vector<std::string> first = texts(only_cell(sweep));
  EXPECT_EQ(first.size(), 40U);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 40U);
  EXPECT_EQ(texts(only_cell(sweep)), first);
  EXPECT_NE(texts(only_cell(with(sweep, "seed", 2))), first);
  // More of them begin with the same.
  const std::vector<std::string> more = texts(only_cell(with(sweep, "samples", 50)));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), more.begin()));
}

TEST(Space, ASmallSpaceIsExhausted) {
  Json sweep = small_sweep();
  sweep["search"] = {{"lr", {0.001, 0.02}}, {"hidden", {8, 16, 32}}, {"layers", {1, 2}}};
  const std::vector<std::string> grid = texts(only_cell(sweep));
  for (const char* strategy : {"random", "halving"}) {
    for (const int samples : {12, 13, 60}) {
      sweep["strategy"] = strategy;
      sweep["samples"] = samples;
      EXPECT_THAT(texts(only_cell(sweep)), ::testing::UnorderedElementsAreArray(grid));
    }
  }
}

TEST(Space, RangesAreKept) {
  Json sweep = with(small_sweep(), "strategy", "random");
  sweep["samples"] = 300;
  sweep["search"] = {{"lambda", {{"log", {0.01, 100}}}}, {"dropout", {{"uniform", {0.2, 0.6}}}}};
  int below_middle_log = 0, below_middle = 0;
  const SweepCell cell = only_cell(sweep);
  ASSERT_EQ(cell.configs.size(), 300U);
  for (const TrainRequest& request : cell.configs) {
    EXPECT_GE(request.learn.lambda, 0.01);
    EXPECT_LE(request.learn.lambda, 100);
    EXPECT_GE(request.model_options.dropout, 0.2);
    EXPECT_LE(request.model_options.dropout, 0.6);
    below_middle_log += request.learn.lambda < 1;  // the geometric mean of the bounds
    below_middle += request.model_options.dropout < 0.4;
  }
  // Six standard deviations of a binomial variable around its mean of 150.
  EXPECT_NEAR(below_middle_log, 150, 52);
  EXPECT_NEAR(below_middle, 150, 52);
}

TEST(Space, RangesAreKeptWhereTheyAreNarrowerThanTheDigits) {
  Json sweep = with(small_sweep(), "strategy", "random");
  for (const char* kind : {"uniform", "log"}) {
    sweep["search"]["lr"] = {{kind, {0.123456, 0.123457}}};
    for (const double lr : rates(only_cell(sweep))) {
      EXPECT_GE(lr, 0.123456);
      EXPECT_LE(lr, 0.123457);
    }
  }
}

TEST(Space, RungsOfHalving) {
  Json sweep = with(small_sweep(), "strategy", "halving");
  for (const int64_t configs : {1, 2, 5, 12, 24, 27}) {
    std::vector<int64_t> hidden;
    for (int64_t i = 1; i <= configs; ++i) hidden.push_back(i);
    sweep["search"] = {{"hidden", hidden}};
    sweep["samples"] = 100;
    for (const int64_t share : {2, 3, 4}) {
      for (const int64_t first : {1, 2}) {
        for (const int64_t runs : {1, 2, 3, 10, 16}) {
          sweep["keep"] = 1.0 / static_cast<double>(share);
          sweep["first_runs"] = first;
          sweep["runs"] = runs;
          const SweepCell cell = only_cell(sweep);
          int64_t power = 1;
          for (const Rung& rung : cell.rungs) {
            EXPECT_EQ(rung.configs, (configs + power - 1) / power);
            EXPECT_EQ(rung.runs, std::min(runs, first * power));
            power *= share;
          }
          EXPECT_EQ(cell.rungs.back().runs, runs);
          EXPECT_TRUE(cell.rungs.size() == 1 || cell.rungs[cell.rungs.size() - 2].runs < runs);
        }
      }
    }
  }
  sweep["strategy"] = "random";
  const SweepCell cell = only_cell(sweep);
  ASSERT_EQ(cell.rungs.size(), 1U);
  EXPECT_EQ(cell.rungs[0].configs, 27);
  EXPECT_EQ(cell.rungs[0].runs, 16);
}

std::string refusal(const Json& description) {
  return test::error_of([&] { sweep_cells(description, "f"); });
}

TEST(Space, SaysWhatIsWrongWithMembers) {
  const Json good = small_sweep();
  const auto is = [&](const char* name, const Json& value) { return refusal(with(good, name, value)); };
  EXPECT_EQ(refusal(Json::array()), "f: is no JSON object");
  EXPECT_THAT(is("serch", 1),
              StartsWith("f: 'serch' is unknown; did you mean 'search'? known: about, method"));
  EXPECT_EQ(is("each", {{"model", {"gcn"}}}), "f: \"each\" names no \"data\"");
  EXPECT_EQ(is("each", {{"data", "cora"}}), "f: \"data\" needs a list of values");
  EXPECT_EQ(is("strategy", "gird"),
            "f: \"strategy\" 'gird' is unknown; did you mean 'grid'? known: grid, random, halving");
  EXPECT_EQ(is("method", 3), "f: \"method\" is no text");
  EXPECT_EQ(is("fixed", Json::array()), "f: \"fixed\" is no object");
  EXPECT_EQ(is("include", Json::object()), "f: \"include\" is no list");
  EXPECT_EQ(is("include", {3}), "f: expected a JSON object");
  for (const char* name : {"samples", "runs", "first_runs"}) {
    for (const Json& value : {Json(0), Json(1.5), Json("2")}) {
      EXPECT_EQ(is(name, value), std::string("f: \"") + name + "\" needs a whole number from 1 on");
    }
  }
  EXPECT_EQ(is("seed", -1), "f: \"seed\" needs a whole number from 0 on");
  EXPECT_EQ(is("runs", 1000000000000), "f: \"runs\" is above 1000000");
  EXPECT_EQ(is("samples", 1000000000), "f: \"samples\" is above 100000");
  for (const Json& keep : {Json(0), Json(1), Json(-0.5), Json("half")}) {
    EXPECT_EQ(is("keep", keep), "f: \"keep\" needs a number between 0 and 1");
  }
  EXPECT_EQ(is("where", {3}), "f: \"where\" needs a list of objects");
  EXPECT_EQ(is("where", {{{"iff", Json::object()}}}),
            "f: 'iff' is unknown; did you mean 'if'? known: if, fixed, search, include");
  EXPECT_EQ(is("where", {{{"if", {{"solver", "ce"}}}}}),
            "f: \"if\" asks for \"solver\", which \"each\" has not");
}

TEST(Space, SaysWhatIsWrongWithOptions) {
  Json sweep = small_sweep();
  const auto search = [&](const char* name, const Json& values) {
    return refusal(with(sweep, "search", {{name, values}}));
  };
  EXPECT_EQ(search("lr", Json::array()), "f: \"lr\" needs a list of values");
  EXPECT_EQ(search("lr", 0.1), "f: \"lr\" needs a list of values");
  EXPECT_EQ(search("lr", {{"log", {0.1, 1}}}),
            "f: \"lr\" is a range, which strategy grid cannot walk; give a list");
  EXPECT_EQ(search("metric", {"accuracy", "ece"}),
            "f: \"search\" cannot choose \"metric\", by which options are compared");
  EXPECT_THAT(search("lrr", {1}), StartsWith("f: 'lrr' is unknown; did you mean 'lr'? known: "));
  EXPECT_THAT(search("lr", {-1}), StartsWith("f: lr '-1' "));
  EXPECT_THAT(search("model", {"gnc"}), StartsWith("f: model 'gnc' is unknown; did you mean 'gcn'?"));
  sweep["strategy"] = "random";
  EXPECT_EQ(search("lr", {{"log", {0, 1}}}), "f: \"lr\" needs a range [a, b] with a <= b and a > 0");
  for (const Json& bounds : {Json({2, 1}), Json({1}), Json("x"), Json({"a", "b"})}) {
    EXPECT_EQ(search("lr", {{"uniform", bounds}}), "f: \"lr\" needs a range [a, b] with a <= b");
  }
}

TEST(Space, TextMayHaveCommentsAndErrorsNameTheirLine) {
  EXPECT_EQ(parse_sweep("// a remark\n{\"runs\": /* of each */ 3}", "f").at("runs"), 3);
  const auto error = [](const char* text) { return test::error_of([&] { parse_sweep(text, "f"); }); };
  EXPECT_EQ(error("{\n\"runs\": 3,\n\"seed\" 4\n}"), "f:3: is no JSON from here on");
  EXPECT_EQ(error("{"), "f:1: is no JSON from here on");
  EXPECT_EQ(error("[1]"), "f: is no JSON object");
}

TEST(Space, ABaseGivesEverySearchTheOptionsOfItsPreset) {
  const Json description =
      Json::parse(R"({"base": "ce", "method": "qw", "fixed": {"solver": "bregman", "epochs": 7},
      "each": {"data": ["cora", "texas"], "model": ["gcn"]}, "where": [{"if": {"data": "cora"}, "fixed": {"dropout": 0.1}}],
      "search": {"lambda": [1, 2]}})");
  const std::vector<Preset> presets{
      {"cora/gcn/ce",
       "cora",
       {{"model", "gcn"}, {"solver", "ce"}, {"lr", 0.05}, {"epochs", 9}, {"dropout", 0.3}},
       ""}};
  std::vector<MissingBase> missing;
  const std::vector<SweepCell> cells = sweep_cells(with_base(description, presets, "f", missing), "f");
  ASSERT_EQ(cells.size(), 2u);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].preset, "texas/gcn/ce");
  EXPECT_EQ(missing[0].each, cells[1].each);
  const TrainRequest& cora = cells[0].configs[1];
  EXPECT_EQ(cora.learn.lr, 0.05);              // the preset's
  EXPECT_EQ(cora.learn.solver, "bregman");     // never that of a preset of another method
  EXPECT_EQ(cora.learn.epochs, 7);             // "fixed" goes before the preset
  EXPECT_EQ(cora.model_options.dropout, 0.1);  // and so do rules
  EXPECT_EQ(cora.learn.lambda, 2);
  EXPECT_EQ(cells[1].configs[0].learn.lr, LearnOptions{}.lr);
  Json bad = description;
  bad["base"] = 3;
  EXPECT_EQ(test::error_of([&] { with_base(bad, presets, "f", missing); }), "f: \"base\" is no text");
}

TEST(Space, ABaseOfTheSameMethodGivesItsSolver) {
  const Json description =
      Json::parse(R"({"base": "qw", "method": "qw", "each": {"data": ["cora"], "model": ["gcn"]},
      "search": {"around": [{}, {"lr": 0.05}, {"solver": "bregman"}]}})");
  const std::vector<Preset> presets{
      {"cora/gcn/qw", "cora", {{"model", "gcn"}, {"solver", "badmm"}, {"lambda", 7}}, ""}};
  std::vector<MissingBase> missing;
  const std::vector<SweepCell> cells = sweep_cells(with_base(description, presets, "f", missing), "f");
  ASSERT_EQ(cells.at(0).configs.size(), 3u);
  const std::vector<TrainRequest>& configs = cells[0].configs;
  for (const TrainRequest& config : configs) EXPECT_EQ(config.learn.lambda, 7);
  EXPECT_EQ(configs[0].learn.solver, "badmm");
  EXPECT_EQ(configs[0].learn.lr, LearnOptions{}.lr);
  EXPECT_EQ(configs[1].learn.solver, "badmm");
  EXPECT_EQ(configs[1].learn.lr, 0.05);
  EXPECT_EQ(configs[2].learn.solver, "bregman");
}

TEST(Space, SweepsThatCameWithQwAreComplete) {
  const std::map<std::string, size_t> cells{{"sweeps/ce.json", 60},       {"sweeps/ce-spectral.json", 20},
                                            {"sweeps/ce-lpa.json", 10},   {"sweeps/qw.json", 70},
                                            {"sweeps/qw-short.json", 70}, {"sweeps/qw-algorithm1.json", 20},
                                            {"sweeps/qw-weights.json", 8}};
  size_t shipped = 0;
  for (const auto& [path, text] : embedded_share()) shipped += path.starts_with("sweeps/") ? 1 : 0;
  EXPECT_GE(shipped, cells.size());
  for (const auto& [path, text] : embedded_share()) {
    if (!path.starts_with("sweeps/")) continue;
    Json description = parse_sweep(std::string(text), path);
    EXPECT_FALSE(description.value("about", "").empty()) << path;
    if (description.value("strategy", "grid") == "grid") {  // whole grids are large: one graph shows as much
      description["each"]["data"] = {description["each"]["data"].front()};
    }
    std::vector<MissingBase> missing;
    const std::vector<SweepCell> found = sweep_cells(with_base(description, {}, path, missing), path);
    const auto expected = cells.find(path);
    EXPECT_TRUE(expected == cells.end() || expected->second == found.size()) << path;
    for (const SweepCell& cell : found) {
      EXPECT_FALSE(cell.configs.empty()) << cell.name;
      EXPECT_EQ(cell.rungs.back().runs, path == "sweeps/qw-around.json" ? 20 : 10) << cell.name;
    }
  }
}

}  // namespace
}  // namespace qw
