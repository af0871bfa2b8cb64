#include "comm/launch.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/store.h"
#include "core/deadline.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kToEnd = 20;  // seconds that the others have once one failed; they need less

std::atomic<bool> asked_to_end = false;

// Ctrl-C reaches all processes of a terminal: here it is only not to end this one before the others.
class Signals {
 public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGINT, &action, &interrupt_);
    action.sa_handler = [](int) { asked_to_end = true; };
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~Signals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};
};

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(int rank, int count, int port) {
  std::vector<std::string> own = {fmt::format("RANK={}", rank),
                                  fmt::format("WORLD_SIZE={}", count),
                                  fmt::format("LOCAL_RANK={}", rank),
                                  fmt::format("LOCAL_WORLD_SIZE={}", count),
                                  "MASTER_ADDR=127.0.0.1",
                                  fmt::format("MASTER_PORT={}", port),
                                  "TORCHELASTIC_USE_AGENT_STORE=True",
                                  "TORCHELASTIC_RESTART_COUNT=0"};
  std::vector<std::string> result = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& each : own) replaced |= each.starts_with(name);
    if (!replaced) result.emplace_back(text);
  }
  return result;
}

struct Child {
  pid_t id = 0;
  bool running = false;
  int status = 0;
};

Child start(int rank, int count, int port) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> words = own_command(), environment = environment_of(rank, count, port);
  Child child;
  const int failed = posix_spawn(&child.id, program.c_str(), nullptr, nullptr, pointers(words).data(),
                                 pointers(environment).data());
  if (failed != 0) fail(fmt::format("cannot start {}: {}", program, std::strerror(failed)));
  child.running = true;
  return child;
}

class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { send(SIGKILL); }

  void add(const Child& child) { all_.push_back(child); }

  // Looks who has ended; the first that failed, or -1.
  int look() {
    for (size_t k = 0; k < all_.size(); ++k) {
      Child& child = all_[k];
      if (!child.running || waitpid(child.id, &child.status, WNOHANG) != child.id) continue;
      child.running = false;
      if (child.status != 0 && failed_ < 0) failed_ = static_cast<int>(k);
    }
    return failed_;
  }
  bool any() const {
    for (const Child& child : all_) {
      if (child.running) return true;
    }
    return false;
  }
  void send(int signal) const {
    for (const Child& child : all_) {
      if (child.running) kill(child.id, signal);
    }
  }
  int status(int which) const { return all_[which].status; }

 private:
  std::vector<Child> all_;
  int failed_ = -1;
};

}  // namespace

int run_processes(int count) {
  const Signals signals;
  const c10::intrusive_ptr<c10d::TCPStore> store = serve_store(0);
  Children children;
  for (int rank = 0; rank < count; ++rank) children.add(start(rank, count, store->getPort()));
  Deadline deadline = Deadline::never();
  while (children.any()) {
    if (children.look() >= 0 && !deadline.comes()) deadline = Deadline::after_seconds(kToEnd);
    if (deadline.passed()) children.send(SIGKILL);
    if (asked_to_end.exchange(false)) children.send(SIGTERM);
    std::this_thread::sleep_for(kLook);
  }
  const int failed = children.look();
  if (failed < 0) return 0;
  const int status = children.status(failed);
  if (WIFSIGNALED(status)) {
    fail(fmt::format("process {} of {} was ended by signal {} ({})", failed, count, WTERMSIG(status),
                     strsignal(WTERMSIG(status))));
  }
  return WEXITSTATUS(status);
}

}  // namespace qw
