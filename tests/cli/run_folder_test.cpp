// A training knows what it was trained on: small CSV files, changed between training and use.
#include "cli/run_folder.h"

#include <random>

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::edges_csv;
using test::expect_near;
using test::friends;
using test::json_of;
using test::kColumns;
using test::nodes_csv;
using test::people;
using test::qw;
using test::red;
using test::Row;
using test::RunFolder;
using testing::HasSubstr;

TEST_F(RunFolder, HoldsSchemaSplitFingerprintVersionAndCommand) {
  train({"--runs", "2"});
  const json schema = json::parse(read_file(out_ + "/schema.json"));
  EXPECT_EQ(schema.at("schema"), 1);
  EXPECT_FALSE(schema.at("qw").get<std::string>().empty());
  EXPECT_THAT(schema.at("command").get<std::string>(), testing::StartsWith("qw train --edges "));
  const json& columns = schema.at("data").at("columns");
  ASSERT_EQ(columns.size(), 5U);
  EXPECT_EQ(columns[1].at("name"), "age");
  EXPECT_EQ(columns[1].at("type"), "number");
  EXPECT_EQ(columns[2].at("values"), (std::vector<std::string>{"Bonn", "Lyon", "Oslo"}));
  double sum = 0, count = 0;
  for (const Row& row : people()) {
    if (row.at("pay").empty()) continue;
    sum += std::stod(row.at("pay"));
    ++count;
  }
  EXPECT_NEAR(columns[3].at("fill").get<double>(), sum / count, 1e-9);
  EXPECT_EQ(schema.at("data").at("ids"), "column");
  EXPECT_EQ(schema.at("data").at("target").at("names"), (std::vector<std::string>{"blue", "red"}));
  EXPECT_EQ(schema.at("data").at("target").at("task"), "classification");
  EXPECT_EQ(schema.at("scaling").at("mean").size(), 5U);
  for (const char* part : {"graph", "features", "labels"})
    EXPECT_EQ(schema.at("fingerprint").at(part).get<std::string>().size(), 64U);
  const std::vector<std::string> lines = split(read_file(out_ + "/split.csv"), '\n');
  EXPECT_EQ(lines[0], "id,run_0,run_1");
  ASSERT_EQ(lines.size(), 62U);
  for (int i = 0; i < 60; ++i) {
    const std::vector<std::string> cells = split(lines[i + 1], ',');
    EXPECT_EQ(cells[0], fmt::format("p{}", i));
    EXPECT_EQ(cells[1].empty(), i % 5 == 4) << i;
  }
  // It is a --split-file as well.
  const CommandResult again = try_train({"--split-file", out_ + "/split.csv", "--quiet"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(RunFolder, ColumnsAreFoundByNameInAnyOrder) {
  train();
  const auto expected = predict();
  std::string remarks;
  const auto swapped = predict_on(people(), {"pay", "team", "city", "id", "age"}, &remarks);
  expect_near(swapped, expected, 0);
  EXPECT_THAT(remarks, testing::Not(HasSubstr("differ")));
}

TEST_F(RunFolder, ExtraColumnsAreLeftOutWithARemark) {
  train();
  const auto expected = predict();
  std::vector<Row> rows = people();
  for (Row& row : rows) row["shoe"] = "43";
  std::string remarks;
  expect_near(predict_on(rows, {"shoe", "id", "age", "city", "pay", "team"}, &remarks), expected, 0);
  EXPECT_THAT(remarks, HasSubstr("column 'shoe' is left out: the training did not have it"));
}

TEST_F(RunFolder, AMissingColumnIsAnErrorThatNamesIt) {
  train();
  folder_.write("other_nodes.csv", nodes_csv(people(), {"id", "city", "pay"}));
  const CommandResult result =
      qw({"predict", out_, "--edges", file("edges.csv"), "--nodes", file("other_nodes.csv"), "--quiet"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no column 'age', which the training has as a feature"));
  const CommandResult without = qw({"predict", out_, "--edges", file("edges.csv"), "--quiet"});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err,
              HasSubstr("the training had 5, from a node table: give that of this data with --nodes"));
}

TEST_F(RunFolder, TextWhereNumbersWereIsAnErrorWithItsLine) {
  train();
  std::vector<Row> rows = people();
  rows[2]["age"] = "old";
  folder_.write("other_nodes.csv", nodes_csv(rows));
  const CommandResult result =
      qw({"predict", out_, "--edges", file("edges.csv"), "--nodes", file("other_nodes.csv"), "--quiet"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.err,
      HasSubstr("other_nodes.csv:4: 'old' in column 'age' is not a number, as all were in the training"));
}

TEST_F(RunFolder, AnUnseenCategoryCountsAsNone) {
  train({"--model", "mlp", "--solver", "ce"});
  std::vector<Row> rows = people(), none = people();
  rows[0]["city"] = "Aachen";  // before all others in the alphabet
  none[0]["city"] = "";
  std::string remarks;
  const auto actual = predict_on(rows, kColumns, &remarks);
  EXPECT_THAT(remarks, HasSubstr("1 cell has a category that the training did not know, such as 'Aachen'"));
  EXPECT_THAT(remarks, HasSubstr("the features of 1 node differ from the training's"));
  expect_near(actual, predict_on(none, kColumns), 0);
}

TEST_F(RunFolder, FillsAndScalesAreTheTrainings) {
  train({"--model", "mlp", "--solver", "ce"});
  const auto expected = predict();
  // Alone in its file a node would be the mean of all columns.
  for (const int who : {0, 4, 31}) {
    const std::string id = fmt::format("p{}", who);
    folder_.write("one.csv", nodes_csv({people()[who]}));
    folder_.write("no_edges.csv", "from,to\n");
    const auto alone = predict({"--edges", file("no_edges.csv"), "--nodes", file("one.csv")});
    EXPECT_NEAR(red(alone, id), red(expected, id), 1e-6) << who;
  }
}

TEST_F(RunFolder, OtherDataNeedsNoFileOfTheTraining) {
  train();
  const auto expected = predict();
  std::filesystem::rename(file("nodes.csv"), file("moved_nodes.csv"));
  std::filesystem::rename(file("edges.csv"), file("moved_edges.csv"));
  const auto actual = predict({"--edges", file("moved_edges.csv"), "--nodes", file("moved_nodes.csv")});
  expect_near(actual, expected, 0);
  const CommandResult gone = qw({"predict", out_, "--quiet"});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(
      gone.err,
      HasSubstr("this is the training's data as it is now: --edges and --nodes, or --data, name other"));
}

TEST_F(RunFolder, NewNodesGetTheNetworksWord) {
  train({"--solver", "bregman", "--lambda", "10"});
  const auto before = predict();
  std::vector<Row> rows = people();
  rows.insert(rows.begin(), Row{{"id", "zoe"}, {"age", "33"}, {"city", "Oslo"}, {"pay", "1200.5"}});
  auto edges = friends();
  edges.emplace_back("zoe", "p5");
  folder_.write("other_nodes.csv", nodes_csv(rows));
  folder_.write("other_edges.csv", edges_csv(edges));
  std::string remarks;
  const auto after =
      predict({"--edges", file("other_edges.csv"), "--nodes", file("other_nodes.csv")}, &remarks);
  EXPECT_THAT(remarks, HasSubstr("1 edge and 1 node differ from the training's"));
  EXPECT_EQ(after.at("zoe").at("part"), "new");
  EXPECT_EQ(after.at("zoe").at("transport red"), 0.0);
  double moved = 0;
  for (const auto& [id, row] : before) {
    EXPECT_NEAR(after.at(id).at("transport red").get<double>(), row.at("transport red").get<double>(), 1e-5)
        << id;
    EXPECT_EQ(after.at(id).at("part"), row.at("part")) << id;
    moved += std::fabs(row.at("transport red").get<double>());
  }
  EXPECT_GT(moved, 0.1);
}

TEST_F(RunFolder, ClassesMatchByNameAndNewOnesAreLeftOutOfMetrics) {
  train();
  const json before = json_of({"eval", out_, "--json", "--quiet"});
  std::vector<Row> rows = people();
  int64_t amber = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % 10 != 0) continue;
    rows[i]["team"] = "amber";  // first in the alphabet: all numbers would shift
    ++amber;
  }
  write_data(rows);
  const CommandResult after = qw({"eval", out_, "--json"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_THAT(after.err, HasSubstr(fmt::format(
                             "{} nodes are of class 'amber', which the training does not know", amber)));
  EXPECT_THAT(after.err, HasSubstr(fmt::format("{} labels differ from the training's", amber)));
  const json measured = json::parse(after.out);
  int64_t nodes_before = 0, nodes_after = 0;
  for (const char* part : {"train", "val", "test"}) {
    nodes_before += before.at("nodes").at(part).get<int64_t>();
    nodes_after += measured.at("nodes").at(part).get<int64_t>();
  }
  EXPECT_EQ(nodes_before - amber, nodes_after);
  for (const auto& [id, row] : predict()) EXPECT_NE(row.at("prediction"), "amber");
}

TEST_F(RunFolder, ANodeThatTrainedIsNeverATestNode) {
  train();
  const json before = json_of({"eval", out_, "--json", "--quiet"});
  std::vector<Row> rows = people();
  int64_t labelled = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]["team"].empty()) continue;
    rows[i]["team"] = i < 30 ? "red" : "blue";
    ++labelled;
  }
  write_data(rows);
  const CommandResult after = qw({"eval", out_, "--json"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_THAT(after.err, HasSubstr("12 labels differ from the training's"));
  EXPECT_THAT(after.err, HasSubstr("since: 12 nodes got a label after the training"));
  const json measured = json::parse(after.out);
  for (const char* part : {"train", "val", "test"}) {
    EXPECT_EQ(measured.at("nodes").at(part), before.at("nodes").at(part));
    EXPECT_EQ(measured.at(part), before.at(part));
  }
  EXPECT_EQ(measured.at("nodes").at("since"), labelled);
  double right = 0;
  for (const auto& [id, row] : predict()) {
    const int i = std::stoi(id.substr(1));
    right += i % 5 == 4 && row.at("prediction") == (i < 30 ? "red" : "blue");
  }
  EXPECT_DOUBLE_EQ(measured.at("since").at("accuracy").get<double>(), right / static_cast<double>(labelled));
  EXPECT_THAT(qw({"eval", out_, "--quiet"}).out, HasSubstr("since"));
}

TEST_F(RunFolder, NothingToMeasureIsAnError) {
  train();
  write_data(people(), {"id", "age", "city", "pay"});
  const CommandResult result = qw({"eval", out_, "--quiet"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              HasSubstr("no node has a label that the training knows, so that there is nothing to measure"));
}

TEST_F(RunFolder, TruthsStayTruths) {
  std::vector<Row> rows = people();
  for (size_t i = 0; i < rows.size(); ++i) rows[i]["member"] = i % 3 == 0 ? "yes" : "no";
  const std::vector<std::string> columns{"id", "age", "city", "pay", "member", "team"};
  write_data(rows, columns);
  train({"--model", "mlp", "--solver", "ce"});
  const auto expected = predict();
  std::vector<Row> numbers = rows, wrong = rows;
  for (Row& row : numbers) row["member"] = row["member"] == "yes" ? "1" : "0";
  expect_near(predict_on(numbers, columns), expected, 0);
  const auto refusal = [&](const char* yes, const char* no) {
    for (Row& row : wrong) row["member"] = row["member"] == "yes" || row["member"] == "Y" ? yes : no;
    folder_.write("other_nodes.csv", nodes_csv(wrong, columns));
    return qw({"predict", out_, "--edges", file("edges.csv"), "--nodes", file("other_nodes.csv"), "--quiet"})
        .err;
  };
  EXPECT_THAT(refusal("Y", "N"),
              HasSubstr("'Y' in column 'member' is neither true nor false, as all were in the training"));
  EXPECT_THAT(refusal("5", "0"),
              HasSubstr("column 'member' has '5', where the training had only true and false"));
}

TEST_F(RunFolder, ShuffledRowsMoveNothing) {
  train({"--solver", "bregman", "--lambda", "10"});
  const auto expected = predict();
  std::vector<Row> rows = people();
  std::mt19937 random(3);
  std::shuffle(rows.begin(), rows.end(), random);
  write_data(rows);
  std::string remarks;
  expect_near(predict({}, &remarks), expected, 1e-6);
  EXPECT_THAT(remarks, testing::Not(HasSubstr("differ")));
  const json why = json_of({"explain", out_, "--node", "p7", "--json", "--quiet"});
  for (const json& score : why.at("scores")) {
    if (score.at("class") != "red") continue;
    EXPECT_NEAR(score.at("transport").get<double>(), expected.at("p7").at("transport red").get<double>(),
                1e-5);
  }
  const CommandResult resumed = qw({"train", "--resume", out_, "--quiet"});
  EXPECT_EQ(resumed.exit_code, 1);
  EXPECT_THAT(resumed.err, HasSubstr("cannot go on: the nodes stand in another order than when it began"));
}

// Any permutation of rows, columns and the order in which categories occur leaves predictions as they are.
TEST_F(RunFolder, PermutationsLeavePredictionsTheSame) {
  for (const Arguments& how :
       {Arguments{"--solver", "bregman", "--lambda", "10"},
        Arguments{"--solver", "ce", "--model", "graphsage", "--scale-features", "columns"}}) {
    std::filesystem::remove_all(out_);
    write_data(people());
    train(how);
    const auto expected = predict();
    std::mt19937 random(11);
    for (int trial = 0; trial < 4; ++trial) {
      std::vector<Row> rows = people();
      std::vector<std::string> columns = kColumns;
      auto edges = friends();
      std::shuffle(columns.begin(), columns.end(), random);
      const bool same_order = trial == 0;
      if (!same_order) {
        std::shuffle(rows.begin(), rows.end(), random);
        std::shuffle(edges.begin(), edges.end(), random);
        for (auto& [from, to] : edges) {
          if (random() % 2 == 0) std::swap(from, to);
        }
      }
      folder_.write("other_nodes.csv", nodes_csv(rows, columns));
      folder_.write("other_edges.csv", edges_csv(edges));
      const auto actual = predict({"--edges", file("other_edges.csv"), "--nodes", file("other_nodes.csv")});
      expect_near(actual, expected, same_order ? 0 : 1e-6);
    }
  }
}

}  // namespace
}  // namespace qw
