// One line at the end of a test program that counts its skipped tests by reason. ctest shows a program that
// skipped some of its tests as passed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

namespace qw::test {

// Why a test cannot run without a file: "no ../shared: ..." for what lies there.
std::string missing(const std::filesystem::path& path);

// The texts of GTEST_SKIP, each counted under what stands before its first colon.
class SkipReport {
 public:
  void add(const std::string& text);
  // "skipped 7: no ../shared (5), no CUDA device (2)", the most frequent first; empty when nothing was added.
  std::string line() const;

 private:
  std::map<std::string, int> counts_;
};

// Prints the line when the program ends.
class SkipListener : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override;
  void OnTestProgramEnd(const testing::UnitTest& program) override;

 private:
  SkipReport report_;
};

}  // namespace qw::test

#define QW_SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << ::qw::test::missing(path)
