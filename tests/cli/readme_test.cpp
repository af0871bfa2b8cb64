// The README's first example, run as it stands there.
#include <gmock/gmock.h>

#include <filesystem>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

// The first block of commands under a heading.
std::string first_commands(const std::string& text, const std::string& heading) {
  const size_t section = text.find("\n## " + heading + "\n");
  const std::string fence = "\n```sh\n";
  const size_t begin = text.find(fence, section);
  const size_t end = text.find("\n```\n", begin + fence.size());
  if (section == std::string::npos || begin == std::string::npos || end == std::string::npos) return {};
  return text.substr(begin + fence.size(), end - begin - fence.size());
}

TEST(Readme, TheFirstExampleGivesASensibleResult) {
  const std::string commands = first_commands(read_file("README.md"), "A first real use");
  ASSERT_THAT(commands, testing::HasSubstr("qw train "));
  const test::TemporaryFolder folder;
  std::filesystem::create_directory_symlink(std::filesystem::absolute("examples"),
                                            folder.path() / "examples");
  const std::string script = "set -e\nqw() { '" + std::string(QW_PROGRAM) + "' \"$@\"; }\ncd '" +
                             folder.path().string() + "'\n" + commands + "\n";
  const test::CommandResult result = test::run_command("/bin/bash", {"-c", script});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("warning: ")));
  const auto summary = nlohmann::json::parse(read_file(folder.path() / "runs/teams/summary.json"));
  const auto accuracy = [](const nlohmann::json& part) {
    return part.at("accuracy").at("mean").get<double>();
  };
  const double reached = accuracy(summary.at("test"));
  EXPECT_GT(reached, 0.75);
  EXPECT_GT(reached, accuracy(summary.at("baselines").at("majority")) + 0.2);
  EXPECT_GT(reached, accuracy(summary.at("baselines").at("linear")));
  const std::vector<std::string> rows =
      split(trim(read_file(folder.path() / "runs/teams/run-0/predictions.csv")), '\n');
  EXPECT_EQ(rows.size(), 301U);
}

}  // namespace
}  // namespace qw
