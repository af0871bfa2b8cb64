#include "report/sweep_page.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/support.h"

namespace qw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Values = std::vector<std::string>;
using Scores = std::vector<double>;

TEST(OptionImportance, IsAllWhereOnlyTheOptionCounts) {
  const Values option{"a", "a", "b", "b", "c", "c"}, other{"x", "y", "x", "y", "x", "y"};
  const Scores scores{1, 1, 2, 2, 5, 5};
  EXPECT_DOUBLE_EQ(option_importance(option, scores), 1);
  EXPECT_DOUBLE_EQ(option_importance(other, scores), 0);
}

// A grid whose scores are a + b: the sum of squares is 2, of which each option has 1 between its means. With
// n = 4 and k = 2 that is 1 - (1 / 2) / (2 / 3).
TEST(OptionImportance, IsTheAdjustedShareOfTheVariance) {
  const Scores scores{0, 1, 1, 2};
  EXPECT_DOUBLE_EQ(option_importance(Values{"0", "0", "1", "1"}, scores), 0.25);
  EXPECT_DOUBLE_EQ(option_importance(Values{"0", "1", "0", "1"}, scores), 0.25);
}

// Eight numbers are four groups of two neighbours, whatever their order and scale.
TEST(OptionImportance, GroupsManyNumbersByTheirSize) {
  const Values option{"1000", "1e-3", "0.01", "100", "0.1", "1", "10", "10000"};
  const Scores by_pairs{4, 1, 1, 3, 2, 2, 3, 4};  // 0.001 and 0.01 have 1, 0.1 and 1 have 2, ...
  EXPECT_DOUBLE_EQ(option_importance(option, by_pairs), 1);
}

TEST(OptionImportance, LeavesOutWhatFailedAndIsNothingWhereNothingCanBeSaid) {
  const double nan = std::nan("");
  EXPECT_DOUBLE_EQ(option_importance(Values{"a", "a", "b", "b", "b"}, Scores{1, 1, 2, 2, nan}), 1);
  EXPECT_EQ(option_importance(Values{"a", "a", "a"}, Scores{1, 2, 3}), 0);
  EXPECT_EQ(option_importance(Values{"a", "b", "c"}, Scores{1, 2, 3}), 0) << "one score for each value";
  EXPECT_EQ(option_importance(Values{"a", "a", "b"}, Scores{2, 2, 2}), 0);
  EXPECT_EQ(option_importance(Values{}, Scores{}), 0);
}

SweptSearch small_search() {
  SweptSearch search{.sweep = "small", .name = "tiny/gcn/qw", .metric = "accuracy", .finished = true};
  search.options = {"lr", "solver"};
  search.configs = {{{"0.01", "ce"}, {0.75, 0.85}, {0.5, 0.7}, 0.75},
                    {{"0.1", "ce"}, {0.7}, {0.6}, 0.7},
                    {{"0.01", "bregman"}, {std::nan("")}, {std::nan("")}, std::nan("")}};
  search.stages = {{1, {2, 4}, {0.75, 0.7}}, {2, {6}, {0.8}}};
  return search;
}

TEST(SweepPage, SaysWhatIsBestFirst) {
  const std::string html = sweep_html({small_search()});
  EXPECT_THAT(html, HasSubstr("tiny/gcn/qw: the best of 3 choices is lr 0.01, solver ce. It has a validation "
                              "accuracy of 80.0 %, and 60.0 % on test nodes."));
  for (const char* part :
       {"Choices and what they reached", "Importance of each option", "The best over time",
        "The best 3 of 3 choices", "failed", "\"kind\":\"parallel\"", "was not used to choose"})
    EXPECT_THAT(html, HasSubstr(part));
}

TEST(SweepPage, OfSeveralSearchesATable) {
  SweptSearch other = small_search();
  other.name = "tiny/<b>/qw";
  other.finished = false;
  other.configs.clear();
  const std::string html = sweep_html({small_search(), other}, {.title = "Mine"});
  for (const char* part :
       {"<title>Mine</title>", "1 of 2 searches are finished", "tiny/&lt;b&gt;/qw (goes on)", "not yet"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(sweep_html({}), HasSubstr("No sweep was asked for"));
}

}  // namespace
}  // namespace qw
