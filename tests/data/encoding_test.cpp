#include "data/formats/encoding.h"

#include "data/formats/edge_rows.h"
#include "data/formats/node_ids.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using namespace std::string_literals;

std::string read(const std::string& bytes, const std::string& encoding = "auto") {
  std::vector<std::string> notes;
  return to_utf8(bytes, "x.csv", encoding, notes);
}

TEST(Encoding, Utf8StaysAsItIs) {
  for (const std::string text : {"", "plain", "ä", "€ and 𝄞", "x\ty\r\nz\n"}) EXPECT_EQ(read(text), text);
  EXPECT_EQ(read("\xEF\xBB\xBFx"), "x");
  for (size_t before = 0; before < 20; ++before) {  // wherever the character falls in a word of eight bytes
    const std::string text = std::string(before, 'a') + "𝄞" + std::string(9, 'b');
    EXPECT_EQ(read(text, "utf-8"), text);
  }
}

TEST(Encoding, WhatIsNoUtf8IsWindows1252) {
  std::vector<std::string> notes;
  EXPECT_EQ(to_utf8("a\nM\xFCnch\x80n \x9F", "x.csv", "auto", notes), "a\nMünch€n Ÿ");
  EXPECT_EQ(notes,
            (std::vector<std::string>{"x.csv:2: not UTF-8, so the file was read as windows-1252; --encoding "
                                      "names another encoding"}));
  // Overlong, a surrogate, past U+10FFFF, cut off: bytes that only look like UTF-8.
  for (const std::string bytes : {"\xC0\xA0", "\xE0\x83\xBF", "\xED\xA0\x80", "\xF4\x95\x80\x80", "\xC3"}) {
    EXPECT_FALSE(is_valid_utf8(bytes));
    EXPECT_TRUE(is_valid_utf8(read(bytes, "windows-1252")));
  }
  EXPECT_EQ(error_of([] { read("a\n\x81"); }),
            "x.csv:2: byte 0x81 is no character in windows-1252; name the encoding with --encoding");
}

TEST(Encoding, Utf16) {
  EXPECT_EQ(read("\xFF\xFE"s + "a\0\n\0"s + "\xAC\x20"s), "a\n€");
  EXPECT_EQ(read("\xFE\xFF"s + "\0a"s + "\xD8\x34\xDD\x1E"s), "a𝄞") << "a pair is one character";
  EXPECT_EQ(error_of([] { read("\xFF\xFE"s + "a\0\n\0"s + "\x00\xD8"s); }),
            "x.csv:2: half a character of UTF-16; name the encoding with --encoding");
  EXPECT_EQ(error_of([] { read("\xFF\xFE"s + "a"s); }),
            "x.csv: UTF-16 has two bytes a character; one is missing");
}

TEST(Encoding, ControlBytes) {
  for (const char c : {'\x01', '\x0B', '\x1A', '\x7F'}) {
    EXPECT_THROW(read(std::string("a") + c), Error) << static_cast<int>(c);
  }
}

TEST(Encoding, BadBytesAreReplaced) {
  EXPECT_EQ(with_valid_utf8("a\xFFz\xC3"), "a\uFFFDz\uFFFD");
  EXPECT_EQ(with_valid_utf8("gr\u00FCn"), "gr\u00FCn");
}

TEST(EdgeRows, AttributesOfNetworkx) {
  using Attributes = std::vector<std::pair<std::string_view, std::string_view>>;
  EXPECT_EQ(attributes_of("{}"), Attributes{});
  EXPECT_EQ(attributes_of("{'weight': 2.0}"), (Attributes{{"weight", "2.0"}}));
  EXPECT_EQ(attributes_of("{'a': 'x, y', \"it's\": [1, 2], 'w': -1e-3}"),
            (Attributes{{"a", "x, y"}, {"it's", "[1, 2]"}, {"w", "-1e-3"}}));
  EXPECT_EQ(attributes_of("weight"), Attributes{});
}

TEST(EdgeRows, Styles) {
  const auto separator = [](std::string_view line) { return style_of_row(line).separator; };
  EXPECT_EQ(separator("1 2"), ' ');
  EXPECT_EQ(separator("1 2 0,5"), ' ');
  EXPECT_EQ(separator("1 2\t5"), ' ') << "KONECT";
  EXPECT_EQ(separator("1, 2"), ',');
  EXPECT_EQ(separator("New York,Los Angeles"), ',');
  EXPECT_EQ(separator("New York\tLos Angeles"), '\t');
  EXPECT_EQ(separator("\"a,b\";\"c,d,e\""), ';');
  EXPECT_TRUE(style_of_row("1,2,{'weight': 3}").attributes);
  EXPECT_FALSE(style_of_row("{1} {2} x").attributes);
}

TEST(NodeIds, WholeNumbersOfFloats) {
  EXPECT_EQ(without_zero_fraction("12.0"), "12");
  EXPECT_EQ(without_zero_fraction("0.000"), "0");
  for (const std::string_view same : {"12", "12.5", "12.", "007.0", "x.0", ".0", "-1.0", "1.0.0", ""}) {
    EXPECT_EQ(without_zero_fraction(same), same);
  }
}

}  // namespace
}  // namespace qw
