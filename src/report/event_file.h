// The records of TensorBoard's event files: each is a message Event of protobuf, framed as a TFRecord (its
// length, the checksum of the length, the message, its checksum).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qw {

// CRC-32C (Castagnoli), as in iSCSI.
uint32_t crc32c(std::string_view bytes);

// Framed, ready to be appended to a file. Times are seconds since 1970.

// The first record of every file.
std::string version_record(double time);
// What other files say of this step and later ones counts no more.
std::string restart_record(double time, int64_t step);
// A number for each tag, kept in single precision; those that are not finite are left out. Empty when none is
// left.
std::string scalars_record(double time, int64_t step,
                           const std::vector<std::pair<std::string, double>>& scalars);
// Markdown, for the tab "Text".
std::string text_record(double time, const std::string& tag, std::string_view markdown);

}  // namespace qw
