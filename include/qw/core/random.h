// Counter-based random numbers: a pure function of (seed, stream, counter), so that any element of any
// sequence can be drawn by any thread, on any device, in any order, and a resumed run needs no generator
// state.
//
// The generator is Philox4x32-10 (Salmon et al., SC 2011). Everything here gives the same bits on every
// platform.
#pragma once

#include <array>
#include <cstdint>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// The counter of Philox4x32, and the 128 random bits that come out.
using PhiloxBlock = std::array<uint32_t, 4>;

// Ten rounds of Philox4x32 on `counter` under a 64-bit key.
constexpr PhiloxBlock philox(PhiloxBlock counter, uint64_t key) {
  auto low = static_cast<uint32_t>(key);
  auto high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(product0)};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return counter;
}

// One sequence of random numbers, named by a seed and a stream number.
class RandomStream {
 public:
  // Streams of one seed are independent of each other.
  constexpr RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  // Element `counter` of the sequence as 64 random bits.
  constexpr uint64_t bits(uint64_t counter) const {
    const PhiloxBlock block = philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                                      static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                                     seed_);
    return (uint64_t{block[1]} << 32) | block[0];
  }

  // Uniform in [0, 1): a multiple of 2^-53.
  constexpr double uniform(uint64_t counter) const {
    return static_cast<double>(bits(counter) >> 11) * 0x1p-53;
  }

  // Uniform integer in [0, bound), bound >= 1; its bias is below bound / 2^64.
  constexpr uint64_t below(uint64_t counter, uint64_t bound) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(bits(counter)) * bound) >> 64);
  }

  // Standard normal: the inverse distribution function of one uniform number.
  double normal(uint64_t counter) const;

 private:
  uint64_t seed_;
  uint64_t stream_;
};

// Inverse of the standard normal distribution function for 0 < p < 1, to 1.2e-9 relative; the same bits on
// every platform, since it uses no function of the C library but sqrt.
double normal_quantile(double p);

}  // namespace qw
