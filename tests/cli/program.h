// Runs the program and looks at what it says.
#pragma once

#include <nlohmann/json.hpp>

#include "support/support.h"

namespace qw::test {

using Arguments = std::vector<std::string>;

inline CommandResult qw(const Arguments& arguments) { return run_command(QW_PROGRAM, arguments); }

inline nlohmann::json json_of(const Arguments& arguments) {
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

inline void expect_refused(const Arguments& arguments, int exit_code, const std::string& line) {
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, line + "\n");
}

}  // namespace qw::test
