// Several processes as a user starts them, and what they say when one is lost.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "cli/program.h"

namespace qw {
namespace {

using test::Arguments;
using test::ScopedEnvironment;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kMostToStart = 120, kMostToEnd = 60;  // seconds, of a busy machine; 15 to end are promised

// Whether it is so before long.
bool comes(const std::function<bool()>& is_so) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostToStart);
  while (!is_so() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(kLook);
  return is_so();
}

// The program, while it runs. Its standard error goes to a file.
class Running {
 public:
  explicit Running(Arguments words) : err_(folder_.path() / "err") {
    words.insert(words.begin(), QW_PROGRAM);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(posix_spawn(&id_, QW_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!ended_) send(SIGKILL);
    end(1e9);
  }

  void await(const std::string& words) const {
    EXPECT_TRUE(comes([&] { return err().find(words) != std::string::npos; })) << err();
  }

  pid_t id() const { return id_; }
  void send(int signal) const { kill(id_, signal); }

  // Its exit code, or -1 when it still runs after so many seconds.
  int end(double seconds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!ended_ && std::chrono::steady_clock::now() < limit) {
      ended_ = waitpid(id_, &status_, WNOHANG) == id_;
      if (!ended_) std::this_thread::sleep_for(kLook);
    }
    return !ended_ ? -1 : WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  std::string err() const {
    std::ostringstream text;
    text << std::ifstream(err_).rdbuf();
    return text.str();
  }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path err_;
  pid_t id_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener, name, length), 0);
  EXPECT_EQ(getsockname(listener, name, &length), 0);
  close(listener);
  return ntohs(address.sin_port);
}

// A command for each process, started one by one as on several machines.
std::vector<std::unique_ptr<Running>> start_all(const std::vector<Arguments>& commands) {
  const ScopedEnvironment world("WORLD_SIZE", std::to_string(commands.size()).c_str());
  const ScopedEnvironment address("MASTER_ADDR", "127.0.0.1");
  const ScopedEnvironment port("MASTER_PORT", std::to_string(free_port()).c_str());
  std::vector<std::unique_ptr<Running>> all;
  for (size_t rank = 0; rank < commands.size(); ++rank) {
    const ScopedEnvironment own("RANK", std::to_string(rank).c_str());
    all.push_back(std::make_unique<Running>(commands[rank]));
  }
  return all;
}

// Processes that work together until one is lost.
class Together {
 public:
  explicit Together(int size)
      : all_(start_all(std::vector<Arguments>(
            size, {"bench", "network", "--seconds", "1000", "--wait", "60", "--threads", "1"}))) {
    all_[0]->await("processes have met\n");
  }

  const Running& operator[](int rank) const { return *all_[rank]; }

  // All but the one that is lost end in time, and say who it is.
  void expect_named(int lost) {
    for (int rank = 0; rank < static_cast<int>(all_.size()); ++rank) {
      if (rank == lost) continue;
      EXPECT_EQ(all_[rank]->end(kMostToEnd), 1) << rank;
      EXPECT_THAT(all_[rank]->err(),
                  MatchesRegex("([0-9] processes have met\n)?qw: process " + std::to_string(lost) +
                               " \\(machine [^ ]*, id [0-9]+\\) has ended or .*\n"));
    }
  }

 private:
  std::vector<std::unique_ptr<Running>> all_;
};

std::vector<pid_t> children_of(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/task/" + std::to_string(id) + "/children");
  std::vector<pid_t> result;
  for (pid_t child = 0; file >> child;) result.push_back(child);
  return result;
}

TEST(Network, IsMeasuredBetweenProcesses) {
  for (const int processes : {1, 3}) {
    const nlohmann::json json = test::json_of({"bench", "network", "--processes", std::to_string(processes),
                                               "--megabytes", "1", "--seconds", "0", "--json"});
    EXPECT_EQ(json["processes"], processes);
    EXPECT_EQ(json["sizes"].size(), 4);
    for (const auto& row : json["sizes"]) EXPECT_GT(row["gb_per_s"], 0.0);
  }
}

