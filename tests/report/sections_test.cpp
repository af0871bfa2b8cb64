// What the sections of a report say of small runs whose numbers can be counted by hand.
#include "report/sections.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <regex>

#include "support/support.h"

namespace qw {
namespace {

using nlohmann::ordered_json;
using test::edge_list;
using ::testing::HasSubstr;
using ::testing::Not;

ordered_json summary_of(size_t runs) {
  ordered_json summary = ordered_json::parse(R"({
      "config": {"request": {"device": "cpu"}, "learn": {"solver": "ce", "epochs": 4, "patience": 2}},
      "metric": "accuracy", "train": {}, "val": {}, "test": {}, "baselines": {},
      "coverage": {"asked": 0.9, "test": {"mean": 0.8, "runs": [0.75, 0.85]}, "size": {"mean": 1}}, "step_ms": 2.5,
      "machine": {"processor": "Fast <CPU>", "cores": 2, "gpu": "", "libtorch": "2.1", "compiler": "g++ 12"}})");
  for (size_t run = 0; run < runs; ++run) {
    summary["epochs"].push_back(run == 0 ? 3 : 4);
    summary["best_epoch"].push_back(run == 0 ? 1 : 2);
    summary["seeds"].push_back(run);
  }
  return summary;
}

// Six nodes: a path of five, and one alone. The first trains; 1 to 5 test.
RunRecord record_of(Targets targets, size_t runs = 1) {
  Dataset dataset;
  dataset.graph = Graph::build(edge_list(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  dataset.features.rows = 6;
  dataset.targets = std::move(targets);
  dataset.columns = {{"x", "feature", "number", {}, 2, 0.5}, {"<b>", "target", "classes", {"a", "b"}, 0, {}}};
  RunRecord record;
  record.folder = "runs/one";
  record.summary = summary_of(runs);
  record.trained_on =
      remember(dataset, std::vector<Split>(runs, Split{{0}, {}, {1, 2, 3, 4, 5}}), "random:0.2,0");
  record.schema = ordered_json::parse(R"({"qw": "1.0", "command": "qw train 'a b'", "split": "random:0.2,0",
      "fingerprint": {"graph": "aa", "features": "bb", "labels": "cc"},
      "data": {"columns": [{"missing": 2}, {}]}})");
  record.predicted.split = record.trained_on.splits.front();
  record.predicted.nodes = {1, 2, 3, 4, 5};
  record.predicted.ids = {"1", "2", "3", "4", "5"};
  return record;
}

// Nodes 1, 2 and 5 are right.
RunRecord classes_record(size_t runs = 1) {
  RunRecord record = record_of(class_targets({0, 0, 0, 1, 1, 1}, {"a", "b"}), runs);
  record.predicted.predicted = {"a", "a", "a", "a", "b"};
  record.predicted.labels = {"a", "a", "b", "b", "b"};
  record.predicted.confidence = {0.9, 0.8, 0.7, 0.6, 0.75};
  record.predicted.probability = {0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.25, 0.75};
  record.predicted.set_size = {1, 1, 2, 2, 0};
  return record;
}

std::string page_of(const RunRecord& record, void (*add)(Page&, const RunRecord&)) {
  Page page("T");
  add(page, record);
  return page.html();
}

// The charts' values, by the title of the chart or, where it has one, of the panel.
std::vector<ordered_json> charts_of(const std::string& html) {
  std::vector<ordered_json> charts;
  const std::regex script("<script type=\"application/json\">([^<]*)</script>");
  for (std::sregex_iterator it(html.begin(), html.end(), script), end; it != end; ++it)
    charts.push_back(ordered_json::parse((*it)[1].str()));
  return charts;
}

std::string row(std::initializer_list<std::string> cells) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += "(<td[^>]*>)" + cell + "</td>";
  return text + "</tr>";
}

void expect_row(const std::string& html, std::initializer_list<std::string> cells) {
  EXPECT_TRUE(std::regex_search(html, std::regex(row(cells)))) << row(cells) << "\n" << html.substr(0, 20000);
}

TEST(QualitySection, CountsClasses) {
  const std::string html = page_of(classes_record(), add_quality);
  // Each class against the rest: b is above a everywhere but for nodes 3 and 4, which are below node 5 only.
  expect_row(html, {"a", "2", "3", "100.0 %", "100.0 %"});
  expect_row(html, {"b", "3", "2", "100.0 %", "100.0 %"});
  // By degree: 5 has none and is right; 4 has one and is wrong; 1, 2 of three with two are right.
  expect_row(html, {"degree", "0", "1", "100.0 %", "20.7 %", "100.0 %"});
  expect_row(html, {"degree", "1", "1", "0.0 %", "0.0 %", "79.3 %"});
  expect_row(html, {"degree", "2 to 3", "3", "66.7 %", "20.8 %", "93.9 %"});
  expect_row(html, {"neighbours of its class", "all", "2", "50.0 %", "9.5 %", "90.5 %"});
  expect_row(html, {"neighbours of its class", "50 to 75 %", "2", "50.0 %", "9.5 %", "90.5 %"});
  expect_row(html, {"distance to training labels", "3", "1", "0.0 %", "0.0 %", "79.3 %"});
  expect_row(html, {"distance to training labels", "unreachable", "1", "100.0 %", "20.7 %", "100.0 %"});
  expect_row(html, {"3", "a", "b", "0.700"});  // of the wrong ones, the most sure
  EXPECT_THAT(html, HasSubstr("1.20 on average. They are made to hold the true class of 90.0 % of nodes, and "
                              "hold that of 75.0 %"));
  bool has_sets = false;
  for (const ordered_json& chart : charts_of(html))
    has_sets = has_sets || (chart[0]["categories"] == ordered_json{"0", "1", "2"} &&
                            chart[0]["series"][0]["y"] == ordered_json{1, 2, 2});
  EXPECT_TRUE(has_sets);
}

TEST(QualitySection, ManyClassesAreAMean) {
  std::vector<int32_t> classes(30);
  for (int i = 0; i < 30; ++i) classes[i] = i;
  Dataset dataset;
  dataset.graph = Graph::build(edge_list(30, {{0, 1}}));
  dataset.features.rows = 30;
  dataset.targets = class_targets(classes);
  RunRecord record = classes_record();
  Split split{{0}, {}, {}};
  record.predicted = {};
  for (NodeId node = 1; node < 30; ++node) {
    split.test.push_back(node);
    record.predicted.nodes.push_back(node);
    record.predicted.ids.push_back(fmt::format("{}", node));
    record.predicted.labels.push_back(fmt::format("{}", node));
    record.predicted.predicted.push_back("7");
    record.predicted.confidence.push_back(0.5);
    for (int c = 0; c < 30; ++c) record.predicted.probability.push_back(c == node ? 0.5 : 0.0);
  }
  record.predicted.split = split;
  record.trained_on = remember(dataset, {split}, "stored");
  record.schema["data"]["columns"] = ordered_json::array();
  const std::string html = page_of(record, add_quality);
  EXPECT_THAT(html, HasSubstr("mean of 29 classes")) << "no test node is of class 0";
  EXPECT_THAT(html, Not(HasSubstr("mean of 30 classes")));
  EXPECT_THAT(html, HasSubstr("The commonest mistakes of 30 classes, of 28 test nodes that are wrong"));
  const std::string data = page_of(record, add_data);
  EXPECT_THAT(data, HasSubstr("The 20 largest of 30."));
}

// A class without test nodes has no curve, and none by chance.
TEST(QualitySection, CurvesAreOfClassesThatThereAre) {
  RunRecord record = classes_record();
  record.trained_on.targets.classes = {0, 0, 0, 0, 0, 0};
  record.predicted.labels = {"a", "a", "a", "a", "a"};
  const std::string html = page_of(record, add_quality);
  expect_row(html, {"b", "0", "5", "", ""});
  for (const ordered_json& chart : charts_of(html)) {
    for (const ordered_json& panel : chart) {
      if (panel["x_label"] != "recall") continue;
      EXPECT_TRUE(panel["series"].empty()) << panel;
    }
  }
}

TEST(QualitySection, ScalesOfSharesAreTheSameEverywhere) {
  int shares = 0;
  for (const ordered_json& chart : charts_of(page_of(classes_record(), add_quality))) {
    for (const ordered_json& panel : chart) {
      if (panel["x_label"] != "share of nodes that is right") continue;
      EXPECT_EQ(panel["x"], (ordered_json{0.0, 1.0, false}));
      ++shares;
    }
  }
  EXPECT_EQ(shares, 3) << "by degree, by neighbours of its class, by distance";
}

TEST(QualitySection, WithoutTestNodesItHasTheOtherMetrics) {
  RunRecord record = classes_record();
  record.predicted = {};
  record.summary["val"] = ordered_json::parse(R"({"accuracy": {"mean": 0.625, "ci95": 0, "runs": [0.625]}})");
  const std::string html = page_of(record, add_quality);
  expect_row(html, {"accuracy", "62.5 %"});
  EXPECT_THAT(html, HasSubstr("No node was held out to test"));
}

TEST(NumberText, HasFourDigitsAndNoExponentThatCanBeAvoided) {
  EXPECT_EQ(number_text(0.72114), "0.7211");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(12514), "12,510");
  EXPECT_EQ(number_text(-156412345.6), "-156,400,000");
  EXPECT_EQ(number_text(1e15), "1e+15");
  EXPECT_EQ(interval_text("rmse", 6612.3, 1234), "6,612 ± 1,234");
}

