// What escapes from a command, of whatever library, ends as one line.
#include "../src/cli/program.h"  // the tests have a header of this name

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <string>

namespace qw::cli {
namespace {

// Runs a program whose only command does this; gives what it says on standard error.
std::string said_by(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  char name[] = "qw", command[] = "do";
  char* argv[] = {name, command, nullptr};
  const int exit_code = run_program(2, argv, [&](CLI::App& app, const GlobalOptions&) {
    app.add_subcommand("do", "what is tested")->callback(body);
  });
  EXPECT_EQ(exit_code, 1);
  return testing::internal::GetCapturedStderr();
}

TEST(Program, ErrorsOfLibrariesAreSaidInOurWords) {
  const std::string long_name(300, 'x');
  EXPECT_EQ(said_by([&] { static_cast<void>(std::filesystem::exists(long_name)); }),
            "qw: " + long_name + ": File name too long\n");
  EXPECT_EQ(said_by([] { nlohmann::json::parse("{}").at("a"); }),
            "qw: a JSON document has a field that is missing or of the wrong kind\n");
  EXPECT_EQ(said_by([] { throw std::bad_alloc(); }), "qw: out of memory\n");
  EXPECT_EQ(said_by([] { std::string().reserve(std::string::npos); }), "qw: out of memory\n");
}

TEST(Program, ControlCharactersOfAFileDoNotReachTheTerminal) {
  EXPECT_EQ(said_by([] { throw std::runtime_error("a\x1b[31m \xc3\xa4\nand b"); }),
            "qw: a\\x1b[31m \xc3\xa4\nand b\n");
}

TEST(Program, LinesAreNotLongerThanAPersonReads) {
  const std::string said =
      said_by([] { throw std::runtime_error("begin " + std::string(7000, 'x') + " end"); });
  EXPECT_LT(said.size(), 1600u);
  EXPECT_THAT(said, testing::StartsWith("qw: begin x"));
  EXPECT_THAT(said, testing::HasSubstr("x... (7,010 characters) ...x"));
  EXPECT_THAT(said, testing::EndsWith("x end\n"));
}

}  // namespace
}  // namespace qw::cli
