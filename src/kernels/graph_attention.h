// Graph attention on raw pointers, row-major: softmax of leaky scores over each row of a sparse pattern, then
// the weighted sum of the gathered features, without a weight ever being stored.
//
// With W = heads * depth, for each entry at least:
//   forward            2 W flops on a gathered row of features [W], one exponential a head;
//   backward, rows     2 W flops, <gradient[i], features[j]>, on a gathered row of features, the same
//                      exponentials;
//   backward, columns  4 W flops, these products and the sum, on a gathered row of the gradient, and again
//                      the exponentials;
// and, with dropout, one Philox block for each entry and head in each of the three. Results are written once
// for every kBlock entries of a row; the working set beside the gathered rows is a few KiB of stack.
#pragma once

#include <bit>
#include <cstdint>

#define QW_INLINE inline __attribute__((always_inline))

namespace qw::kernels {

// exp(x) for x <= 0 to a few ulp, in plain arithmetic so that loops over it are vectorised; 0 where the
// result would be subnormal. x = n ln 2 + r with |r| <= ln 2 / 2; adding `kShift` leaves n in the low bits.
QW_INLINE float exponential(float x) {
  constexpr float kShift = 0x1.8p23f;
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127u) << 23);
  return x < -87.0f ? 0.0f : (p * (r * r) + r + 1.0f) * power;
}

QW_INLINE double exponential(double x) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x * 1.44269504088896341 + kShift;
  const double n = shifted - kShift;
  const double r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023u) << 52);
  return x < -708.0 ? 0.0 : (p * (r * r) + r + 1.0) * power;
}

template <class T>
QW_INLINE T leaky_slope(T x, T negative_slope) {
  return x > 0 ? T{1} : negative_slope;
}

template <class T>
QW_INLINE T leaky(T x, T negative_slope) {
  return x * leaky_slope(x, negative_slope);
}

// Weight `entry` of head h is dropped when word 0 of philox({low, high, layer, epoch}, seed), with low and
// high the halves of entry * heads + h, is below `threshold`; what is kept is multiplied by `scale`.
template <class T>
struct AttentionDropout {
  uint32_t threshold;  // 0: none, and no random number is drawn
  T scale;
  uint64_t seed;
  uint32_t layer;
  uint32_t epoch;
};

template <class T>
struct AttentionView {
  const int64_t* offsets;  // [nodes + 1]
  const int32_t* columns;  // [entries]
  const int64_t* order;  // null, or entry k of this pattern is entry order[k] of the weights and the dropout
  int64_t nodes;
  int64_t heads;
  int64_t depth;           // features of one head
  const T* features;       // [nodes, heads * depth]
  const T* source_scores;  // [nodes, heads]
  const T* target_scores;  // [nodes, heads]
  const T* edge_weights;   // null, or [entries]
  T negative_slope;
  AttentionDropout<T> dropout;
};

// What the softmax of each row and head subtracts and divides by, [nodes, heads] each; 0 and 1 for a row
// without entries.
template <class T>
struct AttentionStatistics {
  T* maximum;
  T* sum;
};

// result [nodes, heads * depth] and the statistics, over the rows of the pattern.
template <class T>
void graph_attention_forward_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                 T* result);

// Over the rows of the pattern, from gradient [nodes, heads * depth]: delta and target_gradient [nodes,
// heads], and edge_gradient [entries] unless it is null.
template <class T>
void graph_attention_backward_rows_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                       const T* gradient, T* delta, T* target_gradient, T* edge_gradient);

// Over the rows of the transposed pattern, which `view` has to be: features_gradient [nodes, heads * depth]
// and source_gradient [nodes, heads].
template <class T>
void graph_attention_backward_columns_cpu(const AttentionView<T>& view,
                                          const AttentionStatistics<T>& statistics, const T* gradient,
                                          const T* delta, T* features_gradient, T* source_gradient);

}  // namespace qw::kernels
