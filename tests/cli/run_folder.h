// Small CSV files and a training on them, for tests that change the files between training and use.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw::test {

using nlohmann::json;
using Row = std::map<std::string, std::string>;

// Sixty people in a ring with chords: an age, a city, a pay that is missing now and then, and a team, which
// every fifth one keeps to himself.
inline std::vector<Row> people() {
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

inline std::vector<std::pair<std::string, std::string>> friends() {
  std::vector<std::pair<std::string, std::string>> edges;
  for (int i = 0; i < 60; ++i) {
    edges.emplace_back(fmt::format("p{}", i), fmt::format("p{}", (i + 1) % 60));
    if (i % 3 == 0) edges.emplace_back(fmt::format("p{}", i), fmt::format("p{}", (i + 7) % 60));
  }
  return edges;
}

inline const std::vector<std::string> kColumns = {"id", "age", "city", "pay", "team"};

inline std::string nodes_csv(const std::vector<Row>& rows,
                             const std::vector<std::string>& columns = kColumns) {
  std::string text = join(columns, ",") + "\n";
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(row.contains(column) ? row.at(column) : "");
    text += join(cells, ",") + "\n";
  }
  return text;
}

inline std::string edges_csv(const std::vector<std::pair<std::string, std::string>>& edges) {
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

  TemporaryFolder folder_;
  std::string out_;
};

inline double red(const std::map<std::string, json>& rows, const std::string& id) {
  return rows.at(id).at("probability red").get<double>();
}

inline void expect_near(const std::map<std::string, json>& actual,
                        const std::map<std::string, json>& expected, double most) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [id, row] : expected) EXPECT_NEAR(red(actual, id), red(expected, id), most) << id;
}

}  // namespace qw::test
