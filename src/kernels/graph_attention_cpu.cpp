#include <algorithm>
#include <limits>
#include <span>

#include "kernels/graph_attention.h"
#include "kernels/philox_batch.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kBlock = 32;  // entries of a row handled together
constexpr int64_t kHeads = 8;   // heads handled together
constexpr int kGroup = 8;       // columns that surely belong to one head when depth divides by it
constexpr int64_t kWorkPerThread = 1 << 15;  // multiply-adds that are worth a thread
constexpr int64_t kWorkPerHead = 16;         // multiply-adds that an exponential is worth

// Entries [begin, begin + count) of one row, for heads [head, head + heads): element k * heads + h of an
// array belongs to entry begin + k and head head + h.
template <class T>
struct Block {
  int64_t begin;
  int64_t count;
  int64_t head;
  int64_t heads;
  T raw[kBlock * kHeads];     // source score + target score
  T alpha[kBlock * kHeads];   // the softmax, or its numerator
  T factor[kBlock * kHeads];  // edge weight times dropout
  T dot[kBlock * kHeads];     // <fixed row, gathered row>

  QW_INLINE int64_t size() const { return count * heads; }
  QW_INLINE void move_to(int64_t at, int64_t end) {
    begin = at;
    count = std::min(kBlock, end - at);
  }
};

// raw = own + gathered, own [heads] of the row and gathered [nodes, view.heads].
template <class T>
QW_INLINE void gather_raw(const AttentionView<T>& view, const T* own, const T* gathered, Block<T>& block,
                          int64_t heads) {
  const int32_t* columns = view.columns + block.begin;
  for (int64_t k = 0; k < block.count; ++k) {
    const T* other = gathered + columns[k] * view.heads + block.head;
    for (int64_t h = 0; h < heads; ++h) block.raw[k * heads + h] = own[block.head + h] + other[h];
  }
}

template <class T>
QW_INLINE void exponentiate(Block<T>& block) {
  const int64_t size = block.size();
  for (int64_t t = 0; t < size; ++t) block.alpha[t] = exponential(block.alpha[t]);
}

template <class T>
QW_INLINE void drop(const AttentionView<T>& view, Block<T>& block, int64_t heads) {
  const AttentionDropout<T>& dropout = view.dropout;
  const int64_t size = block.count * heads;
  uint32_t words[4][kBlock * kHeads];
  for (int64_t k = 0; k < block.count; ++k) {
    const int64_t entry = view.order == nullptr ? block.begin + k : view.order[block.begin + k];
    const auto first = static_cast<uint64_t>(entry * view.heads + block.head);
    for (int64_t h = 0; h < heads; ++h) {
      const uint64_t index = first + static_cast<uint64_t>(h);
      words[0][k * heads + h] = static_cast<uint32_t>(index);
      words[1][k * heads + h] = static_cast<uint32_t>(index >> 32);
    }
  }
  std::fill_n(words[2], size, dropout.layer);
  std::fill_n(words[3], size, dropout.epoch);
  philox_batch(words, size, dropout.seed);
  for (int64_t t = 0; t < size; ++t)
    block.factor[t] *= words[0][t] < dropout.threshold ? T{0} : dropout.scale;
}

// factor = edge weight * dropout; `weights` null stands for ones.
template <class T>
QW_INLINE void fill_factor(const AttentionView<T>& view, const T* weights, Block<T>& block, int64_t heads) {
  if (weights == nullptr) {
    std::fill_n(block.factor, block.size(), T{1});
  } else {
    for (int64_t k = 0; k < block.count; ++k) {
      const int64_t entry = view.order == nullptr ? block.begin + k : view.order[block.begin + k];
      for (int64_t h = 0; h < heads; ++h) block.factor[k * heads + h] = weights[entry];
    }
  }
  if (view.dropout.threshold != 0) drop(view, block, heads);
}

