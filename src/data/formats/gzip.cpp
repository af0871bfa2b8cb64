#include "data/formats/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/memory.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kRawWindow = -15;
constexpr int kGzipWindow = 15 + 16;

class InflateStream {
 public:
  InflateStream(std::string_view packed, int window, std::string label) : label_(std::move(label)) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    remaining_ = packed.size();
    QW_ASSERT(inflateInit2(&stream_, window) == Z_OK);
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() { inflateEnd(&stream_); }

  // Fills `room` from the front; returns how much was written. Less than room.size() only at the end.
  size_t fill(char* room, size_t size) {
    size_t written = 0;
    while (written < size && !ended_) {
      feed();
      const auto chunk = static_cast<uInt>(std::min<size_t>(size - written, 1u << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(room + written);
      stream_.avail_out = chunk;
      const uInt offered = stream_.avail_in;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      consumed_ += offered - stream_.avail_in;
      written += chunk - stream_.avail_out;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status != Z_OK && !(status == Z_BUF_ERROR && remaining_ > 0)) {
        fail_at_byte(
            label_, consumed_,
            status == Z_BUF_ERROR ? "the compressed data ends early" : "the compressed data is damaged");
      }
    }
    return written;
  }

  bool ended() const { return ended_; }
  size_t unread() const { return remaining_ + stream_.avail_in; }

  // A gzip file may be several members one after the other.
  void next_member() {
    QW_ASSERT(inflateReset(&stream_) == Z_OK);
    ended_ = false;
  }

 private:
  void feed() {
    if (stream_.avail_in != 0) return;
    stream_.avail_in = static_cast<uInt>(std::min<size_t>(remaining_, 1u << 30));
    remaining_ -= stream_.avail_in;
  }

  std::string label_;
  z_stream stream_{};
  size_t remaining_ = 0;
  size_t consumed_ = 0;
  bool ended_ = false;
};

uint64_t allowed_ratio() {
  const char* text = std::getenv("QW_UNPACK_RATIO");
  if (text == nullptr || *text == '\0') return kUsualRatio;
  const auto ratio = parse_integer(text);
  if (!ratio || *ratio < 1 || *ratio > static_cast<int64_t>(kMaxDeflateRatio)) {
    fail_usage(fmt::format("QW_UNPACK_RATIO {} is not a whole number from 1 to {}", in_quotes(text),
                           kMaxDeflateRatio));
  }
  return static_cast<uint64_t>(*ratio);
}

// The most bytes that `packed` ones may become.
uint64_t allowed_size(uint64_t packed, uint64_t ratio) { return packed * ratio + kAlwaysAllowed; }

[[noreturn]] void fail_ratio(const std::string& label, uint64_t packed, uint64_t ratio) {
  fail(
      fmt::format("{}: unpacks to more than {}, {} times its {} and 64 MiB; if it is meant to, set "
                  "QW_UNPACK_RATIO={}",
                  label, human_bytes(static_cast<double>(allowed_size(packed, ratio))), ratio,
                  human_bytes(static_cast<double>(packed)), kMaxDeflateRatio));
}

// Unpacks up to `most` bytes, or one more where there is one. The room grows as bytes come, whatever a header
// claims.
std::string unpack(InflateStream& stream, std::string_view packed, uint64_t most, bool several_members,
                   const std::string& label) {
  constexpr uint64_t kSmallestRoom = 4096;
  std::string plain;
  size_t filled = 0;
  while (true) {
    const uint64_t wanted = std::max<uint64_t>({2 * plain.size(), 4 * packed.size(), kSmallestRoom});
    if (filled == plain.size()) {
      const uint64_t room = std::min(wanted, most + 1);
      require_memory(static_cast<double>(room), label + ": what it unpacks to", "give a smaller file");
      plain.resize(room);
    }
    filled += stream.fill(plain.data() + filled, plain.size() - filled);
    if (filled > most) break;
    if (!stream.ended()) continue;
    if (!several_members || stream.unread() == 0) break;
    stream.next_member();
  }
  plain.resize(filled);
  return plain;
}

}  // namespace

std::string gunzip(std::string_view packed, const std::string& label) {
  const uint64_t ratio = allowed_ratio();
  const uint64_t most = allowed_size(packed.size(), ratio);
  InflateStream stream(packed, kGzipWindow, label);
  std::string plain = unpack(stream, packed, most, true, label);
  if (plain.size() > most) fail_ratio(label, packed.size(), ratio);
  return plain;
}

void gunzip_pieces(std::string_view packed, const std::string& label,
                   const std::function<void(std::string_view)>& visit) {
  const uint64_t ratio = allowed_ratio();
  InflateStream stream(packed, kGzipWindow, label);
  std::string room(size_t{1} << 20, '\0');
  uint64_t unpacked = 0;
  while (true) {
    const size_t got = stream.fill(room.data(), room.size());
    unpacked += got;
    if (unpacked > allowed_size(packed.size(), ratio)) fail_ratio(label, packed.size(), ratio);
    if (got > 0) visit(std::string_view(room).substr(0, got));
    if (!stream.ended()) continue;
    if (stream.unread() == 0) return;
    stream.next_member();
  }
}

std::string inflate_raw(std::string_view packed, uint64_t size, const std::string& label) {
  if (size > packed.size() * kMaxDeflateRatio + 64) {
    fail(fmt::format("{}: claims {} bytes in {} compressed ones, more than DEFLATE can hold", label, size,
                     packed.size()));
  }
  const uint64_t ratio = allowed_ratio();
  if (size > allowed_size(packed.size(), ratio)) fail_ratio(label, packed.size(), ratio);
  InflateStream stream(packed, kRawWindow, label);
  std::string plain = unpack(stream, packed, size, false, label);
  if (plain.size() != size) {
    fail(fmt::format("{}: unpacks to {} than the {} bytes it claims", label,
                     plain.size() < size ? "less" : "more", size));
  }
  return plain;
}

std::string gzip(std::string_view plain) {
  z_stream stream{};
  QW_ASSERT(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) ==
            Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, deflateEnd);
  std::string packed(deflateBound(&stream, plain.size()) + 32, '\0');
  QW_ASSERT(plain.size() < (1u << 31));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  QW_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  return packed;
}

}  // namespace qw
