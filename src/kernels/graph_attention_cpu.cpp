#include <limits>
#include <span>

#include "kernels/exponential.h"
#include "kernels/graph_attention.h"
#include "kernels/graph_attention_block.h"
#include "kernels/philox_batch.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kWorkPerThread = 1 << 15;      // multiply-adds that are worth a thread
constexpr int64_t kCounters = kLanes<uint32_t>;  // Philox counters drawn together, a vector of them
constexpr int64_t kWorkPerHead = 16;             // multiply-adds that an exponential is worth

// Four words of random bits for each counter. Both arrays are padded to a multiple of kCounters. Not inlined:
// among other code the compiler makes the products of shifts and additions.
__attribute__((noinline)) QW_MULTIVERSION void draw(const uint64_t* counters, int64_t count, uint64_t seed,
                                                    uint32_t layer, uint32_t epoch, uint32_t* bits) {
  for (int64_t at = 0; at < count; at += kCounters) {
    uint32_t words[4][kCounters];
    for (int64_t k = 0; k < kCounters; ++k) {
      words[0][k] = static_cast<uint32_t>(counters[at + k]);
      words[1][k] = static_cast<uint32_t>(counters[at + k] >> 32);
      words[2][k] = layer;
      words[3][k] = epoch;
    }
    philox_batch(words, kCounters, seed);
    for (int64_t k = 0; k < kCounters; ++k) {
      for (int64_t lane = 0; lane < 4; ++lane) bits[4 * (at + k) + lane] = words[lane][k];
    }
  }
}

