#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "kernels/graph_attention.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"

#define QW_INLINE inline __attribute__((always_inline))

namespace qw::kernels {
namespace {

constexpr int64_t kBlock = 32;               // entries of a row handled together
constexpr int64_t kHeads = 8;                // heads handled together
constexpr int kLanes = 8;                    // columns that surely belong to one head when depth divides by it
constexpr int64_t kWorkPerThread = 1 << 15;  // multiply-adds that are worth a thread
constexpr int64_t kWorkPerHead = 16;         // multiply-adds that an exponential is worth

// exp(x) for x <= 0 to 2 ulp, in plain arithmetic so that loops over it are vectorised; 0 where the result would
// be subnormal. x = n ln 2 + r with |r| <= ln 2 / 2; adding `kShift` leaves n in the low bits.
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
  const float result = (p * (r * r) + r + 1.0f) * power;
  return x < -87.0f ? 0.0f : result;
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
  const double result = (p * (r * r) + r + 1.0) * power;
  return x < -708.0 ? 0.0 : result;
}

template <class T>
QW_INLINE T leaky(T x, T negative_slope) {
  const T scaled = negative_slope * x;
  return x > 0 ? x : scaled;
}

template <class T>
QW_INLINE T leaky_slope(T x, T negative_slope) {
  return x > 0 ? T{1} : negative_slope;
}

// Entries [begin, begin + count) of one row, for heads [head, head + heads): element k * heads + h of an array
// belongs to entry begin + k and head head + h.
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

// Calls body with the number of heads, a constant to the compiler in the two cases that models have most.
template <class Body>
QW_INLINE void with_heads(int64_t heads, const Body& body) {
  if (heads == kHeads) return body(kHeads);
  if (heads == 1) return body(int64_t{1});
  body(heads);
}

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

// The philox of qw/core/random.h on many counters; an array of its blocks would keep the loop from being
// vectorised.
template <class T>
QW_INLINE void drop(const AttentionView<T>& view, Block<T>& block, int64_t heads) {
  const AttentionDropout<T>& dropout = view.dropout;
  for (int64_t k = 0; k < block.count; ++k) {
    const int64_t entry = view.order == nullptr ? block.begin + k : view.order[block.begin + k];
    const auto first = static_cast<uint64_t>(entry * view.heads + block.head);
    for (int64_t h = 0; h < heads; ++h) {
      const uint64_t index = first + static_cast<uint64_t>(h);
      const PhiloxBlock random = philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                                         dropout.layer, dropout.epoch},
                                        dropout.seed);
      const T kept = block.factor[k * heads + h] * dropout.scale;
      block.factor[k * heads + h] = random[0] < dropout.threshold ? T{0} : kept;
    }
  }
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

// target[group * kWidth + c] += sum over the block's entries of coefficient[entry, head of the group] *
// gathered[entry, first + group * kWidth + c], the sums in registers.
template <int kGroups, int kWidth, class T>
QW_INLINE void add_tile(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                        const T* gathered, int64_t first, T* target) {
  const int64_t width = view.heads * view.depth;
  const int32_t* columns = view.columns + block.begin;
  int64_t head_of[kGroups];
  for (int g = 0; g < kGroups; ++g) head_of[g] = (first + g * kWidth) / view.depth - block.head;
  T sum[kGroups][kWidth] = {};
  for (int64_t k = 0; k < block.count; ++k) {
    const T* source = gathered + columns[k] * width + first;
    for (int g = 0; g < kGroups; ++g) {
      const T weight = coefficient[k * block.heads + head_of[g]];
      for (int c = 0; c < kWidth; ++c) sum[g][c] += weight * source[g * kWidth + c];
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    for (int c = 0; c < kWidth; ++c) target[first + g * kWidth + c] += sum[g][c];
  }
}

// Columns [first, end), of one head unless depth is a multiple of kLanes.
template <class T>
QW_INLINE void add_columns(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                           const T* gathered, int64_t first, int64_t end, T* target) {
  for (; first + 4 * kLanes <= end; first += 4 * kLanes)
    add_tile<4, kLanes>(view, block, coefficient, gathered, first, target);
  if (first + 2 * kLanes <= end) {
    add_tile<2, kLanes>(view, block, coefficient, gathered, first, target);
    first += 2 * kLanes;
  }
  if (first + kLanes <= end) {
    add_tile<1, kLanes>(view, block, coefficient, gathered, first, target);
    first += kLanes;
  }
  switch (end - first) {
    case 1: return add_tile<1, 1>(view, block, coefficient, gathered, first, target);
    case 2: return add_tile<1, 2>(view, block, coefficient, gathered, first, target);
    case 3: return add_tile<1, 3>(view, block, coefficient, gathered, first, target);
    case 4: return add_tile<1, 4>(view, block, coefficient, gathered, first, target);
    case 5: return add_tile<1, 5>(view, block, coefficient, gathered, first, target);
    case 6: return add_tile<1, 6>(view, block, coefficient, gathered, first, target);
    case 7: return add_tile<1, 7>(view, block, coefficient, gathered, first, target);
    default: return;
  }
}

// target [width] += the block's part of the weighted sum of gathered rows.
template <class T>
QW_INLINE void add_weighted(const AttentionView<T>& view, const Block<T>& block, const T* coefficient,
                            const T* gathered, T* target) {
  const int64_t depth = view.depth;
  const bool heads_fill_lanes = depth % kLanes == 0;
  const int64_t step = heads_fill_lanes ? block.heads : 1;
  for (int64_t h = block.head; h < block.head + block.heads; h += step)
    add_columns(view, block, coefficient, gathered, h * depth, (h + step) * depth, target);
}

// Eight running sums, added in a fixed order: a single one would wait for each addition.
template <class T>
QW_INLINE T dot_product(const T* a, const T* b, int64_t count) {
  T sum[kLanes] = {};
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += a[c + lane] * b[c + lane];
  }
  T rest = 0;
  for (; c < count; ++c) rest += a[c] * b[c];
  return (((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]))) + rest;
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
  if (view.depth == kLanes) return fill_dots(view, fixed, gathered, block, kLanes);
  fill_dots(view, fixed, gathered, block, view.depth);
}

// The heads of the block for one row: statistics and result.
template <class T>
QW_INLINE void forward_row(const AttentionView<T>& view, int64_t row, int64_t heads,
                           const AttentionStatistics<T>& statistics, T* result, Block<T>& block) {
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

// As in the derivation above the autograd class, with the sum over a row of alpha * slope * (d alpha - delta)
// taken apart, so that one pass finds delta as well.
template <class T>
QW_INLINE void backward_row(const AttentionView<T>& view, int64_t row, int64_t heads,
                            const AttentionStatistics<T>& statistics, const T* gradient, T* delta,
                            T* target_gradient, T* edge_gradient, Block<T>& block) {
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

template <class T>
QW_INLINE void backward_column(const AttentionView<T>& view, int64_t node, int64_t heads,
                               const AttentionStatistics<T>& statistics, const T* gradient, const T* delta,
                               T* features_gradient, T* source_gradient, Block<T>& block) {
  const int64_t end = view.offsets[node + 1];
  const int64_t own = node * view.heads;
  T sum[kHeads] = {};
  for (int64_t at = view.offsets[node]; at < end; at += kBlock) {
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
