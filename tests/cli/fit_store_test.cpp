// `qw fit --store`: several commands at once, on data where each machine has it.
#include <algorithm>
#include <future>

#include "cli/front_door.h"
#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::qw;
using ::testing::HasSubstr;

class FittingTogether : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult help = qw({"sweep", "--help"});
    if (help.exit_code != 0) GTEST_SKIP() << "stores need LibTorch and SQLite";
  }

  std::string path(const std::string& name) const { return folder_.path() / name; }

  // Two groups that are friends among themselves.
  void write_data(const std::string& name, const std::string& first_team = "red") const {
    std::string edges = "a,b\n", nodes = "id,age,team\n";
    for (int k = 0; k < 60; ++k) {
      edges += fmt::format("p{},p{}\np{},p{}\n", k, (k + 2) % 60, k, (k + 6) % 60);
      const std::string team = k == 0 ? first_team : k % 2 == 0 ? "red" : "blue";
      nodes += fmt::format("p{},{},{}\n", k, 20 + (7 * k + 10 * (k % 2)) % 40, team);
    }
    folder_.write(name + "-edges.csv", edges);
    folder_.write(name + "-nodes.csv", nodes);
  }

  Arguments fit(const std::string& data, const std::string& out, const Arguments& more) const {
    Arguments all{"fit",
                  "--edges",
                  path(data + "-edges.csv"),
                  "--nodes",
                  path(data + "-nodes.csv"),
                  "--target",
                  "team",
                  "--trials",
                  "18",
                  "--quiet",
                  "--out",
                  path(out)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(FittingTogether, EveryFolderIsThatOfOneAlone) {
  write_data("one");
  write_data("two");
  const CommandResult alone = qw(fit("one", "alone", {}));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  std::vector<std::future<CommandResult>> workers;
  for (const std::string name : {"a", "b", "c"}) {
    Arguments more{"--store", path("s.db"), "--threads", "1"};
    if (name == "c") {  // which has its data elsewhere
      more.insert(more.end(), {"--data-at", path("one-edges.csv") + "=" + path("two-edges.csv") + "," +
                                                path("one-nodes.csv") + "=" + path("two-nodes.csv")});
    }
    workers.push_back(std::async(std::launch::async, [=, this] { return qw(fit("one", name, more)); }));
  }
  for (size_t k = 0; k < workers.size(); ++k) {
    const CommandResult result = workers[k].get();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::filesystem::path folder = path(std::string(1, static_cast<char>('a' + k)));
    for (const char* file : {"predictions.csv", "ensemble.json", "run-0/model.safetensors"})
      EXPECT_TRUE(read_file(folder / file) == read_file(path("alone") + "/" + file)) << folder << " " << file;
    auto one = nlohmann::json::parse(read_file(folder / "fit.json"));
    auto other = nlohmann::json::parse(read_file(path("alone") + "/fit.json"));
    one.erase("seconds");
    other.erase("seconds");
    EXPECT_EQ(one, other);
    EXPECT_EQ(qw({"predict", folder.string(), "--quiet"}).out, read_file(folder / "predictions.csv"));
  }
  EXPECT_THAT(read_file(path("c") + "/run-0/config.json"), HasSubstr(path("two-nodes.csv")));
  const std::string exported = qw({"sweep", "export", path("s.db")}).out;
  EXPECT_EQ(std::count(exported.begin(), exported.end(), '\n'), 19) << "every training once";
}

TEST_F(FittingTogether, WhatCannotBeIsRefused) {
  write_data("one");
  write_data("other", "blue");
  const Arguments with_store{"--store", path("s.db")};
  const auto refused = [&](const Arguments& more, int code, const std::string& line) {
    expect_refused(fit("one", "out", more), code, line);
  };
  refused({"--data-at", "a=b"}, 2,
          "qw fit: --data-at is for workers that share a --store: name the files themselves");
  refused({"--store", path("s.db"), "--data-at", "people.csv=b"}, 2,
          "qw fit: --data-at 'people.csv': no data has this name");
  refused({"--store", path("s.db"), "--data-at", "people.csv"}, 2,
          "qw fit: --data-at wants NAME=PATH, not 'people.csv'");
  refused({"--store", "mysql://host/db"}, 2,
          "qw: results are kept in a file or in PostgreSQL (postgresql://host/database), not in 'mysql://'");
  refused({"--store", path("nowhere/s.db")}, 1,
          fmt::format("qw: {}: there is no folder {}; make it first", path("nowhere/s.db"), path("nowhere")));
  const std::string no_server = "postgresql://127.0.0.1:1/db",
                    no_store = folder_.write("no-store", "a text\n");
  for (const std::string& where : {no_server, no_store}) {
    const CommandResult result = qw(fit("one", "out", {"--store", where}));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, ::testing::StartsWith("qw: " + where + ": "));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  const CommandResult first = qw(fit("one", "first", with_store));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  Arguments moved = with_store;
  moved.insert(moved.end(), {"--data-at", path("one-nodes.csv") + "=" + path("other-nodes.csv")});
  refused(moved, 1,
          fmt::format("qw: {}: was begun with other data by the name '{}': its labels differ; use the same "
                      "files, or another store",
                      path("s.db"), path("one-edges.csv")));
}

}  // namespace
}  // namespace qw
