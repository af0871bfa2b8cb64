#include "core/excerpt.h"

#include <gmock/gmock.h>

#include "core/text.h"

namespace qw {
namespace {

using testing::SizeIs;

TEST(Excerpt, ListsEndAfterSomeNames) {
  EXPECT_EQ(name_list({}), "");
  EXPECT_EQ(name_list({"a", "b"}), "a, b");
  EXPECT_EQ(name_list({"a", "b", "c"}, " or ", 2), "a or b or and 1 more");
  EXPECT_EQ(name_list(std::vector<std::string>(300, "x"), ", ", 3), "x, x, x, and 297 more");
  EXPECT_EQ(name_list({std::string(60, 'x')}), std::string(50, 'x') + "...");
}

TEST(Excerpt, TheMiddleOfALongTextIsLeftOut) {
  EXPECT_EQ(without_middle("short", 9), "short");
  EXPECT_EQ(without_middle(std::string(3000, 'a') + "zzz", 9), "aaaaaa... (3,003 characters) ...zzz");
  const std::string accents = without_middle("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 9);
  EXPECT_EQ(accents, "\u00e9\u00e9\u00e9... (14 characters) ...\u00e9") << "whole characters";
}

TEST(Excerpt, NamesOfAnyLengthMakeShortLines) {
  const std::string megabyte(1'000'000, 'x');
  EXPECT_EQ(printable(megabyte), std::string(200, 'x') + "... (1,000,000 characters)");
  EXPECT_THAT(in_quotes(megabyte), SizeIs(45));
  EXPECT_LT(unknown_name(megabyte, std::vector<std::string>(100, megabyte)).size(), 2000u);
  EXPECT_EQ(closest(megabyte, {megabyte}), std::nullopt);
  EXPECT_EQ(closest("gnc", {megabyte, "gcn"}), "gcn");
}

}  // namespace
}  // namespace qw