// target[c] += sum over the block's entries of coefficient[entry, head of c] * gathered[entry, c] for kGroups
// * kGroup columns from `first` on, the sums in registers.
template <int kGroups, class T>
QW_INLINE void add_tile(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                        const T* gathered, int64_t first, T* target) {
  constexpr int kVectors = kGroup / kLanes<T>;
  const int64_t width = view.heads * view.depth;
  const int32_t* columns = view.columns + block.begin;
  int64_t head_of[kGroups] = {first / view.depth - block.head};
  for (int g = 1; g < kGroups; ++g) {
    const int64_t next_head = head_of[g - 1] + 1;
    head_of[g] = first + g * kGroup < (block.head + next_head) * view.depth ? next_head - 1 : next_head;
  }
  typename VectorOf<T>::Type sum[kGroups * kVectors] = {};
  for (int64_t k = 0; k < block.count; ++k) {
    const T* source = gathered + columns[k] * width + first;
    for (int g = 0; g < kGroups; ++g) {
      const T weight = coefficient[k * block.heads + head_of[g]];
      for (int v = 0; v < kVectors; ++v)
        sum[g * kVectors + v] += weight * load_vector(source + (g * kVectors + v) * kLanes<T>);
    }
  }
  for (int v = 0; v < kGroups * kVectors; ++v) {
    T* place = target + first + v * kLanes<T>;
    store_vector<T>(place, load_vector<T>(place) + sum[v]);
  }
}

// The same for fewer than kGroup columns, of one head.
template <int kWidth, class T>
QW_INLINE void add_tail(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                        const T* gathered, int64_t first, T* target) {
  const int64_t width = view.heads * view.depth;
  const int32_t* columns = view.columns + block.begin;
  const T* weights = coefficient + (first / view.depth - block.head);
  T sum[kWidth] = {};
  for (int64_t k = 0; k < block.count; ++k) {
    const T* source = gathered + columns[k] * width + first;
    const T weight = weights[k * block.heads];
    for (int c = 0; c < kWidth; ++c) sum[c] += weight * source[c];
  }
  for (int c = 0; c < kWidth; ++c) target[first + c] += sum[c];
}

// Columns [first, end), of one head unless depth is a multiple of kGroup.
template <class T>
QW_INLINE void add_columns(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                           const T* gathered, int64_t first, int64_t end, T* target) {
  for (; first + 4 * kGroup <= end; first += 4 * kGroup)
    add_tile<4>(view, block, coefficient, gathered, first, target);
  for (; first + kGroup <= end; first += kGroup)
    add_tile<1>(view, block, coefficient, gathered, first, target);
  switch (end - first) {
    case 1:
      return add_tail<1>(view, block, coefficient, gathered, first, target);
    case 2:
      return add_tail<2>(view, block, coefficient, gathered, first, target);
    case 3:
      return add_tail<3>(view, block, coefficient, gathered, first, target);
    case 4:
      return add_tail<4>(view, block, coefficient, gathered, first, target);
    case 5:
      return add_tail<5>(view, block, coefficient, gathered, first, target);
    case 6:
      return add_tail<6>(view, block, coefficient, gathered, first, target);
    case 7:
      return add_tail<7>(view, block, coefficient, gathered, first, target);
    default:
      return;
  }
}

// target [width] += the block's part of the weighted sum of gathered rows.
template <class T>
QW_INLINE void add_weighted(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                            const T* gathered, T* target) {
  const int64_t depth = view.depth;
  const bool heads_fill_lanes = depth % kGroup == 0;
  const int64_t step = heads_fill_lanes ? block.heads : 1;
  for (int64_t h = block.head; h < block.head + block.heads; h += step)
    add_columns(view, block, coefficient, gathered, h * depth, (h + step) * depth, target);
}

template <class T>
QW_INLINE T dot_product(const T* a, const T* b, int64_t count) {
  constexpr int kSize = kLanes<T>;
  typename VectorOf<T>::Type sum = {};
  int64_t c = 0;
  for (; c + kSize <= count; c += kSize) sum += load_vector(a + c) * load_vector(b + c);
  T rest = 0;
  for (; c < count; ++c) rest += a[c] * b[c];
  for (int lane = 0; lane < kSize; ++lane) rest += sum[lane];
  return rest;
}

template <class T>
QW_INLINE void fill_dots(const AttentionView<T>& view, const T* fixed, const T* gathered, Block<T>& block,
                         int64_t depth) {
  const int32_t* columns = view.columns + block.begin;
  for (int64_t k = 0; k < block.count; ++k) {
    const T* a = fixed + block.head * depth;
    const T* b = gathered + (columns[k] * view.heads + block.head) * depth;
    for (int64_t h = 0; h < block.heads; ++h)
      block.dot[k * block.heads + h] = dot_product(a + h * depth, b + h * depth, depth);
  }
}

template <class T>
QW_INLINE void fill_dots(const AttentionView<T>& view, const T* fixed, const T* gathered, Block<T>& block) {
  if (view.depth == kGroup) return fill_dots(view, fixed, gathered, block, kGroup);
  fill_dots(view, fixed, gathered, block, view.depth);
}

