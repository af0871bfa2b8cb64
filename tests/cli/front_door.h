// Small files as people bring them, and what qw must make of each: a value, a remark or an error.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "core/file.h"

namespace qw::test {

struct FrontDoorCase {
  std::string name;                                        // of the test: CamelCase
  std::vector<std::pair<std::string, std::string>> files;  // name and contents
  // What follows "qw", split at blanks; DIR stands for the folder of the files, as in
  // "data info --edges DIR/e.csv". Commands that print results should have --json.
  std::string command;
  int exit_code = 0;
  std::vector<std::string> says;                               // each is part of standard error
  std::vector<std::string> does_not_say;                       // none is part of standard error
  std::vector<std::pair<std::string, nlohmann::json>> values;  // JSON pointer into standard output, value
};

inline void PrintTo(const FrontDoorCase& each, std::ostream* out) { *out << each.name; }

inline std::string with_folder(std::string text, const std::string& folder) {
  for (size_t at = text.find("DIR"); at != std::string::npos; at = text.find("DIR", at + folder.size()))
    text.replace(at, 3, folder);
  return text;
}

// A remark names the option that overrides what it says; a warning says what is doubtful.
inline void expect_options_named(const std::string& remarks) {
  std::istringstream lines(remarks);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("warning: ")) {
      EXPECT_THAT(line, testing::HasSubstr("--"));
    }
  }
}

inline void expect_front_door(const FrontDoorCase& each) {
  const TemporaryFolder folder;
  for (const auto& [name, contents] : each.files) folder.write(name, contents);
  Arguments arguments;
  std::istringstream words(each.command);
  for (std::string word; words >> word;) arguments.push_back(with_folder(word, folder.path().string()));
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, each.exit_code) << result.err << result.out;
  for (const std::string& text : each.says) EXPECT_THAT(result.err, testing::HasSubstr(text));
  for (const std::string& text : each.does_not_say)
    EXPECT_THAT(result.err, testing::Not(testing::HasSubstr(text)));
  if (each.exit_code == 0) expect_options_named(result.err);
  if (each.values.empty()) return;
  const auto document = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << result.out;
  for (const auto& [pointer, expected] : each.values) {
    const nlohmann::json::json_pointer at(pointer);
    ASSERT_TRUE(document.contains(at)) << pointer << " is not in " << result.out;
    EXPECT_EQ(document.at(at), expected) << pointer;
  }
}

// A closed path, as from,to.
inline std::string ring(int nodes) {
  std::string text = "from,to\n";
  for (int node = 0; node < nodes; ++node) text += fmt::format("{},{}\n", node, (node + 1) % nodes);
  return text;
}

struct Expected {
  int exit_code = 0;
  std::vector<std::string> says;
  std::vector<std::string> does_not_say;
  std::vector<std::pair<std::string, nlohmann::json>> values;
};

// A ring with one node per row of `rows` and the table as n.csv.
inline FrontDoorCase table(std::string name, const std::string& header, const std::vector<std::string>& rows,
                           const std::string& options, Expected expected) {
  std::string nodes = header + "\n";
  for (const std::string& row : rows) nodes += row + "\n";
  return {std::move(name),
          {{"e.csv", ring(static_cast<int>(rows.size()))}, {"n.csv", nodes}},
          "data info --json --edges DIR/e.csv --nodes DIR/n.csv " + options,
          expected.exit_code,
          std::move(expected.says),
          std::move(expected.does_not_say),
          std::move(expected.values)};
}

}  // namespace qw::test