TEST(Network, IsATableForPeople) {
  const test::CommandResult result =
      test::qw({"bench", "network", "--processes", "2", "--megabytes", "1", "--seconds", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("processes: 2; a barrier takes "));
}

// What torchrun does; Debian's own does not run with Debian's Python.
constexpr const char* kAgent = R"(
import datetime, os, subprocess, sys
from torch.distributed import TCPStore
store = TCPStore('127.0.0.1', 0, 2, True, datetime.timedelta(seconds=60), False)
common = {'WORLD_SIZE': '2', 'LOCAL_WORLD_SIZE': '2', 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': str(store.port),
          'TORCHELASTIC_USE_AGENT_STORE': 'True', 'TORCHELASTIC_RESTART_COUNT': '0'}
processes = [subprocess.Popen(sys.argv[1:], env={**os.environ, **common, 'RANK': str(rank)}) for rank in (0, 1)]
sys.exit(max(process.wait() for process in processes))
)";

TEST(Network, ProcessesOfTorchrunMeetAtItsStore) {
  if (test::run_command("/usr/bin/python3", {"-c", "from torch.distributed import TCPStore"}).exit_code != 0)
    GTEST_SKIP() << "no torch for Python: Debian's python3-torch has it";
  const test::CommandResult result = test::run_command(
      "/usr/bin/python3",
      {"-c", kAgent, QW_PROGRAM, "bench", "network", "--megabytes", "1", "--seconds", "0", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["processes"], 2);
}

TEST(Network, LocalProcessesEndWhenWhoStartedThemIsGone) {
  Running starter({"bench", "network", "--processes", "2", "--seconds", "1000"});
  starter.await("2 processes have met\n");
  const std::vector<pid_t> children = children_of(starter.id());
  ASSERT_EQ(children.size(), 2);
  starter.send(SIGKILL);
  EXPECT_EQ(starter.end(kMostToEnd), 128 + SIGKILL);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostToEnd);
  const auto any_runs = [&] { return kill(children[0], 0) == 0 || kill(children[1], 0) == 0; };
  while (any_runs() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(kLook);
  EXPECT_FALSE(any_runs());
  EXPECT_THAT(starter.err(), MatchesRegex("2 processes have met\n(qw: who started the processes no longer "
                                          "listens at 127.0.0.1:[0-9]+\n)+"));
}

// A graph in four parts.
class HaloBench : public testing::Test {
 protected:
  HaloBench() : partition_((folder_.path() / "parts").string()) {
    const test::CommandResult made =
        test::qw({"data", "partition", "csbm:nodes=400,degree=8,features=3,classes=2", "--parts", "4",
                  "--align", "64", "--out", partition_});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  // What the manifest says that parts need of others.
  int64_t halo() const {
    const nlohmann::json manifest = nlohmann::json::parse(std::ifstream(partition_ + "/partition.json"));
    int64_t rows = 0;
    for (const auto& part : manifest["parts"]) rows += part["halo"].get<int64_t>();
    return rows;
  }

  // Both end with one line on what differs.
  static void expect_refused_together(const Arguments& first, const Arguments& second,
                                      const std::string& what) {
    for (const auto& each : start_all({first, second})) {
      EXPECT_EQ(each->end(kMostToEnd), 1);
      EXPECT_THAT(each->err(),
                  MatchesRegex("qw: process [01] \\(machine .*\\) has " + what +
                               ", process [01] \\(.*\\) has " + what + ": all must have the same\n"));
    }
  }

  nlohmann::json bench(int processes) const {
    return test::json_of({"bench", "halo", partition_, "--processes", std::to_string(processes), "--columns",
                          "5", "--seconds", "0", "--json"});
  }

  test::TemporaryFolder folder_;
  std::string partition_;
};

TEST_F(HaloBench, RowsAreThoseOfTheManifestForAnyNumberOfProcesses) {
  int64_t last = -1;
  for (const int processes : {1, 2, 3, 4}) {
    const nlohmann::json json = bench(processes);
    EXPECT_EQ(json["processes"], processes);
    EXPECT_EQ(json["rows"], halo());
    EXPECT_EQ(json["bytes"], halo() * 5 * 4);
    EXPECT_GT(json["network_rows"], last);  // the more processes, the more go from one to another
    last = json["network_rows"];
    EXPECT_TRUE(processes > 1 || last == 0);
  }
  EXPECT_EQ(last, halo());
}

TEST_F(HaloBench, IsTextForPeople) {
  const test::CommandResult result = test::qw({"bench", "halo", partition_, "--seconds", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("parts: 4, processes: 1\na propagation of 64 columns brings "));
}

TEST_F(HaloBench, MoreProcessesThanPartsAreRefused) {
  const std::string line = "qw: " + partition_ + " has 4 parts, too few for 5 processes";
  test::expect_refused({"bench", "halo", partition_, "--processes", "5"}, 2, line);
}

TEST_F(HaloBench, APartitionOfAnotherGraphIsRefused) {
  const std::string other = (folder_.path() / "other").string();
  ASSERT_EQ(
      test::qw({"data", "partition", "karate", "--parts", "2", "--align", "8", "--out", other}).exit_code, 0);
  expect_refused_together({"bench", "halo", partition_, "--wait", "30"},
                          {"bench", "halo", other, "--wait", "30"}, "partition [0-9a-f]*");
}

TEST_F(HaloBench, OtherOptionsAreRefused) {
  const Arguments train{"train", partition_, "--epochs", "5", "--wait", "30"};
  const auto with = [&](const char* option, const char* value) {
    Arguments command = train;
    command.insert(command.end(), {option, value});
    return command;
  };
  expect_refused_together(with("--seed", "1"), with("--seed", "2"), "seed [12]");
  expect_refused_together(train, with("--lr", "0.5"), "lr 0\\.[0-9]*");
  expect_refused_together(train, with("--solver", "ce"), "solver [a-z]*");
  expect_refused_together({"bench", "halo", partition_, "--columns", "3"},
                          {"bench", "halo", partition_, "--columns", "4"}, "columns [34]");
  expect_refused_together({"bench", "network", "--megabytes", "1"}, {"bench", "network", "--megabytes", "2"},
                          "megabytes [12]");
}

// Two processes that train until they are stopped.
std::vector<std::unique_ptr<Running>> train_for_ever(const std::string& partition, const std::string& out) {
  const Arguments command{
      "train", partition, "--epochs", "1000000",   "--patience", "0",      "--checkpoint-every",
      "5",     "--out",   out,        "--threads", "1",          "--wait", "60"};
  auto both = start_all({command, command});
  EXPECT_TRUE(comes([&] { return std::filesystem::exists(out + "/run-0/checkpoint.safetensors"); }));
  return both;
}

TEST_F(HaloBench, ALostTrainingSaysHowToGoOn) {
  const std::string out = (folder_.path() / "out").string();
  const auto both = train_for_ever(partition_, out);
  both[1]->send(SIGKILL);
  EXPECT_EQ(both[0]->end(kMostToEnd), 1);
  EXPECT_THAT(both[0]->err(), testing::ContainsRegex("qw: process 1 \\(machine .*\\) has ended or .*; go on "
                                                     "with: qw train --resume " +
                                                     out + "\n"));
}

TEST_F(HaloBench, AnyProcessStopsAllInGoodOrder) {
  const std::string out = (folder_.path() / "out").string();
  const auto both = train_for_ever(partition_, out);
  both[1]->send(SIGTERM);
  for (const auto& each : both) EXPECT_EQ(each->end(kMostToEnd), 130) << each->err();
  EXPECT_THAT(both[0]->err(), HasSubstr("stopped; all that was learned is in " + out));
}

TEST(Network, ProcessesThatAreNotThoseOfTheEnvironmentAreRefused) {
  const ScopedEnvironment rank("RANK", "0"), size("WORLD_SIZE", "2");
  const ScopedEnvironment address("MASTER_ADDR", "127.0.0.1");
  test::expect_refused({"bench", "network", "--processes", "3"}, 2,
                       "qw: --processes 3 does not go with the environment, by which this is one of 2 "
                       "processes: leave it out");
}

TEST(Network, AProcessThatDiesEndsTheOthers) {
  Together processes(3);
  processes[1].send(SIGKILL);
  processes.expect_named(1);
}

TEST(Network, AProcessThatNoLongerAnswersEndsTheOthers) {
  Together processes(3);
  processes[2].send(SIGSTOP);
  processes.expect_named(2);
}

TEST(Network, TheFirstProcessIsNoException) {
  Together dead(2), suspended(2);
  dead[0].send(SIGKILL);
  suspended[0].send(SIGSTOP);
  dead.expect_named(0);
  suspended.expect_named(0);
}

TEST(Network, ALocalProcessThatDiesIsNamedByWhoStartedIt) {
  Running starter({"bench", "network", "--processes", "2", "--seconds", "1000"});
  starter.await("2 processes have met\n");
  const std::vector<pid_t> children = children_of(starter.id());
  ASSERT_EQ(children.size(), 2);
  kill(children[1], SIGKILL);
  EXPECT_EQ(starter.end(kMostToEnd), 1);
  EXPECT_THAT(starter.err(), HasSubstr("process 1 of 2 was ended by signal 9 (Killed)"));
  EXPECT_THAT(starter.err(), HasSubstr("qw: process 1 (machine "));
}

}  // namespace
}  // namespace qw