TEST(QualitySection, CountsLabels) {
  Targets targets{.task = Task::kMultiLabel,
                  .width = 2,
                  .classes = {},
                  .values = {1, 0, 1, 1, 1, 0, 0, 1, 0, NAN, 0, 0},
                  .names = {"p", "q"}};
  RunRecord record = record_of(targets);
  record.predicted.predicted = record.predicted.labels = {"", "", "", "", ""};
  record.predicted.confidence = {0.9, 0.9, 0.9, 0.9, 0.9};
  // p is there at 1 and 2, and said of 1 and 3; q is there at 1 and 3, and said of 3.
  record.predicted.probability = {0.9, 0.2, 0.3, 0.1, 0.8, 0.9, 0.1, 0.9, 0.2, 0.1};
  record.predicted.set_size = {0, 1, 1, 2, 0};
  const std::string html = page_of(record, add_quality);
  expect_row(html, {"p", "2", "2", "50.0 %", "50.0 %", "50.0 %"});
  expect_row(html, {"q", "2", "1", "100.0 %", "50.0 %", "66.7 %"});
  // p: of 2 * 3 pairs, node 1 is above all, node 2 above 4 and 5 only. q: 3 above all, 1 above 2 and 5.
  expect_row(html, {"p", "2", "3", "83.3 %", "83.3 %"});
  expect_row(html, {"q", "2", "2", "100.0 %", "100.0 %"});
  EXPECT_THAT(
      html,
      HasSubstr("How many labels a set leaves open: few where the prediction is sure; 0.80 on average."));
  EXPECT_THAT(html, HasSubstr("share of labels that is right"));
  EXPECT_THAT(page_of(record, add_data), HasSubstr("Nodes by label"));
}

