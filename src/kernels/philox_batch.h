// Philox of qw/core/random.h on many counters at once, a round at a time over all of them, so that it is
// vectorised.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/vectorise.h"

namespace qw::kernels {

// Word i of counter t is words[i][t], before and, as the random bits, after; t < count.
template <size_t kCapacity>
QW_INLINE void philox_batch(uint32_t (&words)[4][kCapacity], int64_t count, uint64_t key) {
  auto low = static_cast<uint32_t>(key);
  auto high = static_cast<uint32_t>(key >> 32);
#ifndef __CUDACC__
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    for (int64_t t = 0; t < count; ++t) {
      const uint64_t product0 = uint64_t{0xD2511F53u} * words[0][t];
      const uint64_t product1 = uint64_t{0xCD9E8D57u} * words[2][t];
      words[0][t] = static_cast<uint32_t>(product1 >> 32) ^ words[1][t] ^ low;
      words[1][t] = static_cast<uint32_t>(product1);
      words[2][t] = static_cast<uint32_t>(product0 >> 32) ^ words[3][t] ^ high;
      words[3][t] = static_cast<uint32_t>(product0);
    }
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
}

}  // namespace qw::kernels