// A pass does the heads of the block for one row; `heads` is their number.
template <class T>
struct ForwardPass {
  const AttentionView<T>& view;
  const AttentionStatistics<T>& statistics;
  T* result;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    const int64_t begin = view.offsets[row];
    const int64_t end = view.offsets[row + 1];
    const T* own = view.target_scores + row * view.heads;
    T maximum[kHeads];
    T sum[kHeads] = {};
    std::fill_n(maximum, kHeads, -std::numeric_limits<T>::infinity());
    for (int64_t at = begin; at < end; at += kBlock) {
      block.move_to(at, end);
      gather_raw(view, own, view.source_scores, block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        for (int64_t h = 0; h < heads; ++h) {
          const T score = leaky(block.raw[k * heads + h], view.negative_slope);
          maximum[h] = score > maximum[h] ? score : maximum[h];
        }
      }
    }
    T* target = result + row * view.heads * view.depth;
    std::fill_n(target + block.head * view.depth, heads * view.depth, T{0});
    for (int64_t at = begin; at < end; at += kBlock) {
      block.move_to(at, end);
      if (end - begin > kBlock) gather_raw(view, own, view.source_scores, block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        for (int64_t h = 0; h < heads; ++h)
          block.alpha[k * heads + h] = leaky(block.raw[k * heads + h], view.negative_slope) - maximum[h];
      }
      exponentiate(block);
      for (int64_t k = 0; k < block.count; ++k) {
        for (int64_t h = 0; h < heads; ++h) sum[h] += block.alpha[k * heads + h];
      }
      if (view.edge_weights != nullptr || view.dropout.threshold != 0) {
        fill_factor(view, view.edge_weights, block, heads);
        for (int64_t t = 0; t < block.size(); ++t) block.alpha[t] *= block.factor[t];
      }
      add_weighted(view, block, block.alpha, view.features, target);
    }
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = row * view.heads + block.head + h;
      statistics.maximum[at] = begin == end ? T{0} : maximum[h];
      statistics.sum[at] = begin == end ? T{1} : sum[h];
      const T reciprocal = T{1} / statistics.sum[at];
      T* columns = target + (block.head + h) * view.depth;
      for (int64_t c = 0; c < view.depth; ++c) columns[c] *= reciprocal;
    }
  }
};

// As in the derivation above the autograd class.
template <class T>
struct BackwardRowsPass {
  const AttentionView<T>& view;
  const AttentionStatistics<T>& statistics;
  const T* gradient;
  T* delta;
  T* target_gradient;
  T* edge_gradient;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    const int64_t end = view.offsets[row + 1];
    const int64_t own = row * view.heads;
    T reciprocal[kHeads], mean[kHeads] = {}, sloped_mean[kHeads] = {}, slope_mean[kHeads] = {};
    const T* maximum = statistics.maximum + own + block.head;
    for (int64_t h = 0; h < heads; ++h) reciprocal[h] = T{1} / statistics.sum[own + block.head + h];
    for (int64_t at = view.offsets[row]; at < end; at += kBlock) {
      block.move_to(at, end);
      gather_raw(view, view.target_scores + own, view.source_scores, block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        for (int64_t h = 0; h < heads; ++h)
          block.alpha[k * heads + h] = leaky(block.raw[k * heads + h], view.negative_slope) - maximum[h];
      }
      exponentiate(block);
      fill_dots(view, gradient + own * view.depth, view.features, block);
      fill_factor(view, static_cast<const T*>(nullptr), block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        const T weight = view.edge_weights == nullptr ? T{1} : view.edge_weights[at + k];
        T of_entry = 0;
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t t = k * heads + h;
          const T alpha = block.alpha[t] * reciprocal[h];
          const T slope = alpha * leaky_slope(block.raw[t], view.negative_slope);
          const T through = block.factor[t] * block.dot[t];
          mean[h] += alpha * (weight * through);
          sloped_mean[h] += slope * (weight * through);
          slope_mean[h] += slope;
          of_entry += alpha * through;
        }
        if (edge_gradient != nullptr)
          edge_gradient[at + k] = block.head == 0 ? of_entry : edge_gradient[at + k] + of_entry;
      }
    }
    for (int64_t h = 0; h < heads; ++h) {
      delta[own + block.head + h] = mean[h];
      target_gradient[own + block.head + h] = sloped_mean[h] - mean[h] * slope_mean[h];
    }
  }
};

