#include "data/formats/lines.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

using NumberedLines = std::vector<std::pair<int64_t, std::string>>;

NumberedLines lines_of(std::string_view text) {
  NumberedLines result;
  LineScanner lines(text, "f");
  while (lines.next()) result.emplace_back(lines.line_number(), lines.line());
  EXPECT_EQ(count_lines(text), static_cast<int64_t>(result.size()));
  return result;
}

template <class Fields>
std::vector<std::string> all_fields(Fields fields) {
  std::vector<std::string> result;
  for (std::string_view field; fields.next(field);) result.emplace_back(field);
  return result;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A scanner that stands on line 2 of f.txt.
LineScanner on_line_two() {
  LineScanner lines("header\nvalue\n", "f.txt");
  lines.next();
  lines.next();
  return lines;
}

TEST(LineScanner, HandlesEveryLineEnd) {
  const NumberedLines expected = {{1, "a"}, {2, ""}, {3, "b c"}};
  EXPECT_EQ(lines_of("a\n\nb c\n"), expected);
  EXPECT_EQ(lines_of("a\n\nb c"), expected);
  EXPECT_EQ(lines_of("a\r\n\r\nb c\r\n"), expected);
  EXPECT_EQ(lines_of("a\r\n\r\nb c\r"), expected);
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"
                     "a\n\nb c\n\n\r\n"),
            expected);
}

TEST(LineScanner, FindsNoLinesInEmptyText) {
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_TRUE(lines_of("\n\r\n").empty());
  EXPECT_TRUE(lines_of("\xEF\xBB\xBF").empty());
}

TEST(LineScanner, KeepsEmptyLinesAtTheFront) {
  EXPECT_EQ(lines_of("\nx"), (NumberedLines{{1, ""}, {2, "x"}}));
}

TEST(LineScanner, StaysOnTheLastLine) {
  LineScanner lines("a\nb", "f.txt");
  while (lines.next()) {
  }
  EXPECT_FALSE(lines.next());
  EXPECT_EQ(lines.line_number(), 2);
  EXPECT_EQ(error_of([&] { lines.reject("bad"); }), "f.txt:2: bad");
}

TEST(LineScanner, ReadsNumbers) {
  const LineScanner lines = on_line_two();
  EXPECT_EQ(lines.integer("-12", "x"), -12);
  EXPECT_EQ(lines.integer("+9223372036854775807", "x"), 9223372036854775807);
  EXPECT_EQ(lines.integer_in("7", "x", 0, 7), 7);
  EXPECT_EQ(lines.real("-1.5e3", "x"), -1500.0);
  EXPECT_EQ(lines.real_float("0.1", "x"), 0.1f);
}

TEST(LineScanner, SaysWhatIsWrongWithNumbers) {
  const LineScanner lines = on_line_two();
  const auto integer = [&](const char* field) { return error_of([&] { lines.integer(field, "node id"); }); };
  EXPECT_EQ(integer("12x"), "f.txt:2: node id '12x' is not an integer");
  EXPECT_EQ(integer(""), "f.txt:2: node id '' is not an integer");
  EXPECT_EQ(integer(" 1"), "f.txt:2: node id ' 1' is not an integer");
  EXPECT_EQ(integer("1.0"), "f.txt:2: node id '1.0' is not an integer");
  EXPECT_EQ(integer("9223372036854775808"), "f.txt:2: node id '9223372036854775808' is not an integer");
  EXPECT_EQ(error_of([&] { lines.integer_in("8", "node id", 0, 7); }),
            "f.txt:2: node id 8 is outside 0 to 7");
  EXPECT_EQ(error_of([&] { lines.integer_in("-1", "node id", 0, 7); }),
            "f.txt:2: node id -1 is outside 0 to 7");
  EXPECT_EQ(error_of([&] { lines.integer_in("0", "node id", 0, -1); }),
            "f.txt:2: node id 0 cannot be: there are none");
  EXPECT_EQ(error_of([&] { lines.real("1,5", "value"); }), "f.txt:2: value '1,5' is not a number");
  EXPECT_EQ(error_of([&] { lines.real("nan", "value"); }), "f.txt:2: value 'nan' is not finite");
  EXPECT_EQ(error_of([&] { lines.real("-inf", "value"); }), "f.txt:2: value '-inf' is not finite");
  EXPECT_EQ(error_of([&] { lines.real_float("1e39", "value"); }),
            "f.txt:2: value '1e39' is too large for a 32-bit number");
}