// factor = 0 for what is dropped, else the scale. Elements that follow each other share their counters: all
// of the block where entries are in order, else those of an entry, which are in at most three.
template <class T>
QW_INLINE void drop(const AttentionView<T>& view, Block<T>& block, int64_t heads) {
  constexpr int64_t kMostCounters = 3 * kBlock + kCounters;
  const AttentionDropout<T> dropout = view.dropout;
  const bool one_run = view.order == nullptr && view.numbers == nullptr && heads == view.heads;
  const int64_t runs = one_run ? 1 : block.count;
  const int64_t length = one_run ? block.count * heads : heads;
  uint64_t counters[kMostCounters];
  uint32_t bits[4 * kMostCounters];
  const uint32_t* bits_of[kBlock];
  int64_t drawn = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t entry = entry_at(view, block.begin + run);
    const int64_t number = view.number_of(entry);
    const int64_t first = number * view.heads + block.head;
    bits_of[run] = bits + 4 * drawn + first % 4;
    for (int64_t c = first / 4; c <= (first + length - 1) / 4; ++c) counters[drawn++] = c;
  }
  std::fill_n(counters + drawn, kCounters, 0);
  draw(counters, drawn, dropout.seed, dropout.layer, dropout.epoch, bits);
  for (int64_t run = 0; run < runs; ++run) {
    T* factor = block.factor + run * length;
    const uint32_t* own = bits_of[run];
    for (int64_t t = 0; t < length; ++t) factor[t] = own[t] <= dropout.last_dropped ? T{0} : dropout.scale;
  }
  block.clear_padding(heads, block.factor);
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
    const int64_t own = row * view.heads + block.head;
    PerHead<T> target_score, maximum;
    PerHead<T> sum = {};
    std::copy_n(view.target_scores + own, heads, target_score);
    find_maximum(begin, end, heads, target_score, block, maximum);
    repeat(heads, target_score);
    repeat(heads, maximum);
    T* total = result + own * view.depth;
    std::fill_n(total, heads * view.depth, T{0});
    for (int64_t at = begin; at < end; at += kBlock) {
      block.move_to(at, end, heads);
      // A row of one block still has what find_maximum gathered.
      if (end - begin > kBlock) gather(view, view.source_scores, view.heads, block, heads, block.score);
      add_numerators(heads, target_score, maximum, block, sum);
      if (view.edge_weights != nullptr) weigh(view, block, heads);
      if (view.dropout.active) {
        drop(view, block, heads);
        for (int64_t t = 0; t < block.size; ++t) block.coefficient[t] *= block.factor[t];
      }
      add_gathered<false>(view, view.features, static_cast<const T*>(nullptr), block.coefficient, heads,
                          block, total);
    }
    fold(heads, sum);
    for (int64_t h = 0; h < heads; ++h) {
      statistics.maximum[own + h] = begin == end ? T{0} : maximum[h];
      statistics.sum[own + h] = begin == end ? T{1} : sum[h];
      const T reciprocal = T{1} / statistics.sum[own + h];
      for (int64_t c = h * view.depth; c < (h + 1) * view.depth; ++c) total[c] *= reciprocal;
    }
  }

 private:
  // Of the leaky scores, whose order is that of the scores or, where the negative slope is below 0, falls and
  // then rises: the largest is that of the largest score or of the smallest.
  QW_INLINE void find_maximum(int64_t begin, int64_t end, int64_t heads, const PerHead<T>& target_score,
                              Block<T>& block, PerHead<T>& maximum) const {
    using Vector = typename VectorOf<T>::Type;
    PerHead<T> minimum;
    std::fill_n(maximum, period<T>(heads), -std::numeric_limits<T>::infinity());
    std::fill_n(minimum, period<T>(heads), std::numeric_limits<T>::infinity());
    for (int64_t at = begin; at < end; at += kBlock) {
      block.move_to(at, end, heads);
      gather(view, view.source_scores, view.heads, block, heads, block.score);
      for (int64_t t = 0; t < block.size; t += period<T>(heads)) {
        for (int64_t p = 0; p < period<T>(heads); p += kLanes<T>) {
          const Vector score = load_vector<T>(block.score + t + p);
          const Vector high = load_vector<T>(maximum + p);
          const Vector low = load_vector<T>(minimum + p);
          store_vector<T>(maximum + p, score > high ? score : high);
          store_vector<T>(minimum + p, score < low ? score : low);
        }
      }
    }
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t p = h + heads; p < period<T>(heads); p += heads) {
        maximum[h] = std::max(maximum[h], maximum[p]);
        minimum[h] = std::min(minimum[h], minimum[p]);
      }
      maximum[h] = std::max(leaky(maximum[h] + target_score[h], view.negative_slope),
                            leaky(minimum[h] + target_score[h], view.negative_slope));
    }
  }

  // coefficient = the numerator of the softmax
  QW_INLINE void add_numerators(int64_t heads, const PerHead<T>& target_score, const PerHead<T>& maximum,
                                Block<T>& block, PerHead<T>& sum) const {
    const T slope = view.negative_slope;
    const int64_t size = block.size;
    for (int64_t t = 0; t < size; t += period<T>(heads)) {
      for (int64_t p = 0; p < period<T>(heads); ++p) {
        const T score = leaky(block.score[t + p] + target_score[p], slope);
        block.coefficient[t + p] = exponential(score - maximum[p]);
      }
    }
    block.clear_padding(heads, block.coefficient);
    for (int64_t t = 0; t < size; t += period<T>(heads)) {
      for (int64_t p = 0; p < period<T>(heads); ++p) sum[p] += block.coefficient[t + p];
    }
  }
};

template <class T>
QW_INLINE T dot_product(const T* a, const T* b, int64_t count) {
  typename VectorOf<T>::Type sum = {};
  int64_t c = 0;
  for (; c + kLanes<T> <= count; c += kLanes<T>) sum += load_vector(a + c) * load_vector(b + c);
  T rest = 0;
  for (; c < count; ++c) rest += a[c] * b[c];
  for (int lane = 0; lane < kLanes<T>; ++lane) rest += sum[lane];
  return rest;
}

template <class T>
struct RowFactsPass {
  const AttentionView<T>& view;
  const AttentionStatistics<T>& statistics;
  const T* result;
  const T* gradient;
  T* facts;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    T* fact = facts + row * kAttentionFacts * view.heads + block.head;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t own = row * view.heads + block.head + h;
      fact[kTargetScore * view.heads + h] = view.target_scores[own];
      fact[kMaximum * view.heads + h] = statistics.maximum[own];
      fact[kReciprocal * view.heads + h] = T{1} / statistics.sum[own];
      fact[kDelta * view.heads + h] =
          dot_product(result + own * view.depth, gradient + own * view.depth, view.depth);
    }
  }
};

