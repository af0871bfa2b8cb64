// Attacks on memory, files and the command line: each ends in one clear line.
#include <gmock/gmock.h>

#include <fstream>

#include "cli/program.h"
#include "core/file.h"
#include "data/formats/gzip.h"
#include "data/formats/zip.h"

namespace qw {
namespace {

using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::qw;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kMapsTerabytes = true;  // for its shadow, whatever ulimit -v says
#else
constexpr bool kMapsTerabytes = false;
#endif

// With "$qw" for the program, in bash.
CommandResult in_shell(const std::string& command) {
  return test::run_command("/bin/bash", {"-c", "qw='" QW_PROGRAM "'; " + command});
}

void expect_one_line(const CommandResult& result, int exit_code, const testing::Matcher<std::string>& line) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, line);
}

TEST(Faults, GraphsLargerThanTheMemoryAreRefusedByArithmetic) {
  for (const char* data : {"csbm:nodes=2000000000", "csbm:nodes=1000000,features=1000000"}) {
    expect_one_line(qw({"data", "info", data}), 1,
                    AllOf(StartsWith("qw: csbm: a graph of nodes="),
                          ContainsRegex("needs .*iB of memory, but .*iB are free; lower them")));
  }
}

TEST(Faults, TheLimitOfMemoryCounts) {
  if (kMapsTerabytes) GTEST_SKIP() << "AddressSanitizer does not start under ulimit -v";
  expect_one_line(in_shell("ulimit -v 500000; $qw data info csbm:nodes=1000000,features=1000"), 1,
                  HasSubstr("needs 3.9 GiB of memory, but "));
}

TEST(Faults, EndlessInputsAreRefused) {
  expect_refused({"data", "info", "--edges", "/dev/zero"}, 1,
                 "qw: /dev/zero: cannot read: it is a device, and those have no end");
  if (kMapsTerabytes) GTEST_SKIP() << "AddressSanitizer does not start under ulimit -v";
  expect_one_line(in_shell("ulimit -v 500000; $qw data info --edges <(cat /dev/zero)"), 1,
                  ContainsRegex("^qw: /dev/fd/[0-9]+: what it gives needs .* of memory, but .* are free; "
                                "give a file that ends earlier"));
}

TEST(Faults, APipeIsAFile) {
  const CommandResult result = in_shell("$qw data info --json --edges <(printf 'a,b\\nx,y\\ny,z\\n')");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("edges"), 2);
}

TEST(Faults, BombsAreRefusedInEveryFormat) {
  const test::TemporaryFolder folder;
  const std::string zeros(size_t{100} << 20, '\0');
  const std::string packed = gzip(zeros);
  const std::string here = folder.path().string();
  folder.write("m.mtx.gz", packed);
  folder.write("e.csv.gz", packed);
  folder.write("ogb/num-node-list.csv", "1");
  folder.write("ogb/num-edge-list.csv", "1");
  folder.write("ogb/node-label.csv", "1");
  folder.write("ogb/edge.csv.gz", packed);
  folder.write("a.npz",
               write_zip({{"node_features.npy", zeros}, {"edges.npy", ""}, {"node_labels.npy", ""}}));
  for (const Arguments& data : std::vector<Arguments>{
           {here + "/m.mtx.gz"}, {"--edges", here + "/e.csv.gz"}, {here + "/ogb"}, {here + "/a.npz"}}) {
    Arguments arguments{"data", "info"};
    arguments.insert(arguments.end(), data.begin(), data.end());
    expect_one_line(qw(arguments), 1, HasSubstr("; if it is meant to, set QW_UNPACK_RATIO=1032"));
  }
}

TEST(Faults, PastTheLimitOfFileSizesAWriteFails) {
  const test::TemporaryFolder folder;
  const std::string here = folder.path().string();
  expect_one_line(in_shell("ulimit -f 8; $qw data convert csbm:nodes=3000 --to csv --out " + here + "/c"), 1,
                  HasSubstr("cannot write: File too large (the limit of ulimit -f is reached)"));
  const CommandResult printed =
      in_shell("ulimit -f 1; $qw data split csbm:nodes=3000 --json > " + here + "/split.json");
  expect_one_line(printed, 1, HasSubstr("cannot write to standard output: File too large"));
}

TEST(Faults, EmptyValuesAreUsageErrors) {
  expect_refused({"data", "get", "cora", "--mirror", ""}, 2, "qw data get: --mirror is empty");
  expect_refused({"data", "get", "cora", "--mirror="}, 2,
                 "qw: --mirror: 1 required DIR|URL missing (see qw data get --help)");
  expect_refused({"data", "split", "karate", "--out", ""}, 2, "qw data split: --out is empty");
  expect_refused({"data", "info", "--data", ""}, 2, "qw: --data: is empty (see qw data info --help)");
  expect_refused({"data", "info", ""}, 2, "qw: --data: is empty (see qw data info --help)");
  expect_refused({"data", "get", ""}, 2, "qw: names: is empty (see qw data get --help)");
  expect_refused({"compare", "", ""}, 2, "qw: runs: is empty (see qw compare --help)");
}

TEST(Faults, MessagesAreShortWhateverAFileHolds) {
  const test::TemporaryFolder folder;
  const std::string long_name(7000, 'x');
  std::string header = "id";
  for (int column = 0; column < 500; ++column) header += "," + std::to_string(column) + long_name;
  const std::string nodes = folder.write("n.csv", header + "\n").string();
  const std::string edges = folder.write("e.csv", "a,b\n0,1\n").string();
  const CommandResult result = qw({"data", "info", "--edges", edges, "--nodes", nodes, "--target", "y"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_LT(result.err.size(), 2500u);
  EXPECT_THAT(result.err, HasSubstr("and 471 more"));
  EXPECT_LT(qw({"data", "info", "--edges", "/" + long_name}).err.size(), 2500u);
  EXPECT_LT(qw({"--threads", long_name}).err.size(), 2500u);
}

TEST(Faults, NestedSplitsAreRefused) {
  const test::TemporaryFolder folder;
  const std::string split = folder.write("s.json", "{\"train\": " + std::string(100'000, '[')).string();
  expect_refused({"data", "info", "karate", "--split-file", split}, 1,
                 "qw: " + split + ": is not JSON of ours: nested deeper than 100 levels at byte 109");
}

TEST(Faults, DamagedDownloadsAreNoticed) {
  QW_SKIP_WITHOUT(test::shared_datasets());
  const test::TemporaryFolder folder;
  const test::ScopedEnvironment cache("QW_CACHE_DIR", folder.path().c_str());
  const test::ScopedEnvironment mirror("QW_DATA_MIRROR", nullptr);
  const Arguments get{"data", "get", "cora", "--mirror", test::shared_datasets().string()};
  ASSERT_EQ(qw(get).exit_code, 0);
  ASSERT_EQ(qw({"data", "info", "cora"}).exit_code, 0);
  const std::filesystem::path file = folder.path() / "datasets/cora/ind.cora.graph";
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file) << bytes;
  expect_one_line(qw({"data", "info", "cora"}), 1,
                  AllOf(StartsWith("qw: " + file.string() + ": is damaged: sha256 is "),
                        HasSubstr("; get it again with: qw data get cora")));
  ASSERT_EQ(qw(get).exit_code, 0);
  EXPECT_EQ(qw({"data", "info", "cora"}).exit_code, 0);
}

}  // namespace
}  // namespace qw
