#include "data/formats/numbers.h"

#include <gtest/gtest.h>

namespace qw {
namespace {

constexpr NumberFormat kPoint{'.'}, kComma{','};

TEST(Numbers, DecimalMarks) {
  EXPECT_EQ(parse_finite("12.5", kPoint), 12.5);
  EXPECT_EQ(parse_finite("12,5", kComma), 12.5);
  EXPECT_EQ(parse_finite("-1,5e3", kComma), -1500.0);
  EXPECT_EQ(parse_finite(",5", kComma), 0.5);
  EXPECT_EQ(parse_finite("7", kComma), 7.0);
  for (const char* text : {"12,5", "", "x", "1 2", "inf", "nan", "1.2.3"})
    EXPECT_FALSE(parse_finite(text, kPoint)) << text;
  for (const char* text : {"12.5", "1,2,3", ",", "inf", "1.234,5"})
    EXPECT_FALSE(parse_finite(text, kComma)) << text;
  EXPECT_EQ(number_format(",").decimal, ',');
  EXPECT_EQ(number_format(".").decimal, '.');
  EXPECT_EQ(number_format("auto").decimal, '.');
}

TEST(Numbers, Hints) {
  const auto hint = [](std::string_view text, NumberFormat format = kPoint) {
    return number_hint(text, format).value_or("none");
  };
  EXPECT_EQ(hint("1,234.5"), "has thousands separators; write 1234.5");
  EXPECT_EQ(hint("-1 234 567"), "has thousands separators; write -1234567");
  EXPECT_EQ(hint("1.234.567"), "has thousands separators; write 1234567");
  EXPECT_EQ(hint("1.234,5", kComma), "has thousands separators; write 1234,5");
  EXPECT_EQ(hint("1\u2019234"), "has thousands separators; write 1234");
  EXPECT_EQ(hint("1,234"),
            "has a decimal mark or a thousands separator: say --decimal ,, or write it without");
  EXPECT_EQ(hint("1.234", kComma),
            "has a decimal mark or a thousands separator: say --decimal ., or write it without");
  EXPECT_EQ(hint("12,5"), "has a decimal comma; say --decimal ,");
  EXPECT_EQ(hint("12.5", kComma), "has a decimal point, but the decimal mark is a comma; say --decimal .");
  EXPECT_EQ(hint("12.5 %"), "has a percent sign; write the number alone");
  EXPECT_EQ(hint("-$1,200.50"), "has a currency sign; write the number alone");
  EXPECT_EQ(hint("\u00A312"), "has a currency sign; write the number alone");
  EXPECT_EQ(hint("-inf"), "is infinite; expected a finite number");
  for (const char* text : {"", "12", "12.5", "x", "12x", "2020-01-31", "1.2.3", "10.0.0.1", "12:30", "%", "$",
                           "12 34", "1234 AB", "info", "nan"}) {
    EXPECT_EQ(hint(text), "none") << text;
  }
}

TEST(Numbers, AmbiguousMarks) {
  for (const char* text : {"1,234", "-12,500", "999,999"}) EXPECT_TRUE(is_ambiguous(text, ',')) << text;
  for (const char* text : {"0,125", "1,23", "1234,567", "1,234,567", "1.234", "12", ",234", "1,2345"})
    EXPECT_FALSE(is_ambiguous(text, ',')) << text;
  EXPECT_TRUE(is_ambiguous("1.234", '.'));
}

TEST(Numbers, Truths) {
  for (const char* text : {"true", "TRUE", "True", "yes", "Yes"}) EXPECT_EQ(parse_truth(text), true) << text;
  for (const char* text : {"false", "FALSE", "no", "NO"}) EXPECT_EQ(parse_truth(text), false) << text;
  for (const char* text : {"", "1", "0", "t", "y", "none", "north"}) EXPECT_FALSE(parse_truth(text)) << text;
}

TEST(Numbers, MissingSpellings) {
  const MissingSpellings spellings({"NA", "?", ""});
  for (const char* text : {"", "NA", "?"}) EXPECT_TRUE(spellings.contains(text)) << text;
  for (const char* text : {"na", "N", "NAN", "??", "0"}) EXPECT_FALSE(spellings.contains(text)) << text;
  EXPECT_TRUE(MissingSpellings({}).contains(""));
  EXPECT_FALSE(MissingSpellings({}).contains("NA"));
}

}  // namespace
}  // namespace qw
