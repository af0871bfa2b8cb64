// qw train --log-dir: what is in the folder, and what is refused. TensorBoard itself reads it in
// python/tests/test_tensorboard.py.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::qw;
using test::TemporaryFolder;

Arguments train(const Arguments& more) {
  Arguments all{"train", "--data", "karate", "--epochs", "6", "--baselines", "none", "--quiet"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(TrainLog, MetricsCsvIsMetricsJsonlAsATable) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out", log = folder.path() / "log";
  ASSERT_EQ(qw(train({"--runs", "2", "--out", out, "--log-dir", log})).exit_code, 0);
  for (const char* run : {"run-0", "run-1"}) {
    const std::vector<std::string> rows = split(read_file(fs::path(log) / run / "metrics.csv"), '\n');
    const std::vector<std::string> lines = split(read_file(fs::path(out) / run / "metrics.jsonl"), '\n');
    EXPECT_EQ(rows.at(0), "epoch,loss,val_loss,accuracy/train,accuracy/val,accuracy/test");
    ASSERT_EQ(rows.size(), lines.size() + 1);
    for (size_t k = 0; k + 1 < lines.size(); ++k) {
      const json line = json::parse(lines[k]);
      const std::vector<std::string> cells = split(rows[k + 1], ',');
      const std::vector<const char*> names{"epoch", "loss", "val_loss", "train", "val", "test"};
      for (size_t c = 0; c < names.size(); ++c)
        EXPECT_EQ(std::stod(cells.at(c)), line.at(names[c]).get<double>()) << names[c];
    }
  }
}

TEST(TrainLog, NeedsNoOutAndChangesNoResult) {
  const TemporaryFolder folder;
  const CommandResult plain = qw(train({"--json"}));
  const CommandResult logged = qw(train({"--json", "--log-dir", folder.path() / "log"}));
  ASSERT_EQ(logged.exit_code, 0) << logged.err;
  EXPECT_EQ(json::parse(plain.out).at("test"), json::parse(logged.out).at("test"));
  EXPECT_EQ(split(read_file(folder.path() / "log/run-0/metrics.csv"), '\n').size(), 8U);
}

TEST(TrainLog, AFolderThatCannotBeWrittenIsRefusedBeforeTraining) {
  const TemporaryFolder folder;
  folder.write("file", "");
  const std::string log = folder.path() / "file" / "log";
  expect_refused(train({"--log-dir", log, "--epochs", "100000"}), 1,
                 "qw: " + log + ": cannot make this folder: Not a directory");
}

TEST(TrainLog, TheLogOfAnotherTrainingStays) {
  const TemporaryFolder folder;
  const std::string log = folder.path() / "log";
  ASSERT_EQ(qw(train({"--log-dir", log})).exit_code, 0);
  const std::string before = read_file(log + "/run-0/metrics.csv");
  const std::string refusal = "qw: " + log + " has the log of another training; choose another --log-dir";
  expect_refused(train({"--log-dir", log, "--hidden", "5"}), 1, refusal);
  EXPECT_EQ(read_file(log + "/run-0/metrics.csv"), before);
  EXPECT_EQ(qw(train({"--log-dir", log})).exit_code, 0) << "the same training, once more";
  EXPECT_EQ(read_file(log + "/run-0/metrics.csv"), before);
  // One that somebody else wrote.
  fs::remove(log + "/log.json");
  expect_refused(train({"--log-dir", log}), 1, refusal);
  // What lies beside it does not matter.
  EXPECT_EQ(qw(train({"--log-dir", log + "/another", "--hidden", "5"})).exit_code, 0);
}

TEST(TrainLog, GoesWithResume) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out", log = folder.path() / "log";
  ASSERT_EQ(qw(train({"--out", out})).exit_code, 0);
  const CommandResult resumed = qw({"train", "--resume", out, "--log-dir", log, "--quiet"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(split(read_file(log + "/run-0/metrics.csv"), '\n').size(), 8U);
}

TEST(TrainLog, AnEmptyNameIsAUsageError) {
  const CommandResult result = qw(train({"--log-dir", ""}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::HasSubstr("--log-dir"));
}

}  // namespace
}  // namespace qw
