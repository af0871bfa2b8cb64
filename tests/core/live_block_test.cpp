// What stands on the screen of a terminal is tested with the program: tests/cli/terminal_test.py.
#include "core/live_block.h"

#include "support/support.h"

namespace qw {
namespace {

TEST(LiveBlock, ColumnsAreCharacters) {
  EXPECT_EQ(columns_of(""), 0);
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("▁▂█ é"), 5);
}

TEST(LiveBlock, LinesAreCutBetweenCharacters) {
  EXPECT_EQ(cut_to("▁▂█", 2), "▁▂");
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abc", 9), "abc");
  EXPECT_EQ(cut_to("abc", 0), "");
  EXPECT_EQ(cut_to("▁", -1), "");
}

TEST(LiveBlock, NothingIsDrawnWhereStderrIsNoTerminal) {
  testing::internal::CaptureStderr();
  const bool draws = can_draw_live();
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(draws);
}

TEST(LiveBlock, UnicodeUnlessTheLocaleIsOfAnotherCode) {
  const auto shows = [](const char* all, const char* ctype, const char* lang) {
    const test::ScopedEnvironment first("LC_ALL", all), second("LC_CTYPE", ctype), third("LANG", lang);
    return shows_unicode();
  };
  EXPECT_TRUE(shows(nullptr, nullptr, nullptr));
  EXPECT_TRUE(shows(nullptr, nullptr, "C"));
  EXPECT_TRUE(shows(nullptr, nullptr, "de_DE.UTF-8"));
  EXPECT_TRUE(shows("", "", "en_US.utf8"));
  EXPECT_FALSE(shows(nullptr, nullptr, "de_DE.ISO-8859-1"));
  EXPECT_FALSE(shows("de_DE", nullptr, "de_DE.UTF-8")) << "LC_ALL wins";
  EXPECT_TRUE(shows(nullptr, "C.UTF-8", "de_DE")) << "LC_CTYPE before LANG";
}

}  // namespace
}  // namespace qw
