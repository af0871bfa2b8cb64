#include "support/support.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "qw/core/parallel.h"

extern char** environ;

namespace qw::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "qw-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryFolder::write(const std::string& name, std::string_view contents) const {
  const fs::path file = path_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << contents;
  return file;
}

ScopedEnvironment::ScopedEnvironment(std::string name, const char* value) : name_(std::move(name)) {
  if (const char* old = std::getenv(name_.c_str())) {
    was_set_ = true;
    previous_ = old;
  }
  if (value != nullptr) {
    ::setenv(name_.c_str(), value, 1);
  } else {
    ::unsetenv(name_.c_str());
  }
}

ScopedEnvironment::~ScopedEnvironment() {
  if (was_set_) {
    ::setenv(name_.c_str(), previous_.c_str(), 1);
  } else {
    ::unsetenv(name_.c_str());
  }
}

ScopedThreads::ScopedThreads(int count) : previous_(thread_count()) { set_thread_count(count); }
ScopedThreads::~ScopedThreads() { set_thread_count(previous_); }

CommandResult run_command(const std::string& program, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const fs::path err = folder.path() / "err";
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot run " + program);
  int status = 0;
  ::waitpid(child, &status, 0);

  const auto contents = [](const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out), contents(err)};
}

fs::path shared_datasets() { return "../shared/datasets"; }

fs::path golden_folder() {
  const char* folder = std::getenv("QW_GOLDEN_DIR");
  return folder != nullptr && *folder != '\0' ? fs::path(folder) : fs::path("../shared/golden");
}

fs::path own_golden_folder() { return "tests/golden"; }

std::string golden_folder_name(const testing::TestParamInfo<fs::path>& folder) {
  return folder.param == own_golden_folder() ? "Own" : "Given";
}

EdgeList edge_list(int64_t num_nodes, const std::vector<std::pair<NodeId, NodeId>>& edges) {
  EdgeList list;
  list.num_nodes = num_nodes;
  for (const auto& [from, to] : edges) {
    list.tails.push_back(from);
    list.heads.push_back(to);
  }
  return list;
}

}  // namespace qw::test
