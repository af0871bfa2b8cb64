#include "qw/core/error.h"

#include "qw/core/version.h"
#include "support/support.h"

namespace qw {
namespace {

TEST(Error, SaysWhere) {
  EXPECT_EQ(test::error_of([] { fail_at_line("edges.csv", 17, "bad"); }), "edges.csv:17: bad");
  EXPECT_EQ(test::error_of([] { fail_at_byte("x.npz", 42, "bad"); }), "x.npz: byte 42: bad");
  EXPECT_THROW(fail_usage("bad"), UsageError);
}

TEST(Error, AssertionNamesTheCondition) {
  const std::string text = test::error_of([] { QW_ASSERT(1 + 1 == 3); });
  EXPECT_NE(text.find("1 + 1 == 3 does not hold; please report this"), std::string::npos) << text;
  EXPECT_THROW(QW_ASSERT(false), InternalError);
}

TEST(Version, IsKnown) {
  const BuildInfo info = build_info();
  EXPECT_FALSE(info.version.empty());
  EXPECT_TRUE(info.architecture == "aarch64" || info.architecture == "x86_64") << info.architecture;
  EXPECT_FALSE(info.cpu_features.empty());
}

}  // namespace
}  // namespace qw