// The rows are those of the transposed pattern.
template <class T>
struct BackwardColumnsPass {
  const AttentionView<T>& view;
  const AttentionStatistics<T>& statistics;
  const T* gradient;
  const T* delta;
  T* features_gradient;
  T* source_gradient;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    const int64_t end = view.offsets[row + 1];
    const int64_t own = row * view.heads;
    T sum[kHeads] = {};
    std::fill_n(features_gradient + (own + block.head) * view.depth, heads * view.depth, T{0});
    for (int64_t at = view.offsets[row]; at < end; at += kBlock) {
      block.move_to(at, end);
      const int32_t* columns = view.columns + at;
      gather_raw(view, view.source_scores + own, view.target_scores, block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        const T* maximum = statistics.maximum + columns[k] * view.heads + block.head;
        for (int64_t h = 0; h < heads; ++h)
          block.alpha[k * heads + h] = leaky(block.raw[k * heads + h], view.negative_slope) - maximum[h];
      }
      exponentiate(block);
      fill_dots(view, view.features + own * view.depth, gradient, block);
      fill_factor(view, view.edge_weights, block, heads);
      for (int64_t k = 0; k < block.count; ++k) {
        const int64_t other = columns[k] * view.heads + block.head;
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t t = k * heads + h;
          const T alpha = block.alpha[t] / statistics.sum[other + h];
          const T slope = alpha * leaky_slope(block.raw[t], view.negative_slope);
          sum[h] += slope * (block.factor[t] * block.dot[t] - delta[other + h]);
          block.alpha[t] = alpha * block.factor[t];
        }
      }
      add_weighted(view, block, block.alpha, gradient, features_gradient + own * view.depth);
    }
    for (int64_t h = 0; h < heads; ++h) source_gradient[own + block.head + h] = sum[h];
  }
};

// The number of heads is a constant to the compiler in the two cases that models have most.
template <class T, class Pass>
QW_INLINE void run_rows(const Pass& pass, int64_t begin, int64_t end) {
  Block<T> block;
  for (int64_t row = begin; row < end; ++row) {
    for (block.head = 0; block.head < pass.view.heads; block.head += kHeads) {
      block.heads = std::min(kHeads, pass.view.heads - block.head);
      if (block.heads == kHeads) {
        pass(row, kHeads, block);
      } else if (block.heads == 1) {
        pass(row, 1, block);
      } else {
        pass(row, block.heads, block);
      }
    }
  }
}

QW_MULTIVERSION void run_range(const ForwardPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const ForwardPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardRowsPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardRowsPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardColumnsPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardColumnsPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

template <class Pass>
void run(const Pass& pass) {
  const auto& view = pass.view;
  const std::span<const int64_t> offsets(view.offsets, static_cast<size_t>(view.nodes) + 1);
  const int64_t work_per_entry = view.heads * (view.depth + kWorkPerHead);
  parallel_rows(offsets, kWorkPerThread / work_per_entry,
                [&](int64_t begin, int64_t end) { run_range(pass, begin, end); });
}

}  // namespace

template <class T>
void graph_attention_forward_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                 T* result) {
  run(ForwardPass<T>{view, statistics, result});
}

template <class T>
void graph_attention_backward_rows_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                       const T* gradient, T* delta, T* target_gradient, T* edge_gradient) {
  run(BackwardRowsPass<T>{view, statistics, gradient, delta, target_gradient, edge_gradient});
}

template <class T>
void graph_attention_backward_columns_cpu(const AttentionView<T>& view,
                                          const AttentionStatistics<T>& statistics, const T* gradient,
                                          const T* delta, T* features_gradient, T* source_gradient) {
  run(BackwardColumnsPass<T>{view, statistics, gradient, delta, features_gradient, source_gradient});
}

template void graph_attention_forward_cpu(const AttentionView<float>&, const AttentionStatistics<float>&,
                                          float*);
template void graph_attention_forward_cpu(const AttentionView<double>&, const AttentionStatistics<double>&,
                                          double*);
template void graph_attention_backward_rows_cpu(const AttentionView<float>&,
                                                const AttentionStatistics<float>&, const float*, float*,
                                                float*, float*);
template void graph_attention_backward_rows_cpu(const AttentionView<double>&,
                                                const AttentionStatistics<double>&, const double*, double*,
                                                double*, double*);
template void graph_attention_backward_columns_cpu(const AttentionView<float>&,
                                                   const AttentionStatistics<float>&, const float*,
                                                   const float*, float*, float*);
template void graph_attention_backward_columns_cpu(const AttentionView<double>&,
                                                   const AttentionStatistics<double>&, const double*,
                                                   const double*, double*, double*);

}  // namespace qw::kernels
