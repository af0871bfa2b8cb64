// qw sweep, as people use it: to its end, interrupted, and several at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"
#include "qw/core/random.h"

extern char** environ;

namespace qw {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// The program at work, its errors in a file.
class Running {
 public:
  Running(std::vector<std::string> arguments, const std::filesystem::path& err) : err_(err) {
    arguments.insert(arguments.begin(), QW_PROGRAM);
    std::vector<char*> argv;
    for (std::string& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(posix_spawn(&process_, QW_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (alive()) kill_now();
  }

  bool alive() {
    if (!over_ && waitpid(process_, &status_, WNOHANG) == process_) over_ = true;
    return !over_;
  }

  // Whether it finished a training; by what it says, which may come a moment later.
  bool has_finished_one() const { return read_file(err_).find(" done, ") != std::string::npos; }

  // Whether it was still there to be killed.
  bool kill_now() {
    ::kill(process_, SIGKILL);
    return end() == 128 + SIGKILL;
  }

  int end() {
    if (!over_) waitpid(process_, &status_, 0);
    over_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  std::filesystem::path err_;
  pid_t process_ = 0;
  bool over_ = false;
  int status_ = 0;
};

class SweepCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult help = qw({"sweep", "--help"});
    const auto says = [&](const char* words) { return help.err.find(words) != std::string::npos; };
    if (says("built without LibTorch") || says("'sweep' is unknown")) {
      GTEST_SKIP() << "qw sweep needs LibTorch and SQLite";
    }
    ASSERT_EQ(help.exit_code, 0) << help.err;
  }

  // 18 configs with one run each, then 6 with 3 of them: 30 trainings. Three times as many runs: 90.
  std::string write_sweep(int64_t epochs, int64_t first_runs = 1) const {
    const json description{
        {"method", "ce"},
        {"each", {{"data", {kData}}, {"model", {"gcn"}}}},
        {"fixed", {{"epochs", epochs}, {"solver", "ce"}}},
        {"search", {{"lr", {0.001, 0.01, 0.1}}, {"hidden", {4, 8, 16}}, {"weight_decay", {0, 0.01}}}},
        {"strategy", "halving"},
        {"samples", 18},
        {"first_runs", first_runs},
        {"runs", 3 * first_runs}};
    return folder_.write("small.json", description.dump());
  }

  std::string store(const std::string& name) const { return folder_.path() / name; }
  std::string path(const std::string& name) const { return folder_.path() / name; }

  // NAME-nodes.csv and NAME-edges.csv of 31 nodes, the label of the last of which may differ.
  void write_people(const std::string& name, const char* last) const {
    std::string nodes = "id,x,y\n", edges = "from,to\n";
    for (int node = 0; node < 30; ++node) {
      nodes += fmt::format("{},{},{}\n", node, node % 7, node % 2 == 0 ? "a" : "b");
      edges += fmt::format("{},{}\n", node, (node + 2) % 30);
    }
    folder_.write(name + "-nodes.csv", nodes + "30,1," + last + "\n");
    folder_.write(name + "-edges.csv", edges + "30,1\n");
  }

  // All trainings, less the seconds they took, and the ranking of all.
  static std::string table(const std::string& store) {
    std::string text;
    for (const std::string& line : split(qw({"sweep", "export", store}).out, '\n')) {
      std::vector<std::string> fields = split(line, ',');
      constexpr size_t kSeconds = 7;
      if (fields.size() > kSeconds) fields.erase(fields.begin() + kSeconds);
      text += join(fields, ",") + "\n";
    }
    return text + qw({"sweep", "show", store, "--top", "100"}).out;
  }

  static constexpr const char* kData = "csbm:nodes=700,degree=8,features=16,classes=3,signal=0.5";
  test::TemporaryFolder folder_;
};

TEST_F(SweepCommand, AfterKillsTheTableIsThatOfAnUninterruptedSweep) {
  const std::string sweep = write_sweep(100, 3);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(qw({"sweep", sweep, "--store", store("whole.db"), "--threads", "2"}).exit_code, 0);
  const auto a_twentieth = (std::chrono::steady_clock::now() - begin) / 20;
  const std::string expected = table(store("whole.db"));
  EXPECT_THAT(expected, HasSubstr("\n18,0,"));

  const test::Arguments again{"sweep", sweep, "--store", store("killed.db"), "--threads", "2"};
  const RandomStream random(7, 0);
  int killed = 0, killed_at_work = 0;
  for (uint64_t attempt = 0; attempt < 8; ++attempt) {
    Running running(again, folder_.path() / "err");
    // By turns at any time, from its start on, and a little after it finished a training: much is left then.
    const bool at_work = attempt % 2 == 1;
    while (at_work && running.alive() && !running.has_finished_one()) std::this_thread::sleep_for(5ms);
    std::this_thread::sleep_for(random.uniform(attempt) * (at_work ? a_twentieth / 4 : a_twentieth));
    const bool was_at_work = running.has_finished_one();
    const bool hit = running.kill_now();
    killed += hit ? 1 : 0;
    killed_at_work += hit && was_at_work ? 1 : 0;
  }
  RecordProperty("killed", killed);
  RecordProperty("killed_at_work", killed_at_work);
  EXPECT_GE(killed, 5);
  EXPECT_GE(killed_at_work, 2);
  const CommandResult last = qw(again);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(table(store("killed.db")), expected);
  EXPECT_EQ(json_of({"sweep", "show", store("killed.db"), "--json"}),
            json_of({"sweep", "show", store("whole.db"), "--json"}));
}

TEST_F(SweepCommand, SeveralAtOnceEndWithTheSameTable) {
  const std::string sweep = write_sweep(60);
  ASSERT_EQ(qw({"sweep", sweep, "--store", store("one.db")}).exit_code, 0);
  {
    const test::Arguments together{"sweep", sweep, "--store", store("shared.db"), "--threads", "1"};
    Running first(together, folder_.path() / "first"), second(together, folder_.path() / "second"),
        third(together, folder_.path() / "third");
    EXPECT_EQ(first.end(), 0) << read_file(folder_.path() / "first");
    EXPECT_EQ(second.end(), 0) << read_file(folder_.path() / "second");
    EXPECT_EQ(third.end(), 0) << read_file(folder_.path() / "third");
  }
  EXPECT_EQ(table(store("shared.db")), table(store("one.db")));
}

TEST_F(SweepCommand, ShowsTheBestAndMakesPresetsOfThem) {
  const std::string sweep = write_sweep(5);
  const std::string db = store("s.db");
  const CommandResult result = qw({"sweep", sweep, "--store", db, "--samples", "4", "--runs", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(std::string(kData) + "/gcn/ce"));
  EXPECT_THAT(result.out, HasSubstr("--epochs 5"));
  const json shown = json_of({"sweep", "show", db, "--top", "9", "--json"});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].at("sweep"), "small");
  EXPECT_EQ(shown[0].at("finished"), true);
  EXPECT_EQ(shown[0].at("best").size(), 4U);
  const json& best = shown[0].at("best")[0];
  EXPECT_EQ(best.at("val").size(), 2U);

  const std::string page = store("page.html");
  EXPECT_EQ(qw({"sweep", "report", db, "--out", page}).out, page + "\n");
  const std::string html = read_file(page);
  for (const char* part : {"Sweep small", "the best of 4 choices is ", "Importance of each option"})
    EXPECT_THAT(html, HasSubstr(part));
  const std::string presets = folder_.write(
      "presets.json",
      R"({"b/gcn/ce": {"data": "b", "options": {"model": "gcn", "solver": "ce", "lr": 0.5}, "found_by": "hand"}})");
  for (int i = 0; i < 2; ++i) {  // the second time it reads what it wrote
    EXPECT_EQ(qw({"sweep", "presets", db, "--out", presets}).exit_code, 0);
    const json written = json::parse(read_file(presets));
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(written.at("b/gcn/ce").at("found_by"), "hand");
    const json& preset = written.at(std::string(kData) + "/gcn/ce");
    EXPECT_EQ(preset.at("options").at("epochs"), 5);
    EXPECT_EQ(preset.at("options").at("solver"), "ce");
    EXPECT_EQ(preset.at("data"), kData);
    EXPECT_FALSE(preset.at("options").contains("data"));
    EXPECT_THAT(preset.at("found_by").get<std::string>(), HasSubstr("sweep small: validation "));
    EXPECT_THAT(preset.at("found_by").get<std::string>(), HasSubstr(" over 2 runs"));
  }
  const std::string csv = folder_.path() / "all.csv";
  EXPECT_EQ(qw({"sweep", "export", db, "--out", csv, "--quiet"}).out, "");
  EXPECT_EQ(read_file(csv), qw({"sweep", "export", db}).out);
  EXPECT_EQ(split(trim(read_file(csv)), '\n').size(), 1U + 4 + 2)
      << "four runs, and one more of the better two";
}

TEST_F(SweepCommand, NarrowedSweepsOfOneFileAddUp) {
  const std::string sweep =
      folder_.write("two.json", R"({"each": {"data": ["karate"], "model": ["gcn", "mlp"]},
      "fixed": {"epochs": 3, "solver": "ce", "split": "random:train=0.5,val=0.25"}, "search": {"lr": [0.01, 0.1]}, "runs": 1})");
  const std::string db = store("s.db");
  const CommandResult first = qw({"sweep", sweep, "--store", db, "--model", "mlp"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("karate/mlp"));
  EXPECT_THAT(first.out, ::testing::Not(HasSubstr("gcn")));
  const std::string half = qw({"sweep", "show", db}).out;
  EXPECT_THAT(half, HasSubstr("karate/mlp"));
  EXPECT_THAT(half, HasSubstr("\n1 of 2 searches have not begun\n"));
  EXPECT_EQ(qw({"sweep", sweep, "--store", db, "--model", "gcn", "--data", "karate"}).exit_code, 0);
  EXPECT_EQ(json::parse(qw({"sweep", "presets", db}).out).size(), 2U);
}

TEST_F(SweepCommand, OfSeveralFilesTheBetterPresetIsTaken) {
  for (const auto& [name, epochs] : {std::pair{"weak", 1}, {"strong", 60}}) {
    const std::string sweep = folder_.write(
        std::string(name) + ".json",
        R"({"each": {"data": ["karate"], "model": ["gcn"]}, "fixed": {"solver": "ce", "lr": 0.05,
        "split": "random:train=0.5,val=0.25", "epochs": )" +
            std::to_string(epochs) + "}, \"search\": {}, \"runs\": 4}");
    EXPECT_EQ(qw({"sweep", sweep, "--store", store(std::string(name) + ".db")}).exit_code, 0);
  }
  const std::string weak = store("weak.db"), strong = store("strong.db");
  const auto validation = [&](const std::string& db) {
    const std::vector<double> runs = json_of({"sweep", "show", db, "--json"})[0].at("best")[0].at("val");
    return std::accumulate(runs.begin(), runs.end(), 0.0);
  };
  ASSERT_LT(validation(weak), validation(strong));
  for (const auto& [first, second] : {std::pair{weak, strong}, {strong, weak}}) {
    const json presets = json_of({"sweep", "presets", first, second});
    ASSERT_EQ(presets.size(), 1U);
    EXPECT_THAT(presets.front().at("found_by").get<std::string>(), HasSubstr("sweep strong: "));
  }
}

TEST_F(SweepCommand, PresetsOfOtherDataAreNotMixed) {
  write_people("people", "a");
  const std::string edges = path("people-edges.csv"), one = store("one.db"), other = store("other.db");
  for (const auto& [db, directed] : {std::pair{one, false}, std::pair{other, true}}) {
    const json load{
        {"edges", edges}, {"nodes", path("people-nodes.csv")}, {"target", "y"}, {"directed", directed}};
    const json description{{"each", {{"data", {{{"what", ""}, {"load", load}}}}, {"model", {"gcn"}}}},
                           {"fixed", {{"epochs", 1}, {"solver", "ce"}}},
                           {"search", json::object()},
                           {"runs", 1}};
    const CommandResult result = qw({"sweep", folder_.write("s.json", description.dump()), "--store", db});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  expect_refused(
      {"sweep", "presets", one, other}, 2,
      fmt::format("qw sweep: {0}/gcn in {1} is of other data than the {0}/gcn before it: two presets "
                  "cannot bear one name; make those of each alone",
                  edges, other));
}

TEST_F(SweepCommand, SaysWhyOptionsFailed) {
  const std::string sweep =
      folder_.write("bad.json", R"({"each": {"data": ["karate"]}, "fixed": {"epochs": 9, "solver": "ce",
      "layers": 5, "split": "random:train=0.5,val=0.25"}, "search": {"lr": [1e12]}, "runs": 1})");
  expect_refused({"sweep", sweep, "--store", store("s.db"), "--samples", "3"}, 2,
                 "qw sweep: " + sweep + " is a grid, which has no samples");
  const CommandResult result = qw({"sweep", sweep, "--store", store("s.db")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("qw sweep: karate: all its options failed, the first with: epoch 0: "));
  EXPECT_THAT(result.out, HasSubstr("failed"));
  EXPECT_THAT(result.out, HasSubstr("is not finite"));
  const CommandResult presets = qw({"sweep", "presets", store("s.db")});
  EXPECT_EQ(json::parse(presets.out), json::object());
  EXPECT_EQ(presets.err, store("s.db") + ": karate gives no preset: all its options failed\n");
}

TEST_F(SweepCommand, SaysWhatIsWrong) {
  expect_refused({"sweep"}, 2, "qw sweep: say which: a JSON file, or a name (see qw sweep --help)");
  const CommandResult unknown = qw({"sweep", "nix"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err,
              HasSubstr("qw sweep: there is no file 'nix', nor a sweep of this name that came with qw: "));
  for (const char* name : {"ce", "ce-lpa", "ce-spectral", "qw", "appendix-qw"})
    EXPECT_THAT(unknown.err, HasSubstr(name));
  const std::string missing = store("missing.db");
  for (const char* reader : {"show", "export", "presets", "report"}) {
    const CommandResult result = qw({"sweep", reader, missing});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("qw sweep: there is no file '"));
    EXPECT_FALSE(std::filesystem::exists(missing));
  }
  // What is refused leaves no file of results.
  const std::string sweep = write_sweep(1);
  expect_refused({"sweep", sweep, "--store", missing, "--data", "cora"}, 2,
                 std::string("qw sweep: --data 'cora' is not in this sweep, which has ") + kData);
  expect_refused({"sweep", sweep, "--store", missing, "--model", "gat"}, 2,
                 "qw sweep: --model 'gat' is not in this sweep, which has gcn");
  const std::string bad = folder_.write("bad.json", "{\n\"each\" 3}");
  expect_refused({"sweep", bad, "--store", missing}, 2, "qw: " + bad + ":2: is no JSON from here on");
  const std::string empty = folder_.write("empty.json", "{}");
  expect_refused({"sweep", empty, "--store", missing}, 2, "qw: " + empty + ": \"each\" names no \"data\"");
  expect_refused({"sweep", sweep, "--store", missing, "--device", "gpu"}, 2,
                 "qw: --device 'gpu' is unknown; known: cpu, cuda, cuda:0, ...");
  EXPECT_FALSE(std::filesystem::exists(missing));
  expect_refused({"sweep", "show", sweep}, 1, "qw: " + sweep + ": file is not a database");
}

TEST_F(SweepCommand, StoresThatAreNoneAreRefused) {
  const std::string sweep = write_sweep(1);
  expect_refused({"sweep", "postgresql://ada:secret@host/db"}, 2,
                 "qw sweep: postgresql://ada@host/db is a store of results: qw sweep show reads it, and "
                 "--store takes it");
  expect_refused({"sweep", sweep, "--store", "mysql://ada:secret@host/db"}, 2,
                 "qw: results are kept in a file or in PostgreSQL (postgresql://host/database), not in "
                 "'mysql://'");
  const CommandResult unknown = qw({"sweep", "show", "postgresql://ada:secret@nowhere.invalid/db"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, ::testing::StartsWith("qw: postgresql://ada@nowhere.invalid/db: "));
  EXPECT_THAT(unknown.err, ::testing::Not(HasSubstr("secret")));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"sweep", "show"}, {"sweep"}, {"sweep", sweep, "--store"}}) {
    std::vector<std::string> whole = command;
    whole.push_back("postgresql://ada:sec@ret@host/db");
    expect_refused(
        whole, 2,
        "qw: postgresql://...: has an @ too many; in names and passwords @ is written %40, / %2F and ? "
        "%3F");
  }
}

