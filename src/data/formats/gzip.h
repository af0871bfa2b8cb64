// DEFLATE streams (zlib), with bounds on what comes out: a few bytes can claim, and even hold, gigabytes.
//
// At most kUsualRatio times what goes in is unpacked, and kAlwaysAllowed on top; real data stays far below
// it. The environment variable QW_UNPACK_RATIO replaces the ratio. Nor is more unpacked than there is memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qw {

inline constexpr uint64_t kUsualRatio = 200;
inline constexpr uint64_t kMaxDeflateRatio = 1032;  // the format itself cannot expand more
inline constexpr uint64_t kAlwaysAllowed = uint64_t{64} << 20;

// All members of a gzip file. `label` names it in errors.
std::string gunzip(std::string_view packed, const std::string& label);

// The same, piece by piece.
void gunzip_pieces(std::string_view packed, const std::string& label,
                   const std::function<void(std::string_view)>& visit);

// A raw DEFLATE stream that must unpack to exactly `size` bytes.
std::string inflate_raw(std::string_view packed, uint64_t size, const std::string& label);

// One gzip member, for writing `.gz` files.
std::string gzip(std::string_view plain);

}  // namespace qw
