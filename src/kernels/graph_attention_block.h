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
  T alpha[kBlock * kHeads];        // the softmax
  T factor[kBlock * kHeads];       // of the dropout
  T coefficient[kBlock * kHeads];  // of the gathered row
  T dot[kBlock * kHeads];          // <fixed row, gathered row>

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

// The part of head h of the rows of `gathered` of kCount entries, the `which`-th of the block: see
// add_gathered.
template <bool kDots, int kCount, class T>
QW_INLINE void add_rows(const AttentionView<T>& view, const T* gathered, const T* fixed, const int32_t* which,
                        int64_t h, int64_t heads, Block<T>& block, T* sum) {
  using Vector = typename VectorOf<T>::Type;
  const T* rows[kCount];
  T weight[kCount];
  Vector dot[kCount] = {};
  for (int r = 0; r < kCount; ++r) {
    rows[r] = gathered + (view.columns[block.begin + which[r]] * view.heads + block.head) * view.depth;
    weight[r] = block.coefficient[which[r] * heads + h];
  }
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
    for (int r = 0; r < kCount; ++r) {
      T all = dot[r][0];
      for (int lane = 1; lane < kLanes<T>; ++lane) all += dot[r][lane];
      block.dot[which[r] * heads + h] = all;
    }
  }
}

// The entries of a block that dropout keeps for one head. The list is made without a branch, since of dropout
// nothing can be predicted, and what it will gather is asked for: pieces of rows are too short for the
// processor to see what comes next.
struct KeptEntries {
  int32_t which[kBlock];
  int64_t count = 0;

  template <class T>
  QW_INLINE void list(const AttentionView<T>& view, const T* gathered, const T* factor, int64_t h,
                      int64_t heads, const Block<T>& block) {
    constexpr int64_t kLine = 64 / sizeof(T);
    count = 0;
    for (int64_t k = 0; k < block.count; ++k) {
      which[count] = static_cast<int32_t>(k);
      count += factor[k * heads + h] != 0 ? 1 : 0;
    }
    for (int64_t k = 0; k < count; ++k) {
      const T* row =
          gathered + (view.columns[block.begin + which[k]] * view.heads + block.head + h) * view.depth;
      for (int64_t c = 0; c < view.depth; c += kLine) __builtin_prefetch(row + c);
    }
  }
};

// sum [heads * depth] += the block's part of the weighted sum of rows of `gathered` [nodes, view.heads *
// depth] and, if kDots, dot = <fixed [heads * depth], row>, head by head. What has a zero in `factor` is
// passed over, half of all with the usual dropout: its row adds nothing, and its dot, which is multiplied
// with 0, is 0.
template <bool kDots, class T>
QW_INLINE void add_gathered(const AttentionView<T>& view, const T* gathered, const T* fixed, const T* factor,
                            int64_t heads, Block<T>& block, T* sum) {
  if constexpr (kDots) std::fill_n(block.dot, block.size, T{0});
  KeptEntries of_heads[2];
  of_heads[0].list(view, gathered, factor, 0, heads, block);
  for (int64_t h = 0; h < heads; ++h) {
    if (h + 1 < heads) of_heads[(h + 1) % 2].list(view, gathered, factor, h + 1, heads, block);
    const KeptEntries& kept = of_heads[h % 2];
    int64_t k = 0;
    for (; k + kRows <= kept.count; k += kRows)
      add_rows<kDots, kRows>(view, gathered, fixed, kept.which + k, h, heads, block, sum);
    for (; k + kRows / 2 <= kept.count; k += kRows / 2)
      add_rows<kDots, kRows / 2>(view, gathered, fixed, kept.which + k, h, heads, block, sum);
    for (; k < kept.count; ++k)
      add_rows<kDots, 1>(view, gathered, fixed, kept.which + k, h, heads, block, sum);
  }
}

}  // namespace qw::kernels
