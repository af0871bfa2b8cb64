// What the passes of graph attention do with a block of entries of one row, and a few heads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/graph_attention.h"
#include "kernels/vectorise.h"

namespace qw::kernels {

constexpr int64_t kBlock = 32;  // entries of a row handled together
constexpr int64_t kHeads = 8;   // heads handled together
constexpr int kRows = 8;        // gathered rows added together: the sum is loaded and stored once for them
static_assert(kBlock % kLanes<float> == 0);  // a padded block is not longer than a full one

// `heads` numbers repeated over `period` elements.
template <class T>
using PerHead = T[kHeads * kLanes<T>];

// Elements after which the heads repeat, in whole vectors: what belongs to a head is the same for each lane.
template <class T>
QW_INLINE int64_t period(int64_t heads) {
  return heads % kLanes<T> == 0 ? heads : heads * kLanes<T>;
}

// Entries [begin, begin + count) of one row, for heads [head, head + heads): element k * heads + h of an
// array belongs to entry begin + k and head head + h. `size` is count * heads rounded up to whole periods, so
// that loops need no tail; what is beyond the last entry repeats it, or is zero where sums are made.
// `heads` is a parameter everywhere, since it is often a constant to the compiler.
template <class T>
struct Block {
  int64_t begin;
  int64_t count;
  int64_t head;
  int64_t size;
  T score[kBlock * kHeads];    // the gathered one, then the sum of both, then its gradient
  T maximum[kBlock * kHeads];  // as the facts of the gathered row
  T reciprocal[kBlock * kHeads];
  T delta[kBlock * kHeads];
  T alpha[kBlock * kHeads];                 // the softmax
  T factor[kBlock * kHeads];                // of the dropout
  T coefficient[kBlock * kHeads];           // of the gathered row
  T dot[kBlock * kHeads];                   // <fixed row, gathered row>
  T lane_dot[kBlock * kHeads * kLanes<T>];  // the parts of dot

  QW_INLINE void move_to(int64_t at, int64_t end, int64_t heads) {
    begin = at;
    count = std::min(kBlock, end - at);
    size = (count * heads + period<T>(heads) - 1) / period<T>(heads) * period<T>(heads);
  }
  QW_INLINE void clear_padding(int64_t heads, T* values) const {
    for (int64_t t = count * heads; t < size; ++t) values[t] = 0;
  }
};

template <class T>
QW_INLINE void repeat(int64_t heads, PerHead<T>& values) {
  for (int64_t p = heads; p < period<T>(heads); ++p) values[p] = values[p - heads];
}

// The sums over all elements of each head, in place.
template <class T>
QW_INLINE void fold(int64_t heads, PerHead<T>& sum) {
  for (int64_t p = heads; p < period<T>(heads); p += heads) {
    for (int64_t h = 0; h < heads; ++h) sum[h] += sum[p + h];
  }
}

template <class T>
QW_INLINE int64_t entry_at(const AttentionView<T>& view, int64_t at) {
  return view.order == nullptr ? at : view.order[at];
}

// values[k, h] = table[column of entry k, head + h], the rows of the table `stride` apart.
template <class T>
QW_INLINE void gather(const AttentionView<T>& view, const T* table, int64_t stride, const Block<T>& block,
                      int64_t heads, T* values) {
  const int32_t* columns = view.columns + block.begin;
  const int64_t count = block.count;
  for (int64_t k = 0; k < count; ++k) {
    const T* other = table + columns[k] * stride + block.head;
    for (int64_t h = 0; h < heads; ++h) values[k * heads + h] = other[h];
  }
  for (int64_t t = count * heads; t < block.size; ++t) values[t] = values[t - heads];
}

// coefficient *= edge weight
template <class T>
QW_INLINE void weigh(const AttentionView<T>& view, Block<T>& block, int64_t heads) {
  for (int64_t k = 0; k < block.count; ++k) {
    const T weight = view.edge_weights[entry_at(view, block.begin + k)];
    for (int64_t h = 0; h < heads; ++h) block.coefficient[k * heads + h] *= weight;
  }
}

// Rows of `gathered` for entries [k, k + kCount): see add_gathered.
template <bool kDots, int kCount, class T>
QW_INLINE void add_rows(const AttentionView<T>& view, const T* gathered, const T* fixed, int64_t k,
                        int64_t heads, Block<T>& block, T* sum) {
  using Vector = typename VectorOf<T>::Type;
  const T* rows[kCount];
  for (int r = 0; r < kCount; ++r)
    rows[r] = gathered + (view.columns[block.begin + k + r] * view.heads + block.head) * view.depth;
  for (int64_t h = 0; h < heads; ++h) {
    T weight[kCount];
    Vector dot[kCount] = {};
    for (int r = 0; r < kCount; ++r) weight[r] = block.coefficient[(k + r) * heads + h];
    const int64_t end = (h + 1) * view.depth;
    int64_t c = h * view.depth;
    for (; c + kLanes<T> <= end; c += kLanes<T>) {
      Vector total = load_vector<T>(sum + c);
      for (int r = 0; r < kCount; ++r) {
        const Vector row = load_vector<T>(rows[r] + c);
        total += weight[r] * row;
        if constexpr (kDots) dot[r] += load_vector<T>(fixed + c) * row;
      }
      store_vector<T>(sum + c, total);
    }
    for (; c < end; ++c) {
      for (int r = 0; r < kCount; ++r) {
        sum[c] += weight[r] * rows[r][c];
        if constexpr (kDots) dot[r][0] += fixed[c] * rows[r][c];
      }
    }
    if constexpr (kDots) {
      for (int r = 0; r < kCount; ++r)
        store_vector<T>(block.lane_dot + ((k + r) * heads + h) * kLanes<T>, dot[r]);
    }
  }
}

// sum [heads * depth] += the block's part of the weighted sum of rows of `gathered` [nodes, view.heads *
// depth] and, if kDots, dot = <fixed [heads * depth], row>, head by head.
template <bool kDots, class T>
QW_INLINE void add_gathered(const AttentionView<T>& view, const T* gathered, const T* fixed, int64_t heads,
                            Block<T>& block, T* sum) {
  int64_t k = 0;
  for (; k + kRows <= block.count; k += kRows)
    add_rows<kDots, kRows>(view, gathered, fixed, k, heads, block, sum);
  for (; k + kRows / 2 <= block.count; k += kRows / 2)
    add_rows<kDots, kRows / 2>(view, gathered, fixed, k, heads, block, sum);
  for (; k < block.count; ++k) add_rows<kDots, 1>(view, gathered, fixed, k, heads, block, sum);
  if constexpr (!kDots) return;
  const int64_t count = block.count * heads;
  for (int64_t t = 0; t < count; ++t) {
    const T* parts = block.lane_dot + t * kLanes<T>;
    T dot = parts[0];
    for (int lane = 1; lane < kLanes<T>; ++lane) dot += parts[lane];
    block.dot[t] = dot;
  }
  block.clear_padding(heads, block.dot);
}

}  // namespace qw::kernels
