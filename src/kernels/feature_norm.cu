#include <cmath>

#include "kernels/feature_norm.h"
#include "kernels/feature_norm_columns.cuh"

namespace qw::kernels {
namespace {

using namespace feature_norm;  // NOLINT(google-build-using-namespace): its parts

// By block of rows and column: the mean, and the sum of the squares of what rows differ from it. In one pass,
// about the first row: it is at most sqrt(rows) deviations from the mean, so that the difference of the
// squares loses no more than a factor of the rows of a block.
template <class T>
struct BlockMoments {
  static constexpr int kThreads = kColumnThreads;
  const T* x;
  double* sums;
  ColumnBlocks blocks;

  __device__ void operator()() const {
    const ColumnThread at(blocks);
    const double origin = at.has_column ? double{x[at.begin * blocks.width + at.column]} : 0.0;
    TwoTotals own{0, 0};
    if (at.has_column) {
      for (int64_t row = at.begin + at.along; row < at.end; row += kRowsTogether * at.step)
        add(at, row, origin, own);
    }
    const TwoTotals all = column_totals(own, blocks.lanes);
    if (!at.has_column || at.along != 0) return;
    const double way = all.first / static_cast<double>(at.end - at.begin);
    const double squares = all.second - all.first * way;
    sums[2 * at.block * blocks.width + at.column] = origin + way;
    sums[(2 * at.block + 1) * blocks.width + at.column] = squares < 0 ? 0.0 : squares;  // NaN stays
  }

 private:
  __device__ void add(const ColumnThread& at, int64_t row, double origin, TwoTotals& own) const {
    T values[kRowsTogether];
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const int64_t now = row + u * at.step;
      values[u] = now < at.end ? x[now * blocks.width + at.column] : T{0};
    }
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const double way = row + u * at.step < at.end ? double{values[u]} - origin : 0.0;
      own.first += way;
      own.second += way * way;
    }
  }
};

// result = (x - mean) * of_x + of_gradient * gradient + constant, in one column; without x, or without a
// gradient, what is not there is not read.
template <class T>
struct ColumnMap {
  T mean, of_x, of_gradient, constant;

  __device__ void operator()(const ColumnThread& at, int64_t width, const T* x, const T* gradient,
                             T* result) const {
    for (int64_t row = at.begin + at.along; row < at.end; row += kRowsTogether * at.step) {
      T values[kRowsTogether], gradients[kRowsTogether];
#pragma unroll
      for (int u = 0; u < kRowsTogether; ++u) {
        const int64_t now = row + u * at.step, place = now * width + at.column;
        values[u] = x != nullptr && now < at.end ? x[place] : T{0};
        gradients[u] = gradient != nullptr && now < at.end ? gradient[place] : T{0};
      }
#pragma unroll
      for (int u = 0; u < kRowsTogether; ++u) {
        const int64_t now = row + u * at.step;
        if (now >= at.end) break;
        T value = 0;
        if (x != nullptr) value = (values[u] - mean) * of_x + constant;
        if (gradient != nullptr) value = of_gradient * gradients[u] + value;
        result[now * width + at.column] = value;
      }
    }
  }
};

// With `sums` of BlockMoments in training; without, by the running moments.
template <class T>
struct BatchNorm {
  static constexpr int kThreads = kColumnThreads;
  const T* x;
  const T* weight;
  const T* bias;
  T* result;
  double* mean;
  double* inverse;
  const double* sums;
  RunningMoments<T> running;
  double momentum;
  double eps;
  ColumnBlocks blocks;

  __device__ void operator()() const {
    const ColumnThread at(blocks);
    double center = 0, variance = 0;
    if (sums == nullptr) {
      if (at.has_column) {
        center = double{running.mean[at.column]};
        variance = double{running.variance[at.column]};
      }
    } else {
      const auto count = static_cast<double>(blocks.rows);
      center = mean_of_blocks(at);
      const double squares = squares_of_blocks(at, center);
      variance = squares / count;
      if (at.has_column && at.block == 0 && at.along == 0)
        move_running(at.column, center, squares / (count - 1.0));
    }
    if (!at.has_column) return;
    const double scale = 1.0 / std::sqrt(variance + eps);
    if (at.block == 0 && at.along == 0) {
      mean[at.column] = center;
      inverse[at.column] = scale;
    }
    const ColumnMap<T> map{static_cast<T>(center), static_cast<T>(double{weight[at.column]} * scale), T{0},
                           bias[at.column]};
    map(at, blocks.width, x, nullptr, result);
  }

 private:
  __device__ double size_of(int64_t block) const {
    const int64_t left = blocks.rows - block * blocks.rows_per_block;
    return static_cast<double>(left < blocks.rows_per_block ? left : blocks.rows_per_block);
  }

