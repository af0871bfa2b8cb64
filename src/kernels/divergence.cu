#include "kernels/divergence_terms.h"
#include "kernels/launch.cuh"

namespace qw::kernels {
namespace {

constexpr int kRowThreads = 512;
constexpr int kSumThreads = 256;
constexpr int64_t kMostBlocks = 1024;
constexpr int64_t kPassesOfOneBlock = 4;  // up to so many over rows one block is faster than a second launch

enum class Form { kClasses, kSoftTargets, kLeastSquares, kBernoulli };

// How many lanes share a row: two columns each, up to a warp.
int lanes_for(int64_t width) {
  int lanes = 1;
  while (lanes < kWarp && 2 * lanes < width) lanes *= 2;
  return lanes;
}

struct Division {
  int lanes;
  int64_t rows_per_block, blocks;
};

Division division_of(int64_t count, int64_t width) {
  const int lanes = lanes_for(width);
  const int64_t at_once = kRowThreads / lanes;
  if (count <= kPassesOfOneBlock * at_once) return {lanes, kPassesOfOneBlock * at_once, 1};
  const int64_t passes = blocks_for(count, at_once * kMostBlocks);
  return {lanes, passes * at_once, blocks_for(count, passes * at_once)};
}

template <class T>
__device__ T sum_of_lanes(T value, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(kWholeWarp, value, step);
  return value;
}

template <class T>
__device__ T largest_of_lanes(T value, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(kWholeWarp, value, step);
    value = other > value ? other : value;
  }
  return value;
}

// Of all threads of a block, for thread 0; in an order that only the number of threads decides.
template <int kThreads>
__device__ double sum_of_block(double value) {
  __shared__ double of_warp[kThreads / kWarp];
  value = sum_of_lanes(value, kWarp);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0) {
    for (int warp = 0; warp < kThreads / kWarp; ++warp) sum += of_warp[warp];
  }
  return sum;
}

template <class T, Form kForm>
struct DivergenceOfRows {
  static constexpr int kThreads = kRowThreads;
  LabelledRows<T> rows;
  double scale;
  int64_t rows_per_block;
  T* gradient;           // or null
  double* sums;          // one a block
  double sum_factor;     // scale where the sum of the only block is the value
  const double* addend;  // of the only block, or null
  int lanes;

  // What the lanes of one group see of their row.
  struct Row {
    const T* z;
    const T* shift;
    const T* y;
    T* gradient;
    int own;
    int width;  // 0: there is no row
    int lane;
  };

  __device__ static T prediction(const Row& row, int c) {
    return row.shift == nullptr ? row.z[c] : row.z[c] + row.shift[c];
  }

  __device__ void put(const Row& row, int c, T slope) const {
    if (row.gradient != nullptr) row.gradient[c] = slope * static_cast<T>(scale);
  }

  __device__ T largest_of(const Row& row) const {
    T largest = -INFINITY;
    for (int c = row.lane; c < row.width; c += lanes) {
      const T z = prediction(row, c);
      largest = z > largest ? z : largest;
    }
    return largest_of_lanes(largest, lanes);
  }

  __device__ double softmax(const Row& row) const {
    const T largest = largest_of(row);
    T sum = 0;
    for (int c = row.lane; c < row.width; c += lanes) sum += exponential(prediction(row, c) - largest);
    sum = sum_of_lanes(sum, lanes);
    if constexpr (kForm == Form::kClasses) {
      return row.width == 0 ? 0 : class_terms(row, largest, sum);
    } else {
      return target_terms(row, largest, sum);
    }
  }

  __device__ double class_terms(const Row& row, T largest, T sum) const {
    const T weight = weight_of(rows, row.own);
    if (row.gradient != nullptr) {
      for (int c = row.lane; c < row.width; c += lanes) {
        const T share = exponential(prediction(row, c) - largest) * (weight / sum);
        put(row, c, c == row.own ? share - weight : share);
      }
    }
    if (row.lane != 0) return 0;
    const auto own_score = static_cast<double>(prediction(row, row.own) - largest);
    return static_cast<double>(weight) * (log(static_cast<double>(sum)) - own_score);
  }

