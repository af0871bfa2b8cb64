// DEFLATE streams (zlib). What comes out is at most kMaxDeflateRatio times what goes in, by the format
// itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qw {

// DEFLATE cannot expand more than this; a header that claims more is refused before anything is allocated.
inline constexpr uint64_t kMaxDeflateRatio = 1032;

// All members of a gzip file. `label` names it in errors.
std::string gunzip(std::string_view packed, const std::string& label);

// A raw DEFLATE stream that must unpack to exactly `size` bytes.
std::string inflate_raw(std::string_view packed, uint64_t size, const std::string& label);

// One gzip member, for writing `.gz` files.
std::string gzip(std::string_view plain);

}  // namespace qw