  __device__ double mean_of_blocks(const ColumnThread& at) const {
    double own = 0;
    for (int64_t block = at.along; at.has_column && block < blocks.row_blocks; block += at.step)
      own += size_of(block) / static_cast<double>(blocks.rows) * sums[2 * block * blocks.width + at.column];
    return column_totals({own, 0.0}, blocks.lanes).first;
  }

  // About the mean of all: those about the block's own, and the way between the two.
  __device__ double squares_of_blocks(const ColumnThread& at, double center) const {
    double own = 0;
    for (int64_t block = at.along; at.has_column && block < blocks.row_blocks; block += at.step) {
      const double way = sums[2 * block * blocks.width + at.column] - center;
      own += sums[(2 * block + 1) * blocks.width + at.column] + size_of(block) * way * way;
    }
    return column_totals({own, 0.0}, blocks.lanes).first;
  }

  __device__ void move_running(int64_t column, double center, double variance) const {
    running.mean[column] =
        static_cast<T>((1.0 - momentum) * double{running.mean[column]} + momentum * center);
    running.variance[column] =
        static_cast<T>((1.0 - momentum) * double{running.variance[column]} + momentum * variance);
  }
};

template <class T>
struct BatchNormBackward {
  static constexpr int kThreads = kColumnThreads;
  Normed<T> n;
  bool training;
  const T* gradient;
  T* x_gradient;
  T* weight_gradient;
  T* bias_gradient;
  const double* sums;
  ColumnBlocks blocks;

  __device__ void operator()() const {
    const ColumnThread at(blocks);
    TwoTotals totals{0, 0};
    if (training || at.block == 0)
      totals = totals_of_blocks(sums, blocks.row_blocks, n.width, at, blocks.lanes);
    if (!at.has_column) return;
    const double scale = n.inverse[at.column], plain = totals.first, product = totals.second * scale;
    if (at.block == 0 && at.along == 0) {
      bias_gradient[at.column] = static_cast<T>(plain);
      weight_gradient[at.column] = static_cast<T>(product);
    }
    const double slope = double{n.weight[at.column]} * scale;
    const auto count = static_cast<double>(n.rows);
    const ColumnMap<T> map{static_cast<T>(n.mean[at.column]),
                           static_cast<T>(-slope * scale * product / count), static_cast<T>(slope),
                           static_cast<T>(-slope * plain / count)};
    map(at, n.width, training ? n.x : nullptr, gradient, x_gradient);
  }
};

}  // namespace

template <class T>
void batch_norm_training_cuda(const Normed<T>& n, double momentum, double eps,
                              const RunningMoments<T>& running, const T* bias, T* result, double* mean,
                              double* inverse, double* sums, Stream stream) {
  const ColumnBlocks blocks(n.rows, n.width);
  launch(BlockMoments<T>{n.x, sums, blocks}, blocks.count(), stream);
  launch(BatchNorm<T>{n.x, n.weight, bias, result, mean, inverse, sums, running, momentum, eps, blocks},
         blocks.count(), stream);
}

template <class T>
void batch_norm_given_cuda(const Normed<T>& n, double eps, const RunningMoments<T>& running, const T* bias,
                           T* result, double* mean, double* inverse, Stream stream) {
  const ColumnBlocks blocks(n.rows, n.width);
  launch(BatchNorm<T>{n.x, n.weight, bias, result, mean, inverse, nullptr, running, 0.0, eps, blocks},
         blocks.count(), stream);
}

template <class T>
void batch_norm_backward_cuda(const Normed<T>& n, bool training, const T* gradient, T* x_gradient,
                              T* weight_gradient, T* bias_gradient, double* sums, Stream stream) {
  const ColumnBlocks blocks(n.rows, n.width);
  launch(GradientSums<T, false>{n, gradient, sums, blocks}, blocks.count(), stream);
  launch(
      BatchNormBackward<T>{n, training, gradient, x_gradient, weight_gradient, bias_gradient, sums, blocks},
      blocks.count(), stream);
}

template void batch_norm_training_cuda(const Normed<float>&, double, double, const RunningMoments<float>&,
                                       const float*, float*, double*, double*, double*, Stream);
template void batch_norm_given_cuda(const Normed<float>&, double, const RunningMoments<float>&, const float*,
                                    float*, double*, double*, Stream);
template void batch_norm_backward_cuda(const Normed<float>&, bool, const float*, float*, float*, float*,
                                       double*, Stream);
template void batch_norm_training_cuda(const Normed<double>&, double, double, const RunningMoments<double>&,
                                       const double*, double*, double*, double*, double*, Stream);
template void batch_norm_given_cuda(const Normed<double>&, double, const RunningMoments<double>&,
                                    const double*, double*, double*, double*, Stream);
template void batch_norm_backward_cuda(const Normed<double>&, bool, const double*, double*, double*, double*,
                                       double*, Stream);

}  // namespace qw::kernels
