#include "support/skip_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace qw::test {

std::string missing(const std::filesystem::path& path) {
  const std::string name = path.string();
  return (name.starts_with("../shared") ? "no ../shared: " : "a file is missing: ") + name;
}

void SkipReport::add(const std::string& text) {
  const std::string reason = text.substr(0, text.find_first_of(":\n"));
  ++counts_[reason.empty() ? "no reason given" : reason];
}

std::string SkipReport::line() const {
  if (counts_.empty()) return {};
  std::vector<std::pair<std::string, int>> reasons(counts_.begin(), counts_.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  int all = 0;
  std::string listed;
  for (const auto& [reason, count] : reasons) {
    all += count;
    listed += fmt::format("{}{} ({})", listed.empty() ? "" : ", ", reason, count);
  }
  return fmt::format("skipped {}: {}", all, listed);
}

void SkipListener::OnTestEnd(const testing::TestInfo& test) {
  const testing::TestResult& result = *test.result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (!result.GetTestPartResult(i).skipped()) continue;
    return report_.add(result.GetTestPartResult(i).message());
  }
}

void SkipListener::OnTestProgramEnd(const testing::UnitTest&) {
  if (const std::string line = report_.line(); !line.empty()) std::puts(line.c_str());
}

}  // namespace qw::test
