#include "core/machine.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/text.h"
#include "qw/core/version.h"

namespace qw {

std::string processor_name_in(const std::string& cpuinfo) {
  for (const std::string& line : split(cpuinfo, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (trim(std::string_view(line).substr(0, colon)) == "model name")
      return printable(trim(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::string processor_name() {
  std::ostringstream text;
  text << std::ifstream("/proc/cpuinfo").rdbuf();
  const std::string name = processor_name_in(text.str());
  return name.empty() ? build_info().architecture : name;
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace qw
