// The paper's experiments: what they train, and how ours is set beside the paper's.
#include "paper/experiment.h"

#include <gmock/gmock.h>

#include <set>

#include "qw/study/presets.h"
#include "support/support.h"

namespace qw {
namespace {

using ::testing::HasSubstr;

// A store in which every run of a cell reached `value`, as a share.
void fill(ResultStore& store, const ExperimentCell& cell, int64_t runs, double value) {
  const int64_t config = store.config_of(cell.request);
  for (int64_t run = 0; run < runs; ++run) {
    StoredResult stored;
    stored.result.run = run;
    stored.result.val = stored.result.test = {{"accuracy", value}, {"mse", value}};
    stored.result.step_ms = value;
    store.put({config, run}, stored);
  }
}

ExperimentOptions only(const std::string& data, const std::string& model, int64_t runs = 10) {
  ExperimentOptions options;
  options.datasets = {data};
  if (!model.empty()) options.models = {model};
  options.runs = runs;
  return options;
}

TEST(Experiments, TableOneHas150CellsWithThePapersNumbers) {
  const Experiment table = make_experiment("table1", {});
  ASSERT_EQ(table.cells.size(), 150u);
  EXPECT_EQ(table.runs, 10);
  std::set<std::string> configs;
  for (const ExperimentCell& cell : table.cells) {
    ASSERT_TRUE(cell.paper.has_value());
    EXPECT_GT(cell.paper->plus_minus, 0);
    configs.insert(cell.request.data.dump() + options_json(cell.request).dump());
    const bool is_qw = cell.row.ends_with("QW");
    EXPECT_EQ(find_solver(cell.request.learn.solver).has_flow, is_qw) << cell.row;
  }
  EXPECT_EQ(configs.size(), 150u);
  EXPECT_EQ(table.cells.front().row, "gcn, CE");
  EXPECT_EQ(table.cells.front().column, "cora");
  EXPECT_EQ(table.cells.front().paper->mean, 87.44);
}

TEST(Experiments, RowsOfQwHaveAFlowAndOthersHaveNone) {
  for (const std::string& name : experiment_names()) {
    for (const ExperimentCell& cell : make_experiment(name, {}).cells) {
      const bool traditional = cell.row.find("CE") != std::string::npos ||
                               cell.row.find("MSE") != std::string::npos || cell.row.ends_with("C&S") ||
                               cell.row == "label propagation";
      EXPECT_EQ(find_solver(cell.request.learn.solver).has_flow, !traditional) << name << ": " << cell.row;
    }
  }
}

TEST(Experiments, AlgorithmsOfTableFiveDoNotFollowAProximalPreset) {
  ExperimentOptions options;
  options.presets = {{"cora/gcn/qw", "cora", {{"model", "gcn"}, {"solver", "proximal"}, {"lambda", 3}}, ""}};
  options.datasets = {"cora"};
  options.models = {"gcn"};
  const Experiment table = make_experiment("table5", options);
  ASSERT_EQ(table.cells.size(), 3u);
  EXPECT_EQ(table.cells[1].request.learn.solver, "bregman");
  EXPECT_EQ(table.cells[1].request.learn.lambda, 3);
  EXPECT_EQ(table.cells[2].request.learn.solver, "badmm");
  EXPECT_TRUE(table.cells[1].borrowed);
}

TEST(Experiments, KindsOfQwTakeTheFirstTablesPresetWhereItIsOfThem) {
  const auto preset = [](const std::string& method, const nlohmann::ordered_json& options) {
    return Preset{"cornell/gcn/" + method, "cornell", options, ""};
  };
  ExperimentOptions options = only("cornell", "gcn");
  options.presets = {
      preset("qw", {{"solver", "bregman"}, {"lambda", 1}, {"edge_weights", true}}),
      preset("qw-algorithm1", {{"solver", "bregman"}, {"lambda", 2}}),
      preset("qw-algorithm2", {{"solver", "badmm"}, {"lambda", 3}}),
      preset("qw-plain", {{"solver", "bregman"}, {"lambda", 4}}),
      preset("qw-weights", {{"solver", "badmm"}, {"lambda", 5}, {"edge_weights", true}}),
  };
  const Experiment five = make_experiment("table5", options), four = make_experiment("table4", options);
  EXPECT_EQ(five.cells[1].preset, "cornell/gcn/qw");
  EXPECT_EQ(five.cells[2].preset, "cornell/gcn/qw-algorithm2");
  EXPECT_EQ(four.cells[0].preset, "cornell/gcn/qw-plain");
  EXPECT_EQ(four.cells[1].preset, "cornell/gcn/qw");
  EXPECT_FALSE(four.cells[1].borrowed);
  EXPECT_EQ(four.cells[1].request.learn.lambda, 1);
}

TEST(Experiments, KeepOnlyWhatWasAskedFor) {
  const ExperimentOptions options = only("photo", "gcn");
  for (const std::string& name : experiment_names()) {
    EXPECT_FALSE(make_experiment(name, {}).cells.empty()) << name;
    for (const ExperimentCell& cell : make_experiment(name, options).cells) {
      EXPECT_EQ(cell.column, "photo") << name;
      EXPECT_TRUE(cell.request.model == "gcn" || cell.request.model == "gcn-lpa") << name;
    }
  }
  EXPECT_EQ(make_experiment("table1", options).cells.size(), 3u);  // CE, CE + LPA, QW
  EXPECT_TRUE(make_experiment("table3", options).cells.empty());
}

TEST(Experiments, AblationsDifferInWhatTheyAreAbout) {
  for (const ExperimentCell& cell : make_experiment("table4", {}).cells) {
    EXPECT_EQ(cell.request.learn.edge_weights, cell.row.ends_with("A(F)")) << cell.row;
  }
  for (const ExperimentCell& cell : make_experiment("table5", {}).cells) {
    const std::string expected = cell.row.ends_with("CE")  ? "ce"
                                 : cell.row.ends_with("1") ? "bregman"
                                                           : "badmm";
    EXPECT_EQ(cell.request.learn.solver, expected) << cell.row;
  }
  const Experiment table7 = make_experiment("table7", {});
  EXPECT_EQ(table7.cells[6].row, "CE, hidden 125, 5 heads, 3 layers / hidden 112, 4 heads, 3 layers");
  EXPECT_EQ(table7.cells[6].request.model_options.hidden, 125);
  EXPECT_EQ(table7.cells[6].request.model_options.heads, 5);
  EXPECT_EQ(table7.cells[7].request.model_options.layers, 3);
  EXPECT_EQ(table7.cells[7].request.model_options.hidden, 112);
}

TEST(Experiments, LackWhatTheStoreHasNot) {
  const test::TemporaryFolder folder;
  ResultStore store(folder.path() / "results.db");
  const ExperimentOptions options = only("cora", "gcn", 3);
  const Experiment table = make_experiment("table1", options);
  ASSERT_EQ(table.cells.size(), 3u);
  EXPECT_EQ(lacking(table, store, store.scores()).trials.size(), 9u);
  fill(store, table.cells[0], 3, 0.5);
  EXPECT_EQ(lacking(table, store, store.scores()).trials.size(), 6u);
  fill(store, table.cells[1], 3, 0.5);
  fill(store, table.cells[2], 3, 0.5);
  EXPECT_TRUE(lacking(table, store, store.scores()).trials.empty());
}

TEST(Experiments, DifferencesAreInUnitsOfThePapersPlusMinus) {
  const test::TemporaryFolder folder;
  ResultStore store(folder.path() / "results.db");
  const ExperimentOptions options = only("cora", "gcn", 2);
  const Experiment table = make_experiment("table1", options);
  fill(store, table.cells[0], 2, (87.44 - 2 * 0.96) / 100);  // CE
  fill(store, table.cells[1], 1, 0.8);                       // CE + LPA, one of two runs
  fill(store, table.cells[2], 2, (87.88 + 3 * 0.79) / 100);  // QW
  const std::vector<MeasuredCell> cells = measure(table, store);
  EXPECT_NEAR(*cells[0].difference, -2, 1e-9);
  EXPECT_FALSE(cells[1].complete);
  EXPECT_FALSE(cells[1].difference.has_value());
  EXPECT_NEAR(*cells[2].difference, 3, 1e-9);
  const std::string text = to_markdown(table, cells);
  EXPECT_THAT(text, HasSubstr("1 of 1 cells with QW are within the paper's ± of its mean"));
  EXPECT_THAT(text, HasSubstr("0 of 1 cells without QW are within"));
  EXPECT_THAT(text, HasSubstr("| gcn, QW | 90.25 ± 0.00 (87.88 ± 0.79; +3.0) |"));
  EXPECT_THAT(text, HasSubstr("gcn: QW improves by +4.73 points on average (paper: +0.44)"));
  EXPECT_THAT(text, HasSubstr("| gcn, CE + LPA | 80.00 ± 0.00 [1 of 2 runs] (86.34 ± 1.45) |"));
  EXPECT_EQ(to_json(table, cells).at("cells").size(), 3u);
  EXPECT_THAT(to_csv(cells), HasSubstr("\"gcn, QW\",cora,0,2,90.25,0,0,87.88,0.79,3,"));
}

TEST(Experiments, MarkCellsInWhichNothingFlows) {
  const test::TemporaryFolder folder;
  ResultStore store(folder.path() / "results.db");
  const ExperimentOptions options = only("cora", "gcn", 1);
  const Experiment table = make_experiment("table1", options);
  StoredResult stored;
  stored.result.val = stored.result.test = {{"accuracy", 0.5}};
  stored.result.flow = FlowSummary{};
  stored.result.flow->entries = 3;
  store.put({store.config_of(table.cells[2].request), 0}, stored);
  EXPECT_THAT(to_markdown(table, measure(table, store)), HasSubstr("| gcn, QW | 50.00 ± 0.00 † (87.88"));
  stored.result.flow->nonzeros = 1;
  ResultStore other(folder.path() / "other.db");
  other.put({other.config_of(table.cells[2].request), 0}, stored);
  EXPECT_THAT(to_markdown(table, measure(table, other)), HasSubstr("| gcn, QW | 50.00 ± 0.00 (87.88"));
}

TEST(Experiments, ErrorsAreBetterWhenSmaller) {
  const test::TemporaryFolder folder;
  ResultStore store(folder.path() / "results.db");
  const ExperimentOptions options = only("cornell", "gin", 2);
  const Experiment table = make_experiment("table2", options);
  ASSERT_EQ(table.cells.size(), 2u);
  EXPECT_EQ(table.cells[0].request.data.at("load").at("one_hot"), true);
  fill(store, table.cells[0], 2, 0.1609 - 0.0359);
  const std::vector<MeasuredCell> cells = measure(table, store);
  EXPECT_NEAR(*cells[0].difference, 1, 1e-9);
  EXPECT_FALSE(cells[1].difference.has_value());
}

TEST(Experiments, FiguresAreDrawnAndSquirrelCarriesItsWarning) {
  const test::TemporaryFolder folder;
  ResultStore store(folder.path() / "results.db");
  const ExperimentOptions options = only("squirrel", "", 2);
  for (const char* name : {"fig-labels", "fig-lambda"}) {
    const Experiment figure = make_experiment(name, options);
    for (const ExperimentCell& cell : figure.cells) fill(store, cell, 2, 0.5);
    const std::vector<MeasuredCell> cells = measure(figure, store);
    EXPECT_THAT(to_svg(figure, cells), HasSubstr("<svg"));
    EXPECT_THAT(to_markdown(figure, cells), HasSubstr("copies of nodes that leak"));
  }
  EXPECT_EQ(to_svg(make_experiment("table1", options), {}), "");
  const Experiment empty = make_experiment("fig-histogram", options);
  EXPECT_EQ(to_svg(empty, measure(empty, store)), "");  // nothing was trained yet
}

TEST(Experiments, UnknownNamesAreRefused) {
  EXPECT_THAT(test::error_of([] { make_experiment("table8", {}); }),
              HasSubstr("qw reproduce: 'table8' is unknown"));
}

TEST(Presets, AreReadAndFoundByName) {
  const auto document = nlohmann::ordered_json::parse(
      R"({"cora/gcn/qw": {"data": "cora", "options": {"model": "gcn", "solver": "bregman", "lambda": 10}, "found_by": "sweep"}})");
  const std::vector<Preset> read = presets_from_json(document, "p.json");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(to_json(read), document);
  EXPECT_EQ(nlohmann::ordered_json::parse(presets_text(read)), document);
  EXPECT_EQ(
      test::error_of([] { presets_from_json(nlohmann::ordered_json::parse(R"({"a": {}})"), "p.json"); }),
      "p.json: preset 'a' needs \"data\", \"options\" and \"found_by\"");
  EXPECT_THAT(test::error_of([] {
                presets_from_json(nlohmann::ordered_json::parse(
                                      R"({"a": {"data": "x", "options": {"lrr": 1}, "found_by": ""}})"),
                                  "p.json");
              }),
              HasSubstr("p.json: preset 'a': 'lrr' is unknown; did you mean 'lr'?"));
  EXPECT_EQ(test::error_of([] { presets_from_json(nlohmann::ordered_json::array(), "p.json"); }),
            "p.json: is no JSON object of presets");
  EXPECT_THAT(test::error_of([] { find_preset("nowhere"); }), HasSubstr("preset 'nowhere' is unknown"));
  for (const Preset& preset : presets()) EXPECT_EQ(&find_preset(preset.name), &preset);
  const test::TemporaryFolder folder;
  EXPECT_EQ(to_json(read_presets(folder.write("p.json", document.dump()))), document);
  const std::filesystem::path bad = folder.write("bad.json", "{");
  EXPECT_EQ(test::error_of([&] { read_presets(bad); }),
            bad.string() + ": is not JSON: something is wrong at byte 2");
  ExperimentOptions options;
  options.presets = read;
  options.datasets = {"cora"};
  options.models = {"gcn"};
  EXPECT_EQ(make_experiment("table1", options).cells[2].preset, "cora/gcn/qw");
  EXPECT_EQ(make_experiment("table1", options).cells[2].request.learn.lambda, 10);
}

TEST(Presets, TheAutomaticOneSuitsAnyGraph) {
  Dataset dataset;
  dataset.graph = Graph::build(test::edge_list(4, {{0, 1}, {1, 2}, {2, 3}}));
  dataset.targets = class_targets({0, 0, 0, 1});
  const std::vector<NodeId> everybody{0, 1, 2, 3};
  EXPECT_EQ(automatic_preset(dataset, {0, 1}, "").found_by, "100 % of the edges are within a class");
  EXPECT_EQ(automatic_preset(dataset, everybody, "").found_by, "67 % of the edges are within a class");
  EXPECT_EQ(automatic_preset(dataset, everybody, "gat").options.at("model"), "gat");
  dataset.targets = class_targets({0, 1, 0, 1});
  EXPECT_EQ(automatic_preset(dataset, everybody, "").found_by, "only 0 % of the edges are within a class");
  EXPECT_EQ(automatic_preset(dataset, everybody, "gat").options.at("solver"), "proximal");
  EXPECT_EQ(automatic_preset(dataset, everybody, "gcn").options.at("edge_weights"), true);
  dataset.targets = value_targets({1, 2, 3, 4});
  TrainRequest request;
  set_options(request, automatic_preset(dataset, everybody, "").options, "auto");
  EXPECT_EQ(request.learn.solver, "proximal");
  EXPECT_EQ(request.model, "graphsage");
  EXPECT_EQ(request.model_options.dropout, 0);
}

}  // namespace
}  // namespace qw
