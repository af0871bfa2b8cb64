#include "core/learning_line.h"

#include <cmath>
#include <limits>

#include "core/live_block.h"
#include "support/support.h"

namespace qw {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Sparkline, HasABlockForEachValueFromLowToHigh) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(std::vector<double>{-3, 5}, 8), "▁█");
  EXPECT_EQ(sparkline(std::vector<double>{7, 7, 7}, 8), "▅▅▅") << "no range: the middle";
  EXPECT_EQ(sparkline({}, 8), "");
  EXPECT_EQ(sparkline(std::vector<double>{1, 2}, 0), "");
  EXPECT_EQ(sparkline(std::vector<double>{1, 2}, -1), "");
}

TEST(Sparkline, TakesValuesTogetherByTheirMean) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 0, 2, 12, 14, 14}, 3), "▁▅█");
  // 1000 values of a straight line are a straight line of blocks.
  std::vector<double> line(1000);
  for (size_t k = 0; k < line.size(); ++k) line[k] = static_cast<double>(k);
  EXPECT_EQ(sparkline(line, 8), "▁▂▃▄▅▆▇█");
  for (int width = 1; width < 60; ++width) EXPECT_EQ(columns_of(sparkline(line, width)), width);
}

TEST(Sparkline, LeavesOutWhatIsNotFinite) {
  EXPECT_EQ(sparkline(std::vector<double>{0, kNan, 1}, 3), "▁ █");
  EXPECT_EQ(sparkline(std::vector<double>{kNan, INFINITY}, 5), "  ");
  EXPECT_EQ(sparkline(std::vector<double>{0, kNan, 1, 1}, 2), "▁█") << "the mean of those that are";
}

LearningLine example(const std::vector<double>& values) {
  return {"run 3 of 10", 8, 200, "accuracy", values, 0.75, 0.4321, "up to 12 s"};
}

TEST(LearningLine, HasEverythingWhereThereIsRoom) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(learning_line(example(values), 120, true),
            "run 3 of 10  ▁▂▃▄▅▆▇█  epoch 8/200  accuracy 7.0000  up to 12 s  best 0.7500  loss 0.4321");
  LearningLine bare = example(values);
  bare.title.clear();
  bare.rest.clear();
  EXPECT_EQ(learning_line(bare, 120, true),
            "▁▂▃▄▅▆▇█  epoch 8/200  accuracy 7.0000  best 0.7500  loss 0.4321");
  EXPECT_EQ(learning_line(bare, 120, false), "epoch 8/200  accuracy 7.0000  best 0.7500  loss 0.4321");
}

TEST(LearningLine, LeavesOutWhatMattersLeast) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7};
  const auto at = [&](int width) { return learning_line(example(values), width, true); };
  EXPECT_EQ(at(80), "run 3 of 10  ▁▂▃▄▅▆▇█  epoch 8/200  accuracy 7.0000  up to 12 s  best 0.7500");
  EXPECT_EQ(at(70), "run 3 of 10  ▁▂▃▄▅▆▇█  epoch 8/200  accuracy 7.0000  up to 12 s");
  EXPECT_EQ(at(60), "run 3 of 10  ▁▂▃▄▅▆▇█  epoch 8/200  accuracy 7.0000");
  EXPECT_EQ(at(42), "run 3 of 10  epoch 8/200  accuracy 7.0000");
  EXPECT_EQ(at(20), "run 3 of 10  epoch 8");
  EXPECT_EQ(at(0), "");
}

TEST(LearningLine, IsNeverWiderThanAsked) {
  std::vector<double> values(500);
  for (size_t k = 0; k < values.size(); ++k) values[k] = std::sin(static_cast<double>(k));
  int longest = 0;
  for (int width = -1; width <= 200; ++width) {
    for (const bool unicode : {false, true}) {
      const int columns = columns_of(learning_line(example(values), width, unicode));
      EXPECT_LE(columns, std::max(0, width));
      longest = std::max(longest, columns);
    }
  }
  EXPECT_EQ(longest, 121) << "the sparkline does not grow without end";
}

TEST(LearningLine, LargeErrorsKeepTheirWidth) {
  const std::vector<double> values{123456.789};
  EXPECT_EQ(learning_line({"", 1, 9, "mae", values, values[0], 1e9, ""}, 120, false),
            "epoch 1/9  mae 1.2346e+05  best 1.2346e+05  loss 1e+09");
}

}  // namespace
}  // namespace qw
