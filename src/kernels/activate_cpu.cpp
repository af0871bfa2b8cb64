#include "kernels/activation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kElementsPerTask = 1 << 13;  // worth a thread; also the blocks of the bias's sums

// Rows are handled in groups that end where a batch of random bits ends; a task is some groups. Sizes depend
// on the width only, so that sums by task are the same for any number of threads.
struct Partition {
  int64_t rows;
  int64_t rows_per_task;

  Partition(int64_t rows_, int64_t width) : rows(rows_) {
    const int64_t group = kDropoutBatch / std::gcd(int64_t{kDropoutBatch}, std::max<int64_t>(width, 1));
    const int64_t group_elements = group * std::max<int64_t>(width, 1);
    rows_per_task = group * std::max<int64_t>(1, kElementsPerTask / group_elements);
  }
  int64_t tasks() const { return (rows + rows_per_task - 1) / rows_per_task; }
  int64_t begin(int64_t task) const { return task * rows_per_task; }
  int64_t end(int64_t task) const { return std::min(rows, (task + 1) * rows_per_task); }
};

// kDropped where the condition holds.
template <class T>
QW_INLINE T mark_where(bool condition, T value) {
  const auto sign = std::bit_cast<WordOf<T>>(kDropped<T>);
  const T zero = zero_where(condition, value);
  return std::bit_cast<T>(std::bit_cast<WordOf<T>>(zero) | ((WordOf<T>{0} - WordOf<T>{condition}) & sign));
}

template <class T>
struct Masks {
  DropoutRule rule;
  uint32_t threshold;
  T scale;
};

// values[0 .. size) are elements first, first + 1, ..., with `first` at the begin of a batch.
template <bool kMarks, class T>
QW_INLINE void mask(const Masks<T>& masks, int64_t first, int64_t size, T* values) {
  uint32_t bits[kDropoutBatch];
  for (int64_t at = 0; at < size; at += kDropoutBatch) {
    dropout_bits(masks.rule, static_cast<uint64_t>((first + at) / kDropoutBatch), bits);
    const int64_t count = std::min<int64_t>(kDropoutBatch, size - at);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (kMarks) {
        values[at + i] = mark_where(bits[i] < masks.threshold, values[at + i] * masks.scale);
      } else {
        values[at + i] = kept(values[at + i], masks.scale, bits[i], masks.threshold);
      }
    }
  }
}

// Functions of their own: inlined in six places, they are compiled worse in some.
QW_MULTIVERSION void mask_range(const Masks<float>& masks, int64_t first, int64_t size, float* values) {
  mask<false>(masks, first, size, values);
}
QW_MULTIVERSION void mask_range(const Masks<double>& masks, int64_t first, int64_t size, double* values) {
  mask<false>(masks, first, size, values);
}
QW_MULTIVERSION void mark_range(const Masks<float>& masks, int64_t first, int64_t size, float* values) {
  mask<true>(masks, first, size, values);
}
QW_MULTIVERSION void mark_range(const Masks<double>& masks, int64_t first, int64_t size, double* values) {
  mask<true>(masks, first, size, values);
}

template <class T>
struct Forward {
  const T* x;
  const T* bias;
  int64_t width;
  T* result;
  const Masks<T>* masks;  // null: no dropout
};

template <Activate kActivation, class T>
QW_INLINE void forward_rows(const Forward<T>& f, int64_t begin, int64_t end) {
  if (f.bias == nullptr) {
    for (int64_t i = begin * f.width; i < end * f.width; ++i) f.result[i] = activated<kActivation>(f.x[i]);
  } else {
    for (int64_t row = begin; row < end; ++row) {
      const T* __restrict from = f.x + row * f.width;
      T* __restrict to = f.result + row * f.width;
      for (int64_t c = 0; c < f.width; ++c) to[c] = activated<kActivation>(from[c] + f.bias[c]);
    }
  }
  if (f.masks == nullptr) return;
  const int64_t first = begin * f.width, size = end * f.width - first;
  if constexpr (kActivation == Activate::kElu) {
    mark_range(*f.masks, first, size, f.result + first);
  } else {
    mask_range(*f.masks, first, size, f.result + first);
  }
}

template <class T>
struct Backward {
  const T* result;
  const T* gradient;
  int64_t width;
  T* x_gradient;
  const Masks<T>* masks;
};

template <Activate kActivation, class T>
QW_INLINE void backward_rows(const Backward<T>& b, int64_t begin, int64_t end) {
  const int64_t first = begin * b.width;
  const int64_t last = end * b.width;
  // What relu kept was not dropped, and ELU marked what was: their masks need not be drawn again.
  const bool draws = b.masks != nullptr && kActivation == Activate::kNone;
  const bool marked = b.masks != nullptr && kActivation == Activate::kElu;
  const T keep = b.masks == nullptr ? T{1} : static_cast<T>(1.0 - b.masks->rule.p);
  const T scale = b.masks == nullptr || draws ? T{1} : b.masks->scale;
  for (int64_t i = first; i < last; ++i) {
    const T pulled = pulled_back<kActivation>(b.gradient[i] * scale, b.result[i] * keep);
    const bool dropped = marked && is_dropped(b.result[i]);
    b.x_gradient[i] = zero_where(dropped, pulled);
  }
  if (draws) mask_range(*b.masks, first, last - first, b.x_gradient + first);
}