TEST_F(SweepCommand, DataMayLieElsewhereIfItIsTheSame) {
  write_people("one", "a");
  write_people("two", "a");
  write_people("other", "b");
  const json description{
      {"each",
       {{"data",
         {{{"what", ""},
           {"load", {{"edges", path("one-edges.csv")}, {"nodes", "people.csv"}, {"target", "y"}}}}}}}},
      {"fixed", {{"epochs", 2}, {"solver", "ce"}, {"split", "random:train=0.5,val=0.25"}}},
      {"search", {{"lr", {0.01, 0.1}}}},
      {"runs", 1}};
  const std::string sweep = folder_.write("own.json", description.dump());
  const auto run = [&](const std::string& data_at, const std::string& runs) {
    return qw({"sweep", sweep, "--store", store("s.db"), "--runs", runs, "--data-at", data_at});
  };
  CommandResult result = run("people.csv=" + path("one-nodes.csv"), "1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  result = run(
      "people.csv=" + path("two-nodes.csv") + "," + path("one-edges.csv") + "=" + path("two-edges.csv"), "2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  result = run("people.csv=" + path("other-nodes.csv"), "3");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("its labels differ; use the same files, or another store\n"));
  const CommandResult unknown = run("nobody.csv=x", "1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err, "qw sweep: --data-at 'nobody.csv': no data has this name\n");
  EXPECT_EQ(run("people.csv", "1").err, "qw sweep: --data-at wants NAME=PATH, not 'people.csv'\n");
  EXPECT_EQ(run("a=b,a=c", "1").err, "qw sweep: --data-at has 'a' twice\n");
}

TEST_F(SweepCommand, HelpNamesTheSweepsThatCameWithQw) {
  const std::string help = qw({"sweep", "--help"}).out;
  for (const char* part :
       {"ce-spectral", "--store", "--first-runs", "show", "export", "presets", "Repeat a command"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

}  // namespace
}  // namespace qw
