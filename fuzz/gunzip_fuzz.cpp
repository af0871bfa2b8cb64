#include <optional>
#include <string>

#include "data/formats/gzip.h"
#include "support.h"

namespace {

template <class Unpack>
std::optional<std::string> unpacked(const Unpack& unpack) {
  try {
    return unpack();
  } catch (const qw::InternalError&) {
    throw;
  } catch (const qw::Error&) {
    return std::nullopt;
  }
}

void check_bound(const std::string& plain, size_t packed) {
  QW_ASSERT(plain.size() <= packed * qw::kUsualRatio + qw::kAlwaysAllowed);
}

}  // namespace

// The first byte chooses: 0, the rest is a gzip file; 1, a raw DEFLATE stream that claims the size that the
// next four bytes say; 2, plain text, packed here and unpacked again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kClaim = 4;
  if (size < 1 + kClaim) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) {
    if (const auto plain = unpacked([&] { return qw::gunzip(input, "fuzz.gz"); })) check_bound(*plain, size);
  } else if (data[0] % 3 == 1) {
    uint64_t claim = 0;
    for (size_t k = 0; k < kClaim; ++k) claim = claim << 8 | static_cast<unsigned char>(input[k]);
    const std::string_view stream = input.substr(kClaim);
    const auto plain = unpacked([&] { return qw::inflate_raw(stream, claim, "fuzz.npy"); });
    if (!plain) return 0;
    QW_ASSERT(plain->size() == claim);
    check_bound(*plain, size);
  } else {
    const std::string packed = qw::gzip(input);
    QW_ASSERT(qw::gunzip(packed + packed, "fuzz.gz") == std::string(input) + std::string(input));
    const std::string_view stream = std::string_view(packed).substr(10, packed.size() - 18);
    QW_ASSERT(qw::inflate_raw(stream, input.size(), "fuzz.npy") == input);
  }
  return 0;
}
