#include "kernels/divergence_terms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kRowsPerBlock = 256;

constexpr int64_t kElementsAtOnce = 4096;

// The predictions of a row, with what is added to them.
template <class T, class Width>
QW_INLINE void copy_row(const LabelledRows<T>& rows, int64_t row, Width width, T* __restrict z) {
  const int64_t at = rows.nodes[row] * width;
  for (int64_t c = 0; c < width; ++c) z[c] = rows.predictions[at + c];
  if (rows.shift == nullptr) return;
  for (int64_t c = 0; c < width; ++c) z[c] += rows.shift[at + c];
}

// Adds up rows [begin, end) of one class each. Their numbers lie side by side in z, so that the exponentials,
// which take most of the time, are one loop.
template <class T, class Width>
QW_INLINE void softmax_of_classes(const LabelledRows<T>& rows, int64_t begin, int64_t end, Width width,
                                  double scale, T* __restrict z, T* gradient, double& value) {
  T own_score[kRowsPerBlock];
  for (int64_t row = begin; row < end; ++row) {
    T* each = z + (row - begin) * width;
    copy_row(rows, row, width, each);
    T largest = each[0];
    for (int64_t c = 1; c < width; ++c) largest = each[c] > largest ? each[c] : largest;
    for (int64_t c = 0; c < width; ++c) each[c] -= largest;
    own_score[row - begin] = each[rows.classes[row]];
  }
  for (int64_t i = 0; i < (end - begin) * width; ++i) z[i] = exponential(z[i]);
  for (int64_t row = begin; row < end; ++row) {
    T* each = z + (row - begin) * width;
    T sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += each[c];
    const T weight = weight_of(rows, rows.classes[row]);
    value += static_cast<double>(weight) *
             (std::log(static_cast<double>(sum)) - static_cast<double>(own_score[row - begin]));
    if (gradient == nullptr) continue;
    for (int64_t c = 0; c < width; ++c) each[c] *= weight / sum;
    each[rows.classes[row]] -= weight;
    T* to = gradient + rows.nodes[row] * width;
    for (int64_t c = 0; c < width; ++c) to[c] = each[c] * static_cast<T>(scale);
  }
}

// On entry z holds the predictions; on exit their gradient, not yet scaled.
template <class T>
QW_INLINE double softmax_row(const LabelledRows<T>& rows, int64_t row, T* z) {
  T largest = z[0];
  for (int64_t c = 1; c < rows.width; ++c) largest = z[c] > largest ? z[c] : largest;
  T sum = 0;
  const T* y = rows.targets + row * rows.width;
  double value = 0, mass = 0;
  for (int64_t c = 0; c < rows.width; ++c) sum += exponential(z[c] - largest);
  const double log_sum = std::log(static_cast<double>(sum));
  for (int64_t c = 0; c < rows.width; ++c) {
    if (is_unknown(y[c])) continue;
    const auto weight = static_cast<double>(weight_of(rows, c));
    value += softmax_value(y[c], weight, static_cast<double>(z[c] - largest) - log_sum);
    mass += weight * static_cast<double>(y[c]);
  }
  for (int64_t c = 0; c < rows.width; ++c) {
    const T label = is_unknown(y[c]) ? T{0} : weight_of(rows, c) * y[c];
    z[c] = static_cast<T>(mass) * exponential(z[c] - largest) / sum - label;
  }
  return value;
}

// By a term for each entry.
template <class T, class Term>
QW_INLINE double row_of_terms(const LabelledRows<T>& rows, int64_t row, T* z, const Term& term) {
  const T* y = rows.targets + row * rows.width;
  double value = 0;
  for (int64_t c = 0; c < rows.width; ++c) {
    const DivergenceTerm<T> each = term(z[c], y[c], weight_of(rows, c));
    value += each.value;
    z[c] = each.slope;
  }
  return value;
}

template <class T>
QW_INLINE double row_value(DivergenceKind kind, const LabelledRows<T>& rows, int64_t row, T* z) {
  if (kind == DivergenceKind::kSoftmax) return softmax_row(rows, row, z);
  if (kind == DivergenceKind::kLeastSquares) return row_of_terms(rows, row, z, least_squares_term<T>);
  return row_of_terms(rows, row, z, bernoulli_term<T>);
}

template <class T>
double block_value(DivergenceKind kind, const LabelledRows<T>& rows, int64_t begin, int64_t end, double scale,
                   T* gradient) {
  double sum = 0;
  if (rows.classes != nullptr) {
    const int64_t at_once = std::clamp<int64_t>(kElementsAtOnce / rows.width, 1, end - begin);
    std::vector<T> work(at_once * rows.width);
    with_columns(rows.width, [&](auto width) {
      for (int64_t row = begin; row < end; row += at_once) {
        softmax_of_classes(rows, row, std::min(end, row + at_once), width, scale, work.data(), gradient, sum);
      }
    });
    return sum;
  }
  std::vector<T> work(rows.width);
  for (int64_t row = begin; row < end; ++row) {
    T* z = gradient == nullptr ? work.data() : gradient + rows.nodes[row] * rows.width;
    copy_row(rows, row, rows.width, z);
    sum += row_value(kind, rows, row, z);
    for (int64_t c = 0; c < rows.width; ++c) z[c] *= static_cast<T>(scale);
  }
  return sum;
}

}  // namespace

template <class T>
double divergence_cpu(DivergenceKind kind, const LabelledRows<T>& rows, double scale, T* gradient) {
  if (rows.width == 0) return 0;
  const int64_t blocks = (rows.count + kRowsPerBlock - 1) / kRowsPerBlock;
  std::vector<double> sums(blocks);
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      sums[block] = block_value(kind, rows, block * kRowsPerBlock,
                                std::min(rows.count, (block + 1) * kRowsPerBlock), scale, gradient);
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return scale * total;
}

template double divergence_cpu(DivergenceKind, const LabelledRows<float>&, double, float*);
template double divergence_cpu(DivergenceKind, const LabelledRows<double>&, double, double*);

}  // namespace qw::kernels
