#include "core/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

int64_t left_by_system() {
  std::ifstream information("/proc/meminfo");
  for (std::string name, rest; information >> name; std::getline(information, rest)) {
    int64_t kilobytes = 0;
    if (!(information >> kilobytes)) break;
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return kUnlimited;
}

std::optional<int64_t> number_in(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return parse_integer(word);  // none for "max"
}

int64_t left_by_control_group() {
  std::string folder = "/sys/fs/cgroup";
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/") && line.size() > 4) folder += line.substr(3);
  }
  // In a container the path may be the host's, and the limit stands at the top.
  for (const std::string& place : {folder, std::string("/sys/fs/cgroup")}) {
    const auto most = number_in(place + "/memory.max");
    if (most) return std::max<int64_t>(*most - number_in(place + "/memory.current").value_or(0), 1);
  }
  return kUnlimited;
}

}  // namespace

int64_t available_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const int64_t pages = number_in("/proc/self/statm").value_or(0);  // the first number: all that is mapped
  const int64_t used = pages * ::sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - used, 1);
}

int64_t resident_memory() {
  int64_t mapped = 0, resident = 0;  // pages
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

int64_t available_memory() {
  const int64_t least = std::min({left_by_system(), left_by_control_group(), available_addresses()});
  return least == kUnlimited ? 0 : least;
}

void require_memory(double bytes, const std::string& what, const std::string& advice) {
  constexpr double kNotWorthAsking = 1 << 24;
  if (bytes < kNotWorthAsking) return;
  const int64_t available = available_memory();
  if (available == 0 || bytes <= static_cast<double>(available)) return;
  fail(fmt::format("{} needs {} of memory, but {} are free; {}", what, human_bytes(bytes),
                   human_bytes(static_cast<double>(available)), advice));
}

}  // namespace qw