  __device__ double target_terms(const Row& row, T largest, T sum) const {
    const double log_sum = log(static_cast<double>(sum));
    double value = 0, mass = 0;
    for (int c = row.lane; c < row.width; c += lanes) {
      const T y = row.y[c];
      if (is_unknown(y)) continue;
      const auto weight = static_cast<double>(weight_of(rows, c));
      value += softmax_value(y, weight, static_cast<double>(prediction(row, c) - largest) - log_sum);
      mass += weight * static_cast<double>(y);
    }
    mass = sum_of_lanes(mass, lanes);
    for (int c = row.lane; c < row.width; c += lanes) {
      const T y = row.y[c];
      const T label = is_unknown(y) ? T{0} : weight_of(rows, c) * y;
      put(row, c, static_cast<T>(mass) * exponential(prediction(row, c) - largest) / sum - label);
    }
    return value;
  }

  template <class Term>
  __device__ double sum_of_terms(const Row& row, const Term& term) const {
    double value = 0;
    for (int c = row.lane; c < row.width; c += lanes) {
      const DivergenceTerm<T> each = term(prediction(row, c), row.y[c], weight_of(rows, c));
      value += each.value;
      put(row, c, each.slope);
    }
    return value;
  }

  __device__ Row row_at(int64_t row) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (row >= rows.count) return {nullptr, nullptr, nullptr, nullptr, 0, 0, lane};
    const int64_t at = rows.nodes[row] * rows.width;
    return {rows.predictions + at,
            rows.shift == nullptr ? nullptr : rows.shift + at,
            kForm == Form::kClasses ? nullptr : rows.targets + row * rows.width,
            gradient == nullptr ? nullptr : gradient + at,
            kForm == Form::kClasses ? rows.classes[row] : 0,
            static_cast<int>(rows.width),
            lane};
  }

  __device__ void operator()() const {
    const int64_t begin = blockIdx.x * rows_per_block;
    const int64_t end = begin + rows_per_block < rows.count ? begin + rows_per_block : rows.count;
    const int in_pass = static_cast<int>(threadIdx.x) / lanes, at_once = kThreads / lanes;
    double value = 0;
    for (int64_t first = begin; first < end; first += at_once) {
      const Row row = row_at(first + in_pass);
      if constexpr (kForm == Form::kLeastSquares) {
        value += sum_of_terms(row, [](T z, T y, T weight) { return least_squares_term(z, y, weight); });
      } else if constexpr (kForm == Form::kBernoulli) {
        value += sum_of_terms(row, [](T z, T y, T weight) { return bernoulli_term(z, y, weight); });
      } else {
        value += softmax(row);
      }
    }
    const double sum = sum_of_block<kThreads>(value);
    if (threadIdx.x != 0) return;
    sums[blockIdx.x] = sum_factor * sum;
    if (addend != nullptr) sums[1] = *addend + sums[0];
  }
};

struct ScaledSum {
  static constexpr int kThreads = kSumThreads;
  const double* sums;
  int64_t count;
  double scale;
  const double* addend;  // or null
  double* value;

  __device__ void operator()() const {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += sums[i];
    sum = sum_of_block<kThreads>(sum);
    if (threadIdx.x != 0) return;
    value[0] = scale * sum;
    if (addend != nullptr) value[1] = *addend + value[0];
  }
};

}  // namespace

int64_t divergence_blocks(int64_t count, int64_t width) { return division_of(count, width).blocks; }

template <class T>
void divergence_cuda(DivergenceKind kind, const LabelledRows<T>& rows, double scale, T* gradient,
                     double* partials, const double* addend, double* value, Stream stream) {
  LabelledRows<T> some = rows;
  if (rows.width == 0) some.count = 0;
  const Division division = division_of(some.count, rows.width);
  const bool alone = division.blocks == 1;
  const auto run = [&]<Form kForm>() {
    launch(
        DivergenceOfRows<T, kForm>{some, scale, division.rows_per_block, gradient, alone ? value : partials,
                                   alone ? scale : 1.0, alone ? addend : nullptr, division.lanes},
        division.blocks, stream);
  };
  if (kind == DivergenceKind::kSoftmax && rows.targets == nullptr) run.template operator()<Form::kClasses>();
  if (kind == DivergenceKind::kSoftmax && rows.targets != nullptr)
    run.template operator()<Form::kSoftTargets>();
  if (kind == DivergenceKind::kLeastSquares) run.template operator()<Form::kLeastSquares>();
  if (kind == DivergenceKind::kBernoulli) run.template operator()<Form::kBernoulli>();
  if (!alone) launch(ScaledSum{partials, division.blocks, scale, addend, value}, 1, stream);
}

template void divergence_cuda(DivergenceKind, const LabelledRows<float>&, double, float*, double*,
                              const double*, double*, Stream);
template void divergence_cuda(DivergenceKind, const LabelledRows<double>&, double, double*, double*,
                              const double*, double*, Stream);

}  // namespace qw::kernels
