#include "core/text.h"

#include <gtest/gtest.h>

namespace qw {
namespace {

TEST(Text, Trim) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, Split) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("a", ','), (std::vector<std::string>{"a"}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(split("", ',').empty());
}

TEST(Text, ParseInteger) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("+12"), 12);
  for (const char* bad : {"", "+", "++1", "+-1", "12x", " 12", "1.0", "99999999999999999999"}) {
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  }
}

TEST(Text, ParseNumber) {
  EXPECT_EQ(parse_number("1e-3"), 1e-3);
  EXPECT_EQ(parse_number("0.1"), 0.1);
  for (const char* bad : {"", "e3", "1,5", "0x10", "1.5 "}) EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
}

TEST(Text, QuotesAreSafeInOneLine) {
  EXPECT_EQ(in_quotes("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(in_quotes(std::string(50, 'x')), "'" + std::string(40, 'x') + "...'");
  EXPECT_EQ(in_quotes(std::string(39, 'x') + "\u00e9\u00e9"), "'" + std::string(39, 'x') + "...'")
      << "whole characters";
}

TEST(Text, UnknownNameSuggests) {
  EXPECT_EQ(unknown_name("gnc", {"appnp", "gcn"}), "'gnc' is unknown; did you mean 'gcn'? known: appnp, gcn");
  EXPECT_EQ(unknown_name("transformer", {"appnp", "gcn"}), "'transformer' is unknown; known: appnp, gcn");
  EXPECT_EQ(unknown_name("Cora", {"cora", "citeseer"}),
            "'Cora' is unknown; did you mean 'cora'? known: cora, citeseer");
}

TEST(Text, UnknownNameStaysOneReadableLine) {
  EXPECT_EQ(unknown_name("zz", {"a\nb"}), "'zz' is unknown; known: a\\x0ab");
  const std::string text = unknown_name("zzzzzz", std::vector<std::string>(100, "column"));
  EXPECT_TRUE(text.ends_with("column, and 70 more")) << text;
}

TEST(Text, ForPeople) {
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(-1234), "-1,234");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(4826570), "4.6 MiB");
}

}  // namespace
}  // namespace qw
