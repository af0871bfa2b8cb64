// What else a run folder is used for: refitting, comparing, going on, folders of an older qw, interruptions.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cli/run_folder.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::edges_csv;
using test::expect_near;
using test::expect_refused;
using test::friends;
using test::json_of;
using test::nodes_csv;
using test::people;
using test::qw;
using test::Row;
using test::RunFolder;
using testing::HasSubstr;

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

TEST_F(RunFolder, PredictionsDoNotReplaceTheData) {
  train();
  const std::string edges = file("edges.csv"), nodes = file("nodes.csv"), before = read_file(nodes);
  for (const Arguments& command :
       {Arguments{"predict", out_, "--quiet", "--out", nodes},
        Arguments{"predict", out_, "--edges", edges, "--nodes", nodes, "--quiet", "--out", nodes}}) {
    expect_refused(command, 2,
                   "qw predict: --out " + nodes + " is a file of the data, which it would replace");
  }
  EXPECT_EQ(read_file(nodes), before);
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
