// Dropout on raw pointers, its random bits drawn by counting.
//
// Floor: one read and one write per element, and Philox's ten rounds per four elements: 5 products of 32 x 32
// bits and 10 exclusive ors for each element. The arithmetic is the larger part, so counters are drawn
// `kDropoutBlocks` at a time, in arrays that the compiler turns into vectors; nothing is stored but the
// result.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/philox_batch.h"
#include "kernels/select.h"
#include "kernels/stream.h"

namespace qw::kernels {

constexpr int kDropoutBlocks = 32;                 // counters drawn together
constexpr int kDropoutBatch = 4 * kDropoutBlocks;  // elements that they serve

struct DropoutRule {
  double p;  // in [0, 1)
  uint64_t seed;
  uint32_t epoch;
  uint32_t layer;
};

// The 32 random bits of each of the elements [batch * kDropoutBatch, (batch + 1) * kDropoutBatch): element i
// gets lane i % 4 of qw::philox({i / 4, i / 4 >> 32, layer, epoch}, seed).
QW_INLINE void dropout_bits(const DropoutRule& rule, uint64_t batch, uint32_t* bits) {
  uint32_t words[4][kDropoutBlocks];
  const uint64_t first = batch * kDropoutBlocks;  // its low half does not overflow within a batch
  for (int k = 0; k < kDropoutBlocks; ++k) {
    words[0][k] = static_cast<uint32_t>(first) + static_cast<uint32_t>(k);
    words[1][k] = static_cast<uint32_t>(first >> 32);
    words[2][k] = rule.layer;
    words[3][k] = rule.epoch;
  }
  philox_batch(words, kDropoutBlocks, rule.seed);
  for (int k = 0; k < kDropoutBlocks; ++k) {
    for (int lane = 0; lane < 4; ++lane) bits[4 * k + lane] = words[lane][k];
  }
}

// Bits below it drop an element: p * 2^32, rounded up; 2^32 and more drop everything.
inline uint64_t dropout_threshold(double p) { return static_cast<uint64_t>(std::ceil(p * 0x1p32)); }

// Not a factor of 0, which would let infinities through as NaN.
template <class T>
QW_BOTH_INLINE T kept(T value, T scale, uint32_t bits, uint32_t threshold) {
  return zero_where(bits < threshold, value * scale);
}

// result[i] = values[i] / (1 - p) where the bits of element i are at least p * 2^32, else 0. In place when
// result is values.
template <class T>
void dropout_cpu(const DropoutRule& rule, const T* values, int64_t size, T* result);

// The same where the values are rows of a longer list: row r, values begins[r] .. begins[r + 1], is its
// elements from firsts[r] on.
template <class T>
void dropout_rows_cpu(const DropoutRule& rule, const int64_t* begins, const int64_t* firsts, int64_t rows,
                      const T* values, T* result);

// The same as dropout_cpu; `epoch` stands for the rule's.
template <class T>
void dropout_cuda(const DropoutRule& rule, const StepNumber& epoch, const T* values, int64_t size, T* result,
                  Stream stream);

// The same as dropout_rows_cpu.
template <class T>
void dropout_rows_cuda(const DropoutRule& rule, const StepNumber& epoch, const int64_t* begins,
                       const int64_t* firsts, int64_t rows, const T* values, T* result, Stream stream);

}  // namespace qw::kernels