// As in the derivation above the autograd class. The rows are those of the transposed pattern.
template <class T>
struct BackwardColumnsPass {
  const AttentionView<T>& view;
  const T* facts;
  const T* gradient;
  const AttentionGradients<T>& gradients;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    const int64_t end = view.offsets[row + 1];
    const int64_t own = row * view.heads + block.head;
    PerHead<T> source_score;
    PerHead<T> sum = {};
    std::copy_n(view.source_scores + own, heads, source_score);
    repeat(heads, source_score);
    T* total = gradients.features + own * view.depth;
    std::fill_n(total, heads * view.depth, T{0});
    for (int64_t at = view.offsets[row]; at < end; at += kBlock) {
      block.move_to(at, end, heads);
      fill_coefficients(heads, source_score, block);
      add_gathered<true>(view, gradient, view.features + own * view.depth, block.factor, heads, block, total);
      add_score_gradients(heads, block, sum);
      for (int64_t k = 0; k < block.count; ++k) {
        T* place = gradients.scores + entry_at(view, at + k) * view.heads + block.head;
        for (int64_t h = 0; h < heads; ++h) place[h] = block.score[k * heads + h];
      }
      if (gradients.edge_weights != nullptr) write_edge_gradients(heads, block);
    }
    fold(heads, sum);
    std::copy_n(sum, heads, gradients.source_scores + own);
  }

 private:
  QW_INLINE void fill_coefficients(int64_t heads, const PerHead<T>& source_score, Block<T>& block) const {
    const T slope = view.negative_slope;
    const int64_t size = block.size;
    const int64_t stride = kAttentionFacts * view.heads;
    gather(view, facts + kTargetScore * view.heads, stride, block, heads, block.score);
    gather(view, facts + kMaximum * view.heads, stride, block, heads, block.maximum);
    gather(view, facts + kReciprocal * view.heads, stride, block, heads, block.reciprocal);
    gather(view, facts + kDelta * view.heads, stride, block, heads, block.delta);
    if (view.dropout.active) {
      drop(view, block, heads);
    } else {
      std::fill_n(block.factor, size, T{1});
    }
    for (int64_t t = 0; t < size; t += period<T>(heads)) {
      for (int64_t p = 0; p < period<T>(heads); ++p) block.score[t + p] += source_score[p];
    }
    for (int64_t t = 0; t < size; ++t) {
      const T numerator = exponential(leaky(block.score[t], slope) - block.maximum[t]);
      block.alpha[t] = numerator * block.reciprocal[t];
      block.coefficient[t] = block.alpha[t] * block.factor[t];
    }
    block.clear_padding(heads, block.alpha);
    block.clear_padding(heads, block.coefficient);
    if (view.edge_weights != nullptr) weigh(view, block, heads);
  }

  // score = its gradient
  QW_INLINE void add_score_gradients(int64_t heads, Block<T>& block, PerHead<T>& sum) const {
    const T slope = view.negative_slope;
    const int64_t size = block.size;
    for (int64_t t = 0; t < size; t += period<T>(heads)) {
      for (int64_t p = 0; p < period<T>(heads); ++p) {
        const T through = block.coefficient[t + p] * block.dot[t + p];
        block.score[t + p] =
            leaky_slope(block.score[t + p], slope) * (through - block.alpha[t + p] * block.delta[t + p]);
        sum[p] += block.score[t + p];
      }
    }
  }

  QW_INLINE void write_edge_gradients(int64_t heads, const Block<T>& block) const {
    for (int64_t k = 0; k < block.count; ++k) {
      T of_heads = 0;
      for (int64_t t = k * heads; t < (k + 1) * heads; ++t)
        of_heads += block.alpha[t] * block.factor[t] * block.dot[t];
      T& place = gradients.edge_weights[entry_at(view, block.begin + k)];
      place = block.head == 0 ? of_heads : place + of_heads;
    }
  }
};

template <class T>
struct BackwardRowsPass {
  const AttentionView<T>& view;
  const T* scores_gradient;
  T* target_gradient;

