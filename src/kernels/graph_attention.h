// Graph attention on raw pointers, row-major: softmax of leaky scores over each row of a sparse pattern, then
// the weighted sum of the gathered features, without a weight ever being stored.
//
// With W = heads * depth, for each entry at least:
//   forward            2 W flops on a gathered row of features [W], one exponential a head;
//   backward, columns  4 W flops, the products <gradient[i], features[j]> and the sum, on a gathered row of
//                      the gradient, and again the exponentials;
// and, with dropout, one Philox block for every four weights in both. Floor: the gathered rows, each from the
// third-level cache as a rule, 4 W bytes an entry in each of the two. What the backward pass does on rows,
// before and after, is small beside it.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
QW_BOTH_INLINE T leaky_slope(T x, T negative_slope) {
  return x > 0 ? T{1} : negative_slope;
}

template <class T>
QW_BOTH_INLINE T leaky(T x, T negative_slope) {
  return x * leaky_slope(x, negative_slope);
}

// Element i = entry * heads + head is dropped when lane i % 4 of philox({i / 4, i / 4 >> 32, layer, epoch},
// seed) is at most `last_dropped`; what is kept is multiplied by `scale`.
template <class T>
struct AttentionDropout {
  bool active;  // if not, no random number is drawn
  uint32_t last_dropped;
  T scale;
  uint64_t seed;
  uint32_t layer;
  uint32_t epoch;
};

template <class T>
struct AttentionView {
  const int64_t* offsets;  // [nodes + 1]
  const int32_t* columns;  // [entries]
  const int64_t* order;    // null, or entry k of this pattern is entry order[k] of all that has one per entry
  int64_t nodes;
  int64_t heads;
  int64_t depth;           // features of one head
  const T* features;       // [nodes, heads * depth]
  const T* source_scores;  // [nodes, heads]
  const T* target_scores;  // [nodes, heads]
  const T* edge_weights;   // null, or [entries]
  T negative_slope;
  AttentionDropout<T> dropout;
  const int64_t* numbers = nullptr;  // null, or [entries] those by which entries are dropped

  QW_BOTH_INLINE int64_t number_of(int64_t entry) const {
    return numbers == nullptr ? entry : numbers[entry];
  }
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

// What the backward pass over columns gathers of each row, in one piece: facts [nodes, kAttentionFacts,
// heads].
enum AttentionFact : int64_t { kTargetScore, kMaximum, kReciprocal, kDelta, kAttentionFacts };

// The facts, delta being <gradient, result> over the columns of each head.
template <class T>
void graph_attention_row_facts_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                   const T* result, const T* gradient, T* facts);

template <class T>
struct AttentionGradients {
  T* features;       // [nodes, heads * depth]
  T* source_scores;  // [nodes, heads]
  T* scores;         // [entries, heads]: of source_scores[j] + target_scores[i]
  T* edge_weights;   // [entries], or null
};

// All of `gradients`, over the rows of the transposed pattern, which `view` has to be. What has one per entry
// is written to the entry's place, by the only one who has it.
template <class T>
void graph_attention_backward_columns_cpu(const AttentionView<T>& view, const T* facts, const T* gradient,
                                          const AttentionGradients<T>& gradients);

// target_gradient [nodes, heads]: the sums of AttentionGradients::scores over the rows of the pattern.
template <class T>
void graph_attention_backward_rows_cpu(const AttentionView<T>& view, const T* scores_gradient,
                                       T* target_gradient);

// On the GPU one launch forward and three backward. A warp has a row and as many heads as 32 vectors of 16
// bytes cover; what several warps need of an entry, its column and scores, is small beside the 512 bytes each
// gathers. Rows far longer than the average are shared by the 8 warps of a block. `epoch` stands for that of
// the view's dropout.
template <class T>
void graph_attention_forward_cuda(const AttentionView<T>& view, const StepNumber& epoch,
                                  const AttentionStatistics<T>& statistics, T* result, int64_t entries,
                                  Stream stream);

// As the facts above, but [nodes, heads, kAttentionFacts]: a lane gathers those of a head by one load.
template <class T>
void graph_attention_row_facts_cuda(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                    const T* result, const T* gradient, T* facts, Stream stream);

// As AttentionGradients, but the gradients of edge weights are left to be summed over the heads, which are in
// several warps.
template <class T>
struct AttentionColumnGradients {
  T* features;
  T* source_scores;
  T* scores;
  T* edge_products;  // [entries, heads], or null
};

template <class T>
void graph_attention_backward_columns_cuda(const AttentionView<T>& view, const StepNumber& epoch,
                                           const T* facts, const T* gradient,
                                           const AttentionColumnGradients<T>& gradients, int64_t entries,
                                           Stream stream);

// Also edge_gradient [entries], the sums of edge_products over the heads, unless both are null.
template <class T>
void graph_attention_backward_rows_cuda(const AttentionView<T>& view, const T* scores_gradient,
                                        const T* edge_products, T* target_gradient, T* edge_gradient,
                                        int64_t entries, Stream stream);

}  // namespace qw::kernels
