#include "report/event_file.h"

#include <array>
#include <bit>
#include <cmath>

namespace qw {
namespace {

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kReflectedPolynomial = 0x82F63B78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? kReflectedPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

// The checksum of data that holds checksums itself says little: TFRecords store it rotated and shifted.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xA282EAD8; }

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k) text += static_cast<char>(value >> (8 * k) & 0xFF);
  return text;
}

std::string framed(const std::string& message) {
  const std::string length = little_endian(message.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + message +
         little_endian(masked(crc32c(message)), 4);
}

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

// Fields of protobuf by the way they are written.
std::string key(int field, int wire_type) { return varint(static_cast<uint64_t>(field << 3 | wire_type)); }
std::string integer(int field, int64_t value) { return key(field, 0) + varint(static_cast<uint64_t>(value)); }
std::string real(int field, double value) {
  return key(field, 1) + little_endian(std::bit_cast<uint64_t>(value), 8);
}
std::string bytes(int field, std::string_view value) {
  return key(field, 2) + varint(value.size()) + std::string(value);
}
std::string single(int field, float value) {
  return key(field, 5) + little_endian(std::bit_cast<uint32_t>(value), 4);
}

// Field numbers of tensorflow/core/util/event.proto and what it includes.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum ValueField { kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9 };
enum TensorField { kDataType = 1, kShape = 2, kStrings = 8 };

std::string event(double time, int64_t step) { return real(kWallTime, time) + integer(kStep, step); }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

std::string version_record(double time) {
  return framed(real(kWallTime, time) + bytes(kFileVersion, "brain.Event:2"));
}

std::string restart_record(double time, int64_t step) {
  constexpr int kStatus = 1, kStart = 1;
  return framed(event(time, step) + bytes(kSessionLog, integer(kStatus, kStart)));
}

std::string scalars_record(double time, int64_t step,
                           const std::vector<std::pair<std::string, double>>& scalars) {
  constexpr int kValue = 1;
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    if (!std::isfinite(value)) continue;
    summary += bytes(kValue, bytes(kTag, tag) + single(kSimpleValue, static_cast<float>(value)));
  }
  return summary.empty() ? "" : framed(event(time, step) + bytes(kSummary, summary));
}

std::string text_record(double time, const std::string& tag, std::string_view markdown) {
  constexpr int kValue = 1, kPluginData = 1, kPluginName = 1, kDimension = 2, kSize = 1, kString = 7;
  const std::string one_string = integer(kDataType, kString) +
                                 bytes(kShape, bytes(kDimension, integer(kSize, 1))) +
                                 bytes(kStrings, markdown);
  const std::string value = bytes(kTag, tag) + bytes(kTensor, one_string) +
                            bytes(kMetadata, bytes(kPluginData, bytes(kPluginName, "text")));
  return framed(event(time, 0) + bytes(kSummary, bytes(kValue, value)));
}

}  // namespace qw
