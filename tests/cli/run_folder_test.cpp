// A training knows what it was trained on: small CSV files, changed between training and use.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;
using testing::HasSubstr;
using Row = std::map<std::string, std::string>;

// Sixty people in a ring with chords: an age, a city, a pay that is missing now and then, and a team, which
// every fifth one keeps to himself.
std::vector<Row> people() {
  std::vector<Row> rows;
  const char* cities[] = {"Bonn", "Lyon", "Oslo"};
  for (int i = 0; i < 60; ++i) {
    rows.push_back({{"id", fmt::format("p{}", i)},
                    {"age", fmt::format("{}", 20 + (7 * i) % 45)},
                    {"city", cities[(i / 4) % 3]},
                    {"pay", i % 9 == 4 ? "" : fmt::format("{}.5", 1000 + 13 * i)},
                    {"team", i % 5 == 4 ? ""
                             : i < 30   ? "red"
                                        : "blue"}});
  }
  return rows;
}

std::vector<std::pair<std::string, std::string>> friends() {
  std::vector<std::pair<std::string, std::string>> edges;
  for (int i = 0; i < 60; ++i) {
    edges.emplace_back(fmt::format("p{}", i), fmt::format("p{}", (i + 1) % 60));
    if (i % 3 == 0) edges.emplace_back(fmt::format("p{}", i), fmt::format("p{}", (i + 7) % 60));
  }
  return edges;
}

const std::vector<std::string> kColumns = {"id", "age", "city", "pay", "team"};

std::string nodes_csv(const std::vector<Row>& rows, const std::vector<std::string>& columns = kColumns) {
  std::string text = join(columns, ",") + "\n";
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(row.contains(column) ? row.at(column) : "");
    text += join(cells, ",") + "\n";
  }
  return text;
}