template <class T>
QW_INLINE void add_rows(const T* matrix, int64_t begin, int64_t end, int64_t width, T* sums) {
  for (int64_t row = begin; row < end; ++row) {
    const T* __restrict from = matrix + row * width;
    for (int64_t c = 0; c < width; ++c) sums[c] += from[c];
  }
}

template <class T>
QW_INLINE void forward_any(Activate activation, const Forward<T>& f, int64_t begin, int64_t end) {
  if (activation == Activate::kRelu) return forward_rows<Activate::kRelu>(f, begin, end);
  if (activation == Activate::kElu) return forward_rows<Activate::kElu>(f, begin, end);
  return forward_rows<Activate::kNone>(f, begin, end);
}

template <class T>
QW_INLINE void backward_any(Activate activation, const Backward<T>& b, int64_t begin, int64_t end, T* sums) {
  if (b.x_gradient != nullptr) {
    if (activation == Activate::kRelu) backward_rows<Activate::kRelu>(b, begin, end);
    if (activation == Activate::kElu) backward_rows<Activate::kElu>(b, begin, end);
    if (activation == Activate::kNone) backward_rows<Activate::kNone>(b, begin, end);
  }
  if (sums != nullptr) {
    add_rows(b.x_gradient == nullptr ? b.gradient : b.x_gradient, begin, end, b.width, sums);
  }
}

QW_MULTIVERSION void forward_range(Activate activation, const Forward<float>& f, int64_t begin, int64_t end) {
  forward_any(activation, f, begin, end);
}
QW_MULTIVERSION void forward_range(Activate activation, const Forward<double>& f, int64_t begin,
                                   int64_t end) {
  forward_any(activation, f, begin, end);
}
QW_MULTIVERSION void backward_range(Activate activation, const Backward<float>& b, int64_t begin, int64_t end,
                                    float* sums) {
  backward_any(activation, b, begin, end, sums);
}
QW_MULTIVERSION void backward_range(Activate activation, const Backward<double>& b, int64_t begin,
                                    int64_t end, double* sums) {
  backward_any(activation, b, begin, end, sums);
}

template <class T>
Masks<T> masks_of(const DropoutRule& rule) {
  return {rule, static_cast<uint32_t>(dropout_threshold(rule.p)), static_cast<T>(1.0 / (1.0 - rule.p))};
}

bool drops_everything(const DropoutRule& rule) { return dropout_threshold(rule.p) > UINT32_MAX; }

}  // namespace

template <class T>
void activate_cpu(Activate activation, const DropoutRule& rule, const T* x, const T* bias, int64_t rows,
                  int64_t width, T* result) {
  if (drops_everything(rule)) {
    std::fill(result, result + rows * width, T{0});
    return;
  }
  const Partition partition(rows, width);
  const Masks<T> masks = masks_of<T>(rule);
  const Forward<T> work{x, bias, width, result, rule.p > 0 ? &masks : nullptr};
  parallel_for(partition.tasks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      forward_range(activation, work, partition.begin(task), partition.end(task));
    }
  });
}

template <class T>
void activate_backward_cpu(Activate activation, const DropoutRule& rule, const T* result, const T* gradient,
                           int64_t rows, int64_t width, T* x_gradient, T* bias_gradient) {
  if (drops_everything(rule)) {
    std::fill(x_gradient, x_gradient + rows * width, T{0});
    if (bias_gradient != nullptr) std::fill(bias_gradient, bias_gradient + width, T{0});
    return;
  }
  const Partition partition(rows, width);
  const Masks<T> masks = masks_of<T>(rule);
  const Backward<T> work{result, gradient, width, x_gradient, rule.p > 0 ? &masks : nullptr};
  std::vector<T> sums(bias_gradient == nullptr ? 0 : partition.tasks() * width, T{0});
  parallel_for(partition.tasks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      backward_range(activation, work, partition.begin(task), partition.end(task),
                     bias_gradient == nullptr ? nullptr : sums.data() + task * width);
    }
  });
  if (bias_gradient == nullptr) return;
  std::fill(bias_gradient, bias_gradient + width, T{0});
  add_rows(sums.data(), 0, partition.tasks(), width, bias_gradient);
}

template void activate_cpu(Activate, const DropoutRule&, const float*, const float*, int64_t, int64_t,
                           float*);
template void activate_cpu(Activate, const DropoutRule&, const double*, const double*, int64_t, int64_t,
                           double*);
template void activate_backward_cpu(Activate, const DropoutRule&, const float*, const float*, int64_t,
                                    int64_t, float*, float*);
template void activate_backward_cpu(Activate, const DropoutRule&, const double*, const double*, int64_t,
                                    int64_t, double*, double*);

}  // namespace qw::kernels
