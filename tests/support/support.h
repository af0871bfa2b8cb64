// Helpers that every test program shares.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/error.h"
#include "qw/graph/graph.h"
#include "support/skip_report.h"

namespace qw::test {

// A folder of its own, gone when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view contents) const;

 private:
  std::filesystem::path path_;
};

// Sets an environment variable (or removes it, with nullptr) for one scope.
class ScopedEnvironment {
 public:
  ScopedEnvironment(std::string name, const char* value);
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment();

 private:
  std::string name_;
  bool was_set_ = false;
  std::string previous_;
};

// Uses `count` threads for one scope.
class ScopedThreads {
 public:
  explicit ScopedThreads(int count);
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;
  ~ScopedThreads();

 private:
  int previous_;
};

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs the program with these arguments (no shell), as a user would.
CommandResult run_command(const std::string& program, const std::vector<std::string>& arguments);

// Shared material beside the checkout; absent on a user's machine.
std::filesystem::path shared_datasets();
std::filesystem::path golden_folder();  // $QW_GOLDEN_DIR, else ../shared/golden

// The project's own reference values, which tests/golden/generate.py makes; they are always here.
std::filesystem::path own_golden_folder();

// Own or Given, for tests that read either folder.
std::string golden_folder_name(const testing::TestParamInfo<std::filesystem::path>& folder);

// The text of the qw::Error that `body` throws; fails the test when it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no qw::Error was thrown";
  return {};
}

// Edges as (from, to).
EdgeList edge_list(int64_t num_nodes, const std::vector<std::pair<NodeId, NodeId>>& edges);

}  // namespace qw::test