std::string edges_csv(const std::vector<std::pair<std::string, std::string>>& edges) {
  std::string text = "from,to\n";
  for (const auto& [from, to] : edges) text += from + "," + to + "\n";
  return text;
}

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    write_data(people());
    out_ = (folder_.path() / "run").string();
  }

  void write_data(const std::vector<Row>& rows, const std::vector<std::string>& columns = kColumns) {
    folder_.write("nodes.csv", nodes_csv(rows, columns));
    folder_.write("edges.csv", edges_csv(friends()));
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  CommandResult try_train(const Arguments& more) {
    Arguments arguments{"train",    "--edges", file("edges.csv"), "--nodes", file("nodes.csv"),
                        "--target", "team",    "--epochs",        "30"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return qw(arguments);
  }
  void train(const Arguments& more = {}) {
    Arguments arguments{"--out", out_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = try_train(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  // Rows of `qw predict` by id; `more` may name other data.
  std::map<std::string, json> predict(const Arguments& more = {}, std::string* remarks = nullptr) {
    Arguments arguments{"predict", out_, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = qw(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (remarks != nullptr) *remarks = result.err;
    std::map<std::string, json> rows;
    if (result.exit_code != 0) return rows;
    const json document = json::parse(result.out);
    for (const json& row : document.at("predictions")) rows[row.at("id").get<std::string>()] = row;
    EXPECT_FALSE(rows.empty());
    return rows;
  }

  std::map<std::string, json> predict_on(const std::vector<Row>& rows,
                                         const std::vector<std::string>& columns,
                                         std::string* remarks = nullptr) {
    folder_.write("other_nodes.csv", nodes_csv(rows, columns));
    return predict({"--edges", file("edges.csv"), "--nodes", file("other_nodes.csv")}, remarks);
  }

  test::TemporaryFolder folder_;
  std::string out_;
};

double red(const std::map<std::string, json>& rows, const std::string& id) {
  return rows.at(id).at("probability red").get<double>();
}

void expect_near(const std::map<std::string, json>& actual, const std::map<std::string, json>& expected,
                 double most) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [id, row] : expected) EXPECT_NEAR(red(actual, id), red(expected, id), most) << id;
}

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

TEST_F(RunFolder, RefittedFlowKeepsThePartsAndTakesNewLabels) {
  train({"--solver", "ce"});
  const std::string before = read_file(out_ + "/split.csv");
  std::vector<Row> rows = people();
  rows[4]["team"] = "blue";  // new
  rows[0]["team"] = "";      // gone
  write_data(rows);
  const std::string refitted = file("refitted");
  const CommandResult result = qw({"train", "--refit-flow", out_, "--out", refitted, "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> old_lines = split(before, '\n'),
                                 lines = split(read_file(refitted + "/split.csv"), '\n');
  for (size_t i = 1; i < 61; ++i) {
    const std::string expected = i == 1 ? "p0," : i == 5 ? "p4,train" : old_lines[i];
    EXPECT_EQ(lines[i], expected);
  }
  EXPECT_EQ(read_file(refitted + "/run-0/model.safetensors"), read_file(out_ + "/run-0/model.safetensors"));
  expect_refused(
      {"train", "--refit-flow", out_, "--model", "gat", "--quiet"}, 2,
      "qw train: --model does not go with --refit-flow: its network, its parts and its scales stay as "
      "they were learned");
  expect_refused({"train", "--refit-flow", out_, "--runs", "3", "--quiet"}, 2,
                 "qw: " + out_ + " has 1 runs, so --runs 3 is too many");
}

TEST_F(RunFolder, OnlyTrainingsOnTheSameDataAreCompared) {
  train({"--runs", "3"});
  const std::string second = file("second"), third = file("third");
  std::filesystem::create_directory(file("copy"));
  folder_.write("copy/e.csv", edges_csv(friends()));
  std::vector<Row> rows = people();
  std::reverse(rows.begin(), rows.end());
  folder_.write("copy/n.csv", nodes_csv(people(), {"team", "id", "pay", "city", "age"}));
  const CommandResult other_files =
      qw({"train", "--edges", file("copy/e.csv"), "--nodes", file("copy/n.csv"), "--target", "team",
          "--epochs", "30", "--runs", "3", "--solver", "ce", "--out", second, "--quiet"});
  ASSERT_EQ(other_files.exit_code, 0) << other_files.err;
  EXPECT_EQ(json_of({"compare", out_, second, "--json"}).at("comparisons")[0].at("pairs"), 3);
  rows = people();
  rows[0]["team"] = "blue";
  rows[1]["age"] = "99";
  write_data(rows);
  const CommandResult changed = try_train({"--runs", "3", "--out", third, "--quiet"});
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  expect_refused({"compare", out_, third}, 1,
                 "qw: " + out_ + " and " + third +
                     " were trained on different data (features, labels): they cannot be paired; train both "
                     "on the same");
}

TEST_F(RunFolder, OptionsThatWouldBeIgnoredAreErrors) {
  train();
  expect_refused({"train", "--resume", out_, "--lr", "0.5"}, 2,
                 "qw train: --lr does not go with --resume: a training goes on as it began");
  expect_refused({"train", "karate", "--resume", out_}, 2,
                 "qw train: --data does not go with --resume: a training goes on as it began");
  expect_refused({"train", "--resume", out_, "--out", "elsewhere"}, 2,
                 "qw train: --out does not go with --resume: a training goes on as it began");
  expect_refused({"predict", out_, "--nodes", file("nodes.csv")}, 2,
                 "qw: --nodes is about other data than the training's: name that with --edges or --data");
  expect_refused({"eval", out_, "--directed"}, 2,
                 "qw: --directed is about other data than the training's: name that with --edges or --data");
  const CommandResult features = qw({"predict", out_, "--edges", file("edges.csv"), "--features", "age"});
  EXPECT_EQ(features.exit_code, 2);
  EXPECT_THAT(features.err, HasSubstr("option '--features' is unknown"));
}

TEST_F(RunFolder, DamageIsNoticedByResumeAndADeletedManifestByAll) {
  train();
  const std::string model = out_ + "/run-0/model.safetensors", written = read_file(model);
  std::filesystem::remove(model);
  expect_refused({"train", "--resume", out_, "--quiet"}, 1,
                 "qw: " + model + ": cannot read: No such file or directory");
  write_file_atomically(model, written);
  std::filesystem::remove(out_ + "/manifest.json");
  for (const Arguments& use :
       {Arguments{"predict", out_, "--quiet"}, Arguments{"train", "--resume", out_, "--quiet"}})
    expect_refused(use, 1, "qw: " + out_ + "/manifest.json: cannot read: No such file or directory");
}

TEST_F(RunFolder, OfAnOlderQwIsReadWithARemark) {
  train();
  const auto expected = predict();
  json config = json::parse(read_file(out_ + "/config.json"));
  config["schema"] = 1;
  write_file_atomically(out_ + "/config.json", config.dump());
  for (const char* name :
       {"manifest.json", "schema.json", "split.csv", "trained_on.safetensors", "run-0/manifest.json"})
    std::filesystem::remove(out_ + "/" + name);
  std::string remarks;
  expect_near(predict({}, &remarks), expected, 0);
  EXPECT_THAT(
      remarks,
      HasSubstr(out_ + " was made by an older qw, which kept nothing of its data: that is taken as it "
                       "is now"));
  expect_refused({"train", "--refit-flow", out_, "--quiet"}, 1,
                 "qw: " + out_ +
                     " was made by an older qw, which did not keep who trained: its flow cannot be refitted; "
                     "train it anew");
}

// A child process that trains for long.
class Background {
 public:
  explicit Background(const Arguments& arguments, const std::string& errors) {
    child_ = fork();
    if (child_ != 0) return;
    FILE* file = freopen(errors.c_str(), "w", stderr);
    if (file == nullptr || freopen("/dev/null", "w", stdout) == nullptr) _exit(9);
    std::vector<char*> argv{const_cast<char*>("qw")};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(QW_PROGRAM, argv.data());
    _exit(9);
  }
  void send(int signal) const { kill(child_, signal); }
  int wait() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = -1;
};

bool appears(const std::string& file) {
  for (int k = 0; k < 600; ++k) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST_F(RunFolder, CtrlCKeepsWhatThereIsAndAnotherProcessIsRefused) {
  const Arguments arguments{"train",      "csbm:nodes=300,degree=6",
                            "--epochs",   "4000",
                            "--patience", "0",
                            "--solver",   "bregman",
                            "--out",      out_};
  const std::string errors = file("errors.txt");
  const Background background(arguments, errors);
  ASSERT_TRUE(appears(out_ + "/run-0/checkpoint.safetensors"));
  expect_refused(arguments, 1,
                 "qw: " + out_ + " is being written by another qw; wait for it, or choose another --out");
  background.send(SIGINT);
  EXPECT_EQ(background.wait(), 130);
  EXPECT_THAT(read_file(errors), HasSubstr("stopped; all that was learned is in " + out_ +
                                           "; go on with: qw train --resume " + out_));
  EXPECT_TRUE(std::filesystem::exists(out_ + "/run-0/checkpoint.safetensors"));
  const CommandResult resumed = qw({"train", "--resume", out_, "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string whole = file("whole");
  Arguments again = arguments;
  again.back() = whole;
  ASSERT_EQ(qw(again).exit_code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(whole + "/run-0")) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(read_file(out_ + "/run-0/" + name), read_file(entry.path())) << name;
  }
}

}  // namespace
}  // namespace qw