  QW_INLINE void operator()(int64_t row, int64_t heads, Block<T>& block) const {
    T sum[kHeads] = {};
    for (int64_t at = view.offsets[row]; at < view.offsets[row + 1]; ++at) {
      for (int64_t h = 0; h < heads; ++h) sum[h] += scores_gradient[at * view.heads + block.head + h];
    }
    std::copy_n(sum, heads, target_gradient + row * view.heads + block.head);
  }
};

// The number of heads is a constant to the compiler in the two cases that models have most.
template <class T, class Pass>
QW_INLINE void run_rows(const Pass& pass, int64_t begin, int64_t end) {
  Block<T> block;
  for (int64_t row = begin; row < end; ++row) {
    for (block.head = 0; block.head < pass.view.heads; block.head += kHeads) {
      const int64_t heads = std::min(kHeads, pass.view.heads - block.head);
      if (heads == kHeads) {
        pass(row, kHeads, block);
      } else if (heads == 1) {
        pass(row, 1, block);
      } else {
        pass(row, heads, block);
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

QW_MULTIVERSION void run_range(const RowFactsPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const RowFactsPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardColumnsPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardColumnsPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardRowsPass<float>& pass, int64_t begin, int64_t end) {
  run_rows<float>(pass, begin, end);
}

QW_MULTIVERSION void run_range(const BackwardRowsPass<double>& pass, int64_t begin, int64_t end) {
  run_rows<double>(pass, begin, end);
}

template <class Pass>
void run(const Pass& pass, int64_t work_per_entry) {
  const auto& view = pass.view;
  const std::span<const int64_t> offsets(view.offsets, static_cast<size_t>(view.nodes) + 1);
  parallel_rows(offsets, kWorkPerThread / work_per_entry,
                [&](int64_t begin, int64_t end) { run_range(pass, begin, end); });
}

template <class T>
int64_t gathering_work(const AttentionView<T>& view) {
  return view.heads * (view.depth + kWorkPerHead);
}

}  // namespace

template <class T>
void graph_attention_forward_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                 T* result) {
  run(ForwardPass<T>{view, statistics, result}, gathering_work(view));
}

template <class T>
void graph_attention_row_facts_cpu(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                   const T* result, const T* gradient, T* facts) {
  const RowFactsPass<T> pass{view, statistics, result, gradient, facts};
  parallel_for(view.nodes, kWorkPerThread / gathering_work(view),
               [&](int64_t begin, int64_t end) { run_range(pass, begin, end); });
}

template <class T>
void graph_attention_backward_columns_cpu(const AttentionView<T>& view, const T* facts, const T* gradient,
                                          const AttentionGradients<T>& gradients) {
  run(BackwardColumnsPass<T>{view, facts, gradient, gradients}, gathering_work(view));
}

template <class T>
void graph_attention_backward_rows_cpu(const AttentionView<T>& view, const T* scores_gradient,
                                       T* target_gradient) {
  run(BackwardRowsPass<T>{view, scores_gradient, target_gradient}, view.heads);
}

template void graph_attention_forward_cpu(const AttentionView<float>&, const AttentionStatistics<float>&,
                                          float*);
template void graph_attention_forward_cpu(const AttentionView<double>&, const AttentionStatistics<double>&,
                                          double*);
template void graph_attention_row_facts_cpu(const AttentionView<float>&, const AttentionStatistics<float>&,
                                            const float*, const float*, float*);
template void graph_attention_row_facts_cpu(const AttentionView<double>&, const AttentionStatistics<double>&,
                                            const double*, const double*, double*);
template void graph_attention_backward_columns_cpu(const AttentionView<float>&, const float*, const float*,
                                                   const AttentionGradients<float>&);
template void graph_attention_backward_columns_cpu(const AttentionView<double>&, const double*, const double*,
                                                   const AttentionGradients<double>&);
template void graph_attention_backward_rows_cpu(const AttentionView<float>&, const float*, float*);
template void graph_attention_backward_rows_cpu(const AttentionView<double>&, const double*, double*);

}  // namespace qw::kernels