TEST(SeparatedFields, SplitsAtEverySeparator) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(all_fields(SeparatedFields("a,,b", ',')), (Strings{"a", "", "b"}));
  EXPECT_EQ(all_fields(SeparatedFields("a\tb c\t", '\t')), (Strings{"a", "b c", ""}));
  EXPECT_EQ(all_fields(SeparatedFields("", ',')), (Strings{""}));
}

TEST(BlankFields, SplitsAtRunsOfBlanks) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(all_fields(BlankFields("  1 \t 2  ")), (Strings{"1", "2"}));
  EXPECT_EQ(all_fields(BlankFields("one")), (Strings{"one"}));
  EXPECT_TRUE(all_fields(BlankFields(" \t ")).empty());
}

TEST(SplitFields, CountsMoreThanFit) {
  std::array<std::string_view, 2> fields;
  EXPECT_EQ(split_fields(SeparatedFields("a,b,c", ','), fields), 3u);
  EXPECT_EQ(fields[0], "a");
  EXPECT_EQ(fields[1], "b");
  EXPECT_EQ(split_fields(BlankFields(" x "), fields), 1u);
  EXPECT_EQ(fields[0], "x");
}

class LineChunks : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(threads_before_); }

 private:
  int threads_before_ = thread_count();
};

std::string counted_text(int64_t lines) {
  std::string text;
  for (int64_t line = 1; line <= lines; ++line)
    text += std::to_string(line) + (line % 3 == 0 ? "\r\n" : "\n");
  return text;
}

TEST_P(LineChunks, VisitEveryLineOnceWithItsNumber) {
  constexpr int64_t kLines = 700'000;  // 4.9 MB: several chunks
  const std::string text = counted_text(kLines);
  std::vector<std::atomic<int>> visits(kLines + 1);
  for_line_chunks(text, "f", [&](LineScanner& lines) {
    while (lines.next()) {
      EXPECT_EQ(lines.integer(lines.line(), "line"), lines.line_number());
      ++visits[lines.line_number()];
    }
  });
  for (int64_t line = 1; line <= kLines; ++line) ASSERT_EQ(visits[line], 1) << line;
}

TEST_P(LineChunks, ThrowTheErrorNearestToTheTop) {
  std::string text = counted_text(700'000);
  const size_t bad = text.find("\n90001\n") + 1;
  text[bad] = 'x';
  text[text.size() - 4] = 'y';
  const auto read_all = [&] {
    for_line_chunks(text, "f", [](LineScanner& lines) {
      while (lines.next()) lines.integer(lines.line(), "number");
    });
  };
  EXPECT_EQ(error_of(read_all), "f:90001: number 'x0001' is not an integer");
}

TEST_P(LineChunks, KeepEmptyLinesAtCuts) {
  const std::string text = "a" + std::string(3'000'000, '\n') + "b";
  std::atomic<int64_t> count = 0;
  for_line_chunks(text, "f", [&](LineScanner& lines) {
    while (lines.next()) ++count;
  });
  EXPECT_EQ(count, 3'000'001);
  EXPECT_EQ(count, count_lines(text));
}

TEST_P(LineChunks, SkipAnEmptyText) {
  for_line_chunks("\n\n", "f", [](LineScanner&) { FAIL(); });
}

INSTANTIATE_TEST_SUITE_P(Threads, LineChunks, testing::Values(1, 2, 5));

}  // namespace
}  // namespace qw
