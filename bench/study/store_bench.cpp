// Trials of no work, taken and stored by several processes, as do_work does it: how many a second?
//
//   tests/support/postgres.py --durable build/release/qw_store_bench [STORE [TRIALS [WORKERS]]]
//
// STORE is a file or a URL without results; default: the server of tests/support/postgres.py.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/study/store.h"

namespace {

using Clock = std::chrono::steady_clock;

// One process: the trials it did.
int64_t work(const std::string& where, const std::vector<qw::Trial>& trials) {
  qw::ResultStore store(where);
  qw::StoredResult result;
  result.result.train = result.result.val = result.result.test = {{"accuracy", 0.5}, {"macro_f1", 0.5}};
  result.device = "cpu";
  int64_t done = 0;
  std::vector<qw::Trial> lacking = trials;
  for (;;) {
    const qw::TrialScores& scores = store.scores();
    std::erase_if(lacking, [&](const qw::Trial& trial) { return scores.contains(trial); });
    if (lacking.empty()) return done;
    for (const qw::Trial& trial : store.claim(lacking, 1)) {
      store.put(trial, result);
      ++done;
    }
  }
}

// In a process of its own, which writes the count into a pipe.
pid_t start(const std::string& where, const std::vector<qw::Trial>& trials, int counts) {
  const pid_t process = fork();
  if (process != 0) return process;
  try {
    const int64_t done = work(where, trials);
    _exit(write(counts, &done, sizeof(done)) == sizeof(done) ? 0 : 1);
  } catch (const qw::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    _exit(1);
  }
}

void measure(const std::string& where, int64_t count, int64_t workers) {
  if (qw::has_results(where)) qw::fail(fmt::format("{} has results already: name another store", where));
  const int64_t config = qw::ResultStore(where).config_of({});
  std::vector<qw::Trial> trials;
  for (int64_t run = 0; run < count; ++run) trials.push_back({config, run});
  int counts[2];
  if (pipe(counts) != 0) qw::fail("no pipe");
  const Clock::time_point begin = Clock::now();
  std::vector<pid_t> processes;
  for (int64_t k = 0; k < workers; ++k) processes.push_back(start(where, trials, counts[1]));
  int64_t done = 0;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    int64_t of_one = 0;
    if (status != 0 || read(counts[0], &of_one, sizeof(of_one)) != sizeof(of_one))
      qw::fail("a worker failed");
    done += of_one;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  qw::ResultStore store(where);
  fmt::print("{} trials by {} workers in {:.1f} s: {:.0f} a second; {} stored, {} done twice\n", count,
             workers, seconds, static_cast<double>(count) / seconds, store.scores().size(), done - count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const char* server = std::getenv("QW_TEST_POSTGRES");
  if (words.empty() && server == nullptr) {
    fmt::print(stderr, "usage: qw_store_bench STORE [TRIALS [WORKERS]]\n");
    return 2;
  }
  try {
    const auto number = [&](size_t place, int64_t otherwise) {
      return words.size() > place ? qw::parse_integer(words[place]).value_or(otherwise) : otherwise;
    };
    measure(words.empty() ? std::string(server) + "/postgres" : words[0], number(1, 10000), number(2, 4));
  } catch (const qw::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
