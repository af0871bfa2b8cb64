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

#include <cstdint>

#include "kernels/exponential.h"

namespace qw::kernels {

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