TEST(QualitySection, CountsValues) {
  RunRecord record = record_of(value_targets({0, 1, 2, 3, 4, 5}));
  record.predicted.value = {1, 3, 3, 4, 3};
  for (const double value : record.predicted.value) {
    record.predicted.low.push_back(value - 1);
    record.predicted.high.push_back(value + 1);
  }
  const std::string html = page_of(record, add_quality);
  // Errors 0, 1, 0, 0, -2: the squares sum to 5, those around the mean to 10.
  expect_row(html, {"value", "5", "0.5", "1", "1", "0.6", "0", "± 1", "80.0 %"});
  expect_row(html, {"degree", "0", "1", "2", "", ""});
  expect_row(html, {"degree", "2 to 3", "3", "0.3333", "0", "1.768"});  // no error is below 0
  const std::vector<ordered_json> charts = charts_of(html);
  ASSERT_EQ(charts.size(), 2u);
  ASSERT_EQ(charts[0].size(), 3u) << "true, errors, errors by prediction";
  EXPECT_EQ(charts[0][2]["series"][0]["x"], (ordered_json{1, 3, 3, 4, 3}));
  EXPECT_EQ(charts[0][2]["series"][0]["y"], (ordered_json{0, 1, 0, 0, -2}));
  EXPECT_THAT(page_of(record, add_data), HasSubstr("Values by part"));
}

