#include "kernels/normalise.h"

#include <cmath>

#include "kernels/row_teams.cuh"

namespace qw::kernels {
namespace {

// Offsets of what is summed up over rows.
struct Rows {
  const int64_t* offsets;
  int64_t count;

  __device__ int64_t size(int64_t row) const { return offsets[row + 1] - offsets[row]; }

  // body(k) for this member's share of the row's entries.
  template <class Team, class Body>
  __device__ void share(const Team& team, int64_t row, const Body& body) const {
    if (row < 0) return;
    for (int64_t k = offsets[row] + team.rank; k < offsets[row + 1]; k += team.size) body(k);
  }
};

// rule(team, row) for every row.
template <class Rule>
struct ForRows {
  static constexpr int kThreads = kTeamThreads;
  Rule rule;
  RowSplit split;

  __device__ void operator()() const {
    for_rows_of_block(
        split, blockIdx.x, rule.rows.count, INT64_MAX, [&](int64_t row) { return rule.length(row); },
        [&](const auto& team, int64_t row) { rule(team, row); });
  }
};

template <class Rule>
void launch_rows(const Rule& rule, int64_t entries, Stream stream) {
  const RowSplit split = split_rows(rule.rows.count, entries, 4);
  launch(ForRows<Rule>{rule, split}, split.blocks(rule.rows.count), stream);
}

template <class T>
struct SymmetricScales {
  Rows rows;
  const T* values;
  T* scales;

  __device__ int64_t length(int64_t row) const { return rows.size(row); }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    T sum = 0;
    rows.share(team, row, [&](int64_t k) { sum += values[k]; });
    sum = team_sum(team, sum);
    if (row >= 0 && team.rank == 0) scales[row] = sum <= 0 ? T(0) : T(1) / std::sqrt(sum);
  }
};

// result = values * (own scale * scale of the column) + addend. The two scales first: so the result at (i, j)
// and (j, i) has the same bits.
template <class T>
struct ScalePairs {
  Rows rows;
  const int32_t* columns;
  const T* values;
  const T* scales;
  const T* addends;  // [rows]; null: none
  T* result;

  __device__ int64_t length(int64_t row) const { return rows.size(row); }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    if (row < 0) return;
    const T own = scales[row];
    const T addend = addends == nullptr ? T(0) : addends[row];
    rows.share(team, row, [&](int64_t k) { result[k] = values[k] * (own * scales[columns[k]]) + addend; });
  }
};

template <class T>
struct DivideRows {
  Rows rows;
  const T* values;
  T* scales;
  T* result;

  __device__ int64_t length(int64_t row) const { return rows.size(row); }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    T sum = 0;
    rows.share(team, row, [&](int64_t k) { sum += values[k]; });
    sum = team_sum(team, sum);
    if (row >= 0 && team.rank == 0) scales[row] = sum == 0 ? T(0) : T(1) / sum;
    rows.share(team, row, [&](int64_t k) { result[k] = sum == 0 ? T(0) : values[k] / sum; });
  }
};

template <class T>
struct Softmax {
  Rows rows;
  const T* values;
  T* result;

  __device__ int64_t length(int64_t row) const { return rows.size(row); }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    T largest = -INFINITY;
    rows.share(team, row, [&](int64_t k) { largest = values[k] > largest ? values[k] : largest; });
    largest = team_maximum(team, largest);
    T sum = 0;
    rows.share(team, row, [&](int64_t k) {
      const T power = std::exp(values[k] - largest);
      result[k] = power;
      sum += power;
    });
    const T scale = T(1) / team_sum(team, sum);
    rows.share(team, row, [&](int64_t k) { result[k] *= scale; });
  }
};

// The gradient for the sum of each row, from the row's and the column's sums of gradient * normalised; with
// no `normalised` the gradient is the product already.
template <class T>
struct SumsGradient {
  Rows rows;
  Rows columns;
  const int64_t* order;
  const T* gradient;
  const T* normalised;
  const T* scales;
  T* result;

  __device__ int64_t length(int64_t row) const { return rows.size(row) + columns.size(row); }
  __device__ T product(int64_t k) const {
    return normalised == nullptr ? gradient[k] : gradient[k] * normalised[k];
  }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    T sums[2] = {};
    rows.share(team, row, [&](int64_t k) { sums[0] += product(k); });
    columns.share(team, row, [&](int64_t k) { sums[1] += product(order[k]); });
    team.combine(sums, 1, Add{});
    if (row >= 0 && team.rank == 0) result[row] = T(-0.5) * scales[row] * scales[row] * (sums[0] + sums[1]);
  }
};

