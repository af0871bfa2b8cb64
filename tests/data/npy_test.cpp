#include "data/formats/npy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "data/formats/utf8.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) file += static_cast<char>(header.size() >> (8 * k));
  return file + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + "}";
}

NpyArray array_of(const std::string& descr, const std::string& shape, const std::string& data,
                  bool fortran = false) {
  return read_npy(npy(header_of(descr, shape, fortran), data), "a.npy");
}

std::string bytes_of(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

TEST(Npy, WrittenArraysComeBack) {
  const std::vector<float> floats = {1.5f, -2.0f, 0.0f, 3.0f, 4.0f, 5.0f};
  const NpyArray array = read_npy(write_npy(floats, {2, 3}), "a.npy");
  EXPECT_EQ(array.descr, "<f4");
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_EQ(array.size(), 6);
  EXPECT_EQ(array.as_float(), floats);
  EXPECT_EQ(read_npy(write_npy(std::vector<double>{0.1}, {}), "a").as_double(), std::vector<double>{0.1});
  EXPECT_THAT(read_npy(write_npy(std::vector<int32_t>{-7, 8}, {2}), "a").as_int64(), ElementsAre(-7, 8));
  const std::vector<int64_t> wide = {std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(read_npy(write_npy(wide, {2, 1}), "a").as_int64(), wide);
  EXPECT_THAT(read_npy(write_npy(std::vector<bool>{true, false}, {2}), "a").as_bool(),
              ElementsAre(true, false));
  const std::vector<std::string> texts = {"", "caf\xc3\xa9", "\xf0\x9f\x98\x80"};
  const NpyArray text_array = read_npy(write_npy(texts, {3}), "a");
  EXPECT_EQ(text_array.descr, "<U4");
  EXPECT_EQ(text_array.as_strings(), texts);
}

TEST(Npy, HeadersAreAlignedAsNumpyWritesThem) {
  const std::string file = write_npy(std::vector<float>{}, {0});
  EXPECT_EQ(file.size() % 64, 0u);
  EXPECT_EQ(file.back(), '\n');
  EXPECT_THAT(file, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }"));
}

TEST(Npy, ReadsEveryNumberType) {
  EXPECT_THAT(array_of("|b1", "(2,)", bytes_of({0, 1})).as_int64(), ElementsAre(0, 1));
  EXPECT_THAT(array_of("|i1", "(2,)", bytes_of({255, 1})).as_int64(), ElementsAre(-1, 1));
  EXPECT_THAT(array_of("|u1", "(2,)", bytes_of({255, 1})).as_int32(), ElementsAre(255, 1));
  EXPECT_THAT(array_of("<i2", "(1,)", bytes_of({0xfe, 0xff})).as_int64(), ElementsAre(-2));
  EXPECT_THAT(array_of(">i2", "(1,)", bytes_of({0xff, 0xfe})).as_int64(), ElementsAre(-2));
  EXPECT_THAT(array_of("<u2", "(1,)", bytes_of({0, 0x80})).as_int64(), ElementsAre(0x8000));
  EXPECT_THAT(array_of(">i4", "(1,)", bytes_of({0, 0, 1, 2})).as_int32(), ElementsAre(258));
  EXPECT_THAT(array_of("<u4", "(1,)", bytes_of({255, 255, 255, 255})).as_int64(), ElementsAre(4294967295));
  EXPECT_THAT(array_of(">i8", "(1,)", bytes_of({0, 0, 0, 0, 0, 0, 1, 0})).as_double(), ElementsAre(256.0));
  EXPECT_THAT(array_of(">f4", "(1,)", bytes_of({0x3f, 0x80, 0, 0})).as_float(), ElementsAre(1.0f));
  EXPECT_THAT(array_of("<f8", "(1,)", bytes_of({0, 0, 0, 0, 0, 0, 0xf0, 0xbf})).as_int32(), ElementsAre(-1));
}

TEST(Npy, ReadsHalfPrecision) {
  const NpyArray array = array_of(
      "<f2", "(6,)", bytes_of({0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b, 0x00, 0x7c, 0x01, 0x7c}));
  const std::vector<double> values = array.as_double();
  EXPECT_EQ(values[0], 1.0);
  EXPECT_EQ(values[1], -2.0);
  EXPECT_EQ(values[2], std::ldexp(1.0, -24));
  EXPECT_EQ(values[3], 65504.0);
  EXPECT_EQ(values[4], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(values[5]));
}

TEST(Npy, FortranOrderIsTransposed) {
  EXPECT_THAT(array_of("|u1", "(2, 3)", bytes_of({1, 4, 2, 5, 3, 6}), true).as_int64(),
              ElementsAre(1, 2, 3, 4, 5, 6));
  const NpyArray cube = array_of("|u1", "(2, 1, 3)", bytes_of({1, 4, 2, 5, 3, 6}), true);
  EXPECT_THAT(cube.as_float(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(array_of("|S1", "(2, 2)", "acbd", true).as_strings(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(array_of("|u1", "(3,)", bytes_of({1, 2, 3}), true).as_int64(), ElementsAre(1, 2, 3));
}

TEST(Npy, ReadsText) {
  EXPECT_THAT(array_of("|S3", "(2,)", std::string("ab\0\0b\0", 6)).as_strings(),
              ElementsAre("ab", std::string("\0b", 2)));
  EXPECT_THAT(array_of(">U2", "(1,)", bytes_of({0, 0, 0, 'a', 0, 0, 0, 0xe9})).as_strings(),
              ElementsAre("a\xc3\xa9"));
  EXPECT_TRUE(array_of("|S3", "(0,)", "").is_string());
  EXPECT_EQ(error_of([] {
              array_of("<U1", "(1,)", bytes_of({0, 0xd8, 0, 0})).as_strings();
            }),
            "a.npy: item 0 holds 0xd800, which is not a character");
  EXPECT_EQ(error_of([] { array_of("<f4", "(0,)", "").as_strings(); }),
            "a.npy: items of type '<f4'; expected text");
  EXPECT_EQ(error_of([] { array_of("|S2", "(1,)", "12").as_float(); }),
            "a.npy: holds text ('|S2'); expected numbers");
  EXPECT_EQ(error_of([] { write_npy(std::vector<std::string>{"\xff"}, {1}); }),
            "cannot write '\xff' as a unicode array: it is not UTF-8");
}

TEST(Npy, ObjectsAreRecognisedAndLeftAlone) {
  const NpyArray array = array_of("|O", "(2,)", "pickled");
  EXPECT_TRUE(array.is_object());
  EXPECT_FALSE(array.is_string());
  EXPECT_EQ(error_of([&] { array.as_float(); }),
            "a.npy: holds Python objects, which are never unpickled; expected numbers");
}

TEST(Npy, IntegersMustBeExact) {
  EXPECT_EQ(error_of([] {
              read_npy(write_npy(std::vector<double>{1, 2.5}, {2}), "a").as_int64();
            }),
            "a: item 1 is 2.5; expected a 64-bit integer");
  EXPECT_EQ(error_of([] { read_npy(write_npy(std::vector<double>{NAN}, {1}), "a").as_int64(); }),
            "a: item 0 is nan; expected a 64-bit integer");
  EXPECT_EQ(
      error_of([] { read_npy(write_npy(std::vector<double>{std::ldexp(1, 63)}, {1}), "a").as_int64(); }),
      "a: item 0 is 9.223372036854776e+18; expected a 64-bit integer");
  EXPECT_EQ(error_of([] { read_npy(write_npy(std::vector<int64_t>{1LL << 31}, {1}), "a").as_int32(); }),
            "a: item 0 is 2147483648; expected a 32-bit integer");
  EXPECT_EQ(error_of([] { array_of("<u8", "(1,)", std::string(8, '\xff')).as_int64(); }),
            "a.npy: item 0 is 18446744073709551615; expected a 64-bit integer");
  EXPECT_EQ(error_of([] { array_of("|u1", "(1,)", "\x02").as_bool(); }),
            "a.npy: item 0 is 2; expected 0 or 1");
  EXPECT_THAT(read_npy(write_npy(std::vector<float>{0, 1}, {2}), "a").as_bool(), ElementsAre(false, true));
}

TEST(Npy, AcceptsWhatOtherVersionsWrite) {
  EXPECT_THAT(
      read_npy(npy("{\"shape\": (2L,), 'fortran_order': False, 'descr': '|u1', }   \n", "ab", 2), "a").shape,
      ElementsAre(2));
  EXPECT_THAT(read_npy(npy(header_of("|u1", "()"), "a", 3), "a").as_int64(), ElementsAre('a'));
}

TEST(Npy, RefusesBadHeaders) {
  const auto read = [](const std::string& file) { return error_of([&] { read_npy(file, "a"); }); };
  EXPECT_EQ(read("hello"), "a: byte 0: not a .npy array");
  EXPECT_EQ(read(npy("", "", 4)), "a: byte 6: version 4 of the .npy format; expected 1, 2 or 3");
  EXPECT_EQ(read(npy("", "").substr(0, 9)), "a: byte 9: the array ends within its header");
  EXPECT_EQ(read(npy(header_of("<f4", "(1,)"), "").substr(0, 20)),
            "a: byte 8: a header of 55 bytes in an array of 20");
  EXPECT_EQ(read(npy("[]", "")), "a: byte 10: the header should have '{', found '[]'");
  EXPECT_EQ(read(npy("{'descr'", "")), "a: byte 18: the header should have ':', found its end");
  EXPECT_EQ(
      read(npy("{'descr': [('x', '<f4')]}", "")),
      "a: byte 20: the header should have a plain type such as '<f4' (structured arrays are not supported), "
      "found '[('x', '<f4''");
  EXPECT_EQ(read(npy("{'fortran_order': maybe}", "")),
            "a: byte 28: the header should have True or False, found 'maybe}'");
  EXPECT_EQ(read(npy("{'shape': (-1,)}", "")),
            "a: byte 21: the header should have a length that fits 64 bits, found '-1,)}'");
  EXPECT_EQ(read(npy("{'shape': (99999999999999999999,)}", "")),
            "a: byte 21: the header should have a length that fits 64 bits, found '999999999999'");
  EXPECT_EQ(read(npy("{'shape': (1 2)}", "")), "a: byte 23: the header should have ',' or ')', found '2)}'");
  EXPECT_EQ(read(npy("{'shape': (), 'shape': ()}", "")),
            "a: byte 32: the header's key 'shape' is unknown or stands twice");
  EXPECT_EQ(read(npy("{'shape': ()", "")), "a: byte 22: the header should have ',' or '}', found its end");
  EXPECT_EQ(read(npy("{'shape': ()}", "")),
            "a: byte 10: the header lacks one of 'descr', 'fortran_order' and 'shape'");
  EXPECT_EQ(read(npy(header_of("<f4", "()") + "x", "")),
            "a: byte 63: the header should have the end of the header, found 'x'");
}

TEST(Npy, RefusesSizesThatDoNotFitTheBytes) {
  const auto read = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return error_of([&] { array_of(descr, shape, data); });
  };
  EXPECT_EQ(read("<f4", "(3,)", "12345678"), "a.npy: shape [3] of '<f4' does not fit the 8 bytes of data");
  EXPECT_EQ(read("<f4", "(2,)", "123456789"), "a.npy: shape [2] of '<f4' does not fit the 9 bytes of data");
  EXPECT_EQ(read("<f4", "(1000000000000,)", "1234"),
            "a.npy: shape [1000000000000] of '<f4' does not fit the 4 bytes of data");
  EXPECT_EQ(read("<f4", "(4294967296, 4294967296)", ""),
            "a.npy: shape [4294967296, 4294967296] of '<f4' does not fit the 0 bytes of data");
  EXPECT_EQ(read("<U0", "(1000000000000,)", ""),
            "a.npy: shape [1000000000000] of '<U0' does not fit the 0 bytes of data");
  EXPECT_EQ(array_of("<f4", "(4294967296, 4294967296, 0)", "").as_float().size(), 0u);
  std::string dimensions;
  for (int k = 0; k < 65; ++k) dimensions += "1,";
  EXPECT_EQ(read("|u1", "(" + dimensions + ")", "a"),
            "a.npy: an array of 65 dimensions; expected at most 64, none negative");
  for (const char* descr : {"<c8", "<f3", "<i16", "|b2", "", "<", "<M8[ns]", "<f-4", "|S99999999999"}) {
    EXPECT_THAT(read(descr, "(1,)", "a"), HasSubstr("expected bool, integers, floating point or text"))
        << descr;
  }
}

TEST(Npz, LoadsByName) {
  const std::string bytes = write_zip({{"x.npy", write_npy(std::vector<float>{1}, {1})},
                                       {"names.npy", npy(header_of("|O", "(1,)"), "")},
                                       {"bad.npy", npy(header_of("<f4", "(2,)"), "")}});
  const NpzArchive archive(bytes, "p.npz");
  EXPECT_TRUE(archive.has("x"));
  EXPECT_FALSE(archive.has("y"));
  EXPECT_TRUE(archive.is_object("names"));
  EXPECT_FALSE(archive.is_object("x"));
  EXPECT_THAT(archive.load("x").as_float(), ElementsAre(1));
  EXPECT_EQ(error_of([&] { archive.load("y"); }), "p.npz: has no array 'y'");
  EXPECT_EQ(error_of([&] { archive.load("bad"); }),
            "p.npz: bad: shape [2] of '<f4' does not fit the 0 bytes of data");
}

TEST(Utf8, DecodesOnlyWhatIsWellFormed) {
  EXPECT_EQ(decode_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), std::u32string(U"a\u00e9\u20ac\U0001f600"));
  for (const char* bad : {"\x80", "\xc3", "\xc3z", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(decode_utf8(bad).has_value()) << bad;
  }
  std::string text;
  EXPECT_FALSE(append_utf8(text, 0xdfff));
  EXPECT_FALSE(append_utf8(text, 0x110000));
  EXPECT_TRUE(append_utf8(text, 0x20ac));
  EXPECT_EQ(text, "\xe2\x82\xac");
}

}  // namespace
}  // namespace qw