TEST(DataSection, CountsTheGraph) {
  const std::string html = page_of(classes_record(), add_data);
  const auto fact = [](const std::string& name, const std::string& value) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>", name, value);
  };
  EXPECT_THAT(html, HasSubstr(fact("connected parts", "2")));
  EXPECT_THAT(html, HasSubstr(fact("nodes of the largest part", "5")));
  EXPECT_THAT(html, HasSubstr(fact("nodes without a neighbour", "1")));
  // Edges aa, aa, ab, bb; of the 8 ends 5 are of a.
  EXPECT_THAT(html, HasSubstr(fact("edges inside classes", "75.0 %, by chance 53.1 %")));
  expect_row(html, {"x", "feature", "number", "", "2"});
  expect_row(html, {"&lt;b&gt;", "target", "classes", "2", ""});  // an older qw did not count
}

TEST(TrainingSection, RunsAreThinAndTheChosenEpochIsMarked) {
  RunRecord record = classes_record(2);
  record.epochs = {{{"loss", {4, 3, 2}},
                    {"val_loss", {5, 4, 6}},
                    {"train", {0, 0.5, 1}},
                    {"val", {0, 1, 0}},
                    {"test", {0, 0, 0}}},
                   {{"loss", {2, 1, 0, 0}},
                    {"val_loss", {3, 2, 1, 4}},
                    {"train", {0, 1, 1, 1}},
                    {"val", {0, 0, 1, 0.5}},
                    {"test", {0, 0, 0, 0}}}};
  const std::string html = page_of(record, add_training);
  EXPECT_THAT(html,
              HasSubstr("Early stopping (patience 2) ended 1 of 2 runs before epoch 4. A step took 2.5 ms"));
  const std::vector<ordered_json> charts = charts_of(html);
  ASSERT_EQ(charts.size(), 1u);
  const ordered_json loss = charts[0][1]["series"];
  ASSERT_EQ(loss.size(), 7u) << "means and two runs of both parts, and the marks";
  EXPECT_EQ(loss[0]["y"], (ordered_json{3, 2, 1})) << "the mean, as far as all runs came";
  EXPECT_EQ(loss[1]["y"], (ordered_json{4, 3, 2}));
  EXPECT_EQ(loss[6]["name"], "chosen epoch");
  EXPECT_EQ(loss[6]["x"], (ordered_json{1, nullptr, 2, nullptr}));
  EXPECT_EQ(loss[6]["y"], (ordered_json{4, nullptr, 1, nullptr}));
  EXPECT_THAT(html, HasSubstr("stroke-width=\"0.8\" stroke-opacity"));
  record.summary["epochs"] = {4, 4};
  EXPECT_THAT(page_of(record, add_training), HasSubstr("ended none of 2 runs before epoch 4."));
  record.summary["step_ms"] = 1234;
  EXPECT_THAT(page_of(record, add_training), HasSubstr("A step took 1.23 s"));
  record.summary["config"]["learn"]["patience"] = 0;
  EXPECT_THAT(page_of(record, add_training), HasSubstr("Without early stopping: 4 epochs."));
}

TEST(TransportSection, OneSentenceWithoutFlow) {
  EXPECT_THAT(page_of(classes_record(), add_transport), HasSubstr("The solver ce learns no flow"));
}

TEST(ReproducingSection, NamesTheMachine) {
  const std::string html = page_of(classes_record(), add_reproducing);
  for (const char* part : {"qw train", "<dd>Fast &lt;CPU&gt;</dd>", "<dt>cores</dt><dd>2</dd>",
                           "<dd>g++ 12</dd>", "<td>bb</td>"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, Not(HasSubstr("<dt>GPU</dt>"))) << "there was none";
}

}  // namespace
}  // namespace qw