template <class T>
struct Products {
  static constexpr int kThreads = 256;
  const T* left;
  const T* right;
  int64_t size;
  T* result;

  __device__ void operator()() const {
    const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
    if (i < size) result[i] = left[i] * right[i];
  }
};

// (gradient - mean) times the row's scale, or with no scales times the normalised value; the mean is the
// row's sum of gradient * normalised.
template <class T>
struct CentreRows {
  Rows rows;
  const T* normalised;
  const T* scales;
  const T* gradient;
  T* result;

  __device__ int64_t length(int64_t row) const { return rows.size(row); }
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    T mean = 0;
    rows.share(team, row, [&](int64_t k) { mean += gradient[k] * normalised[k]; });
    mean = team_sum(team, mean);
    const T scale = row < 0 || scales == nullptr ? T(0) : scales[row];
    rows.share(team, row, [&](int64_t k) {
      result[k] = (gradient[k] - mean) * (scales == nullptr ? normalised[k] : scale);
    });
  }
};

}  // namespace

template <class T>
void normalise_symmetric_cuda(const CsrView<T>& matrix, int64_t entries, T* scales, T* result,
                              Stream stream) {
  const Rows rows{matrix.offsets, matrix.rows};
  launch_rows(SymmetricScales<T>{rows, matrix.values, scales}, entries, stream);
  launch_rows(ScalePairs<T>{rows, matrix.columns, matrix.values, scales, nullptr, result}, entries, stream);
}

template <class T>
void normalise_rows_cuda(const CsrView<T>& matrix, int64_t entries, T* scales, T* result, Stream stream) {
  launch_rows(DivideRows<T>{{matrix.offsets, matrix.rows}, matrix.values, scales, result}, entries, stream);
}

template <class T>
void normalise_softmax_cuda(const CsrView<T>& matrix, int64_t entries, T* result, Stream stream) {
  launch_rows(Softmax<T>{{matrix.offsets, matrix.rows}, matrix.values, result}, entries, stream);
}

template <class T>
void normalise_symmetric_backward_cuda(const CsrView<T>& normalised, int64_t entries,
                                       const ColumnsView& columns, const T* scales, const T* gradient,
                                       T* sums_gradient, T* values_gradient, Stream stream) {
  // Two numbers gathered through `order` cost more than writing their product first, when they do not fit the
  // cache.
  constexpr int64_t kMany = 1 << 21;
  const Rows rows{normalised.offsets, normalised.rows};
  SumsGradient<T> sums{
      rows,         {columns.offsets, normalised.rows}, columns.order, gradient, normalised.values, scales,
      sums_gradient};
  if (entries >= kMany) {
    using Task = Products<T>;
    launch(Task{gradient, normalised.values, entries, values_gradient}, blocks_for(entries, Task::kThreads),
           stream);
    sums.gradient = values_gradient;
    sums.normalised = nullptr;
  }
  launch_rows(sums, 2 * entries, stream);
  launch_rows(ScalePairs<T>{rows, normalised.columns, gradient, scales, sums_gradient, values_gradient},
              entries, stream);
}

template <class T>
void normalise_rows_backward_cuda(const CsrView<T>& normalised, int64_t entries, const T* scales,
                                  const T* gradient, T* values_gradient, Stream stream) {
  launch_rows(
      CentreRows<T>{
          {normalised.offsets, normalised.rows}, normalised.values, scales, gradient, values_gradient},
      entries, stream);
}

template <class T>
void normalise_softmax_backward_cuda(const CsrView<T>& normalised, int64_t entries, const T* gradient,
                                     T* values_gradient, Stream stream) {
  launch_rows(
      CentreRows<T>{
          {normalised.offsets, normalised.rows}, normalised.values, nullptr, gradient, values_gradient},
      entries, stream);
}

#define QW_NORMALISE(T)                                                                                     \
  template void normalise_symmetric_cuda(const CsrView<T>&, int64_t, T*, T*, Stream);                       \
  template void normalise_rows_cuda(const CsrView<T>&, int64_t, T*, T*, Stream);                            \
  template void normalise_softmax_cuda(const CsrView<T>&, int64_t, T*, Stream);                             \
  template void normalise_symmetric_backward_cuda(const CsrView<T>&, int64_t, const ColumnsView&, const T*, \
                                                  const T*, T*, T*, Stream);                                \
  template void normalise_rows_backward_cuda(const CsrView<T>&, int64_t, const T*, const T*, T*, Stream);   \
  template void normalise_softmax_backward_cuda(const CsrView<T>&, int64_t, const T*, T*, Stream);
QW_NORMALISE(float)
QW_NORMALISE(double)
#undef QW_NORMALISE

}  // namespace qw::kernels
