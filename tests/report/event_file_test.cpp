#include "report/event_file.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "support/support.h"

namespace qw {
namespace {

std::string bytes_of(const std::vector<int>& values) { return {values.begin(), values.end()}; }

// The message in a record, after both checksums were found right.
std::string message_of(const std::string& record) {
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, record.data() + at, sizeof value);
    return value;
  };
  const auto unmasked = [](uint32_t value) {
    const uint32_t rotated = value - 0xA282EAD8U;
    return rotated >> 17 | rotated << 15;
  };
  EXPECT_GE(record.size(), 16U);
  const uint32_t length = number(0);
  EXPECT_EQ(number(4), 0U);
  EXPECT_EQ(record.size(), 16U + length);
  EXPECT_EQ(unmasked(number(8)), crc32c(record.substr(0, 8)));
  const std::string message = record.substr(12, length);
  EXPECT_EQ(unmasked(number(12 + length)), crc32c(message));
  return message;
}

// RFC 3720, appendix B.4, and the check value of catalogues of CRCs.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  std::string up, down;
  for (int k = 0; k < 32; ++k) {
    up += static_cast<char>(k);
    down += static_cast<char>(31 - k);
  }
  EXPECT_EQ(crc32c(up), 0x46DD794EU);
  EXPECT_EQ(crc32c(down), 0x113FDB5CU);
}

TEST(EventFile, TheVersionIsTheFirstEvent) {
  const std::string message = message_of(version_record(1.0));
  // Field 1, a double; field 3, 13 bytes.
  EXPECT_EQ(message, bytes_of({0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0x1A, 13}) + "brain.Event:2");
}

TEST(EventFile, ScalarsByTheirTags) {
  const std::string message = message_of(scalars_record(1.0, 300, {{"loss", 0.5}}));
  // Step 300 is the varint AC 02; 0.5 in single precision is 3F000000.
  const std::string value = bytes_of({0x0A, 4}) + "loss" + bytes_of({0x15, 0, 0, 0, 0x3F});
  EXPECT_EQ(message,
            bytes_of({0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0x10, 0xAC, 0x02, 0x2A, 13, 0x0A, 11}) + value);
}

TEST(EventFile, WhatIsNotFiniteIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(scalars_record(1.0, 3, {{"a", nan}, {"b", 2.0}, {"c", INFINITY}}),
            scalars_record(1.0, 3, {{"b", 2.0}}));
  EXPECT_EQ(scalars_record(1.0, 3, {{"a", nan}}), "");
  EXPECT_EQ(scalars_record(1.0, 3, {}), "");
}

TEST(EventFile, ARestartNamesItsStep) {
  EXPECT_EQ(message_of(restart_record(1.0, 7)),
            bytes_of({0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0x10, 7, 0x3A, 2, 0x08, 1}));
}

TEST(EventFile, LongTextsHaveLongLengths) {
  const std::string text(1000, 'x');
  const std::string message = message_of(text_record(1.0, "options", text));
  EXPECT_NE(message.find(bytes_of({0x42, 0xE8, 0x07}) + text), std::string::npos)
      << "1000 is the varint E8 07";
}

}  // namespace
}  // namespace qw
