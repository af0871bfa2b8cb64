#include "report/run_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "core/file.h"
#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNames{"loss", "accuracy/val"};

std::vector<std::string> event_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) {
    const std::string name = each.path().filename().string();
    if (name.find("tfevents") != std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(RunLog, GrowsEpochByEpoch) {
  const test::TemporaryFolder folder;
  const fs::path run = folder.path() / "logs" / "run-0";
  EXPECT_FALSE(has_run_log(run));
  RunLog log(run, kNames, "| a | b |", {});
  EXPECT_TRUE(has_run_log(run));
  EXPECT_EQ(read_file(run / kMetricsTable), "epoch,loss,accuracy/val\n");
  ASSERT_EQ(event_files(run).size(), 1U);
  const fs::path events = run / event_files(run)[0];
  uintmax_t size = fs::file_size(events);
  log.add({0, {0.1, 0.25}});
  EXPECT_EQ(read_file(run / kMetricsTable), "epoch,loss,accuracy/val\n0,0.1,0.25\n");
  EXPECT_GT(fs::file_size(events), size) << "to be seen at once";
  size = fs::file_size(events);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  log.add({1, {nan, nan}});
  EXPECT_EQ(fs::file_size(events), size) << "there is nothing to say";
  log.add({2, {1.0 / 3, nan}});
  EXPECT_EQ(read_file(run / kMetricsTable),
            "epoch,loss,accuracy/val\n0,0.1,0.25\n1,,\n2,0.3333333333333333,\n");
}

TEST(RunLog, OneThatGoesOnRepeatsNoEpoch) {
  const test::TemporaryFolder folder;
  const std::vector<LoggedEpoch> epochs{{0, {3, 1}}, {1, {2, 2}}, {2, {1, 3}}};
  {
    RunLog killed(folder.path(), kNames, "", {});
    for (const LoggedEpoch& epoch : epochs) killed.add(epoch);
  }
  const std::vector<std::string> before = event_files(folder.path());
  RunLog log(folder.path(), kNames, "", {epochs.begin(), epochs.begin() + 1});
  log.add(epochs[1]);
  EXPECT_EQ(read_file(folder.path() / kMetricsTable), "epoch,loss,accuracy/val\n0,3,1\n1,2,2\n");
  const std::vector<std::string> after = event_files(folder.path());
  ASSERT_EQ(after.size(), 2U) << "a TensorBoard that watches the first one needs it";
  EXPECT_EQ(after[0], before[0]) << "and goes on to what comes later by its name";
}

TEST(RunLog, WhatCannotBeWrittenIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_EQ(test::error_of([&] { RunLog(folder.path() / "file" / "run-0", kNames, "", {}); }),
            (folder.path() / "file/run-0").string() + ": cannot make this folder: Not a directory");
  fs::create_directories(folder.path() / "run-0" / kMetricsTable);
  EXPECT_THAT(test::error_of([&] { RunLog(folder.path() / "run-0", kNames, "", {}); }),
              testing::HasSubstr("metrics.csv: cannot write: it exists and is no regular file"));
}

}  // namespace
}  // namespace qw
