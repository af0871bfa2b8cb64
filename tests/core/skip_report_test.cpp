#include "support/skip_report.h"

namespace qw {
namespace {

TEST(SkipReport, CountsByTheTextBeforeTheColon) {
  test::SkipReport report;
  EXPECT_EQ(report.line(), "");
  report.add("no CUDA device: epochs are captured there");
  report.add(test::missing("../shared/golden"));
  report.add(test::missing("../shared/datasets/cora"));
  report.add("no terminal here");
  report.add("");
  EXPECT_EQ(report.line(),
            "skipped 5: no ../shared (2), no CUDA device (1), no reason given (1), no terminal here (1)");
}

TEST(SkipReport, NamesTheFileThatIsMissing) {
  EXPECT_EQ(test::missing("../shared/golden"), "no ../shared: ../shared/golden");
  EXPECT_EQ(test::missing("tests/golden"), "a file is missing: tests/golden");
}

}  // namespace
}  // namespace qw
