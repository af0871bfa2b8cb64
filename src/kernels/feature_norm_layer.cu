#include <cmath>

#include "kernels/feature_norm.h"
#include "kernels/feature_norm_columns.cuh"

namespace qw::kernels {
namespace {

using namespace feature_norm;  // NOLINT(google-build-using-namespace): its parts

constexpr int kLayerThreads = 256;

// Over a team of lanes, a power of two, for each of them.
__device__ TwoTotals team_totals(TwoTotals own, int lanes) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    own.first += __shfl_xor_sync(kWholeWarp, own.first, offset);
    own.second += __shfl_xor_sync(kWholeWarp, own.second, offset);
  }
  return own;
}

// A team of lanes has a row. Mean and variance in one pass, about the first entry, as on the CPU.
template <class T>
struct LayerNorm {
  static constexpr int kThreads = kLayerThreads;
  Normed<T> n;
  double eps;
  const T* bias;
  T* result;
  double* means;
  double* inverses;
  int32_t lanes;

  __device__ void operator()() const {
    const int64_t row = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / lanes;
    const auto lane = static_cast<int>(threadIdx.x % lanes);
    const bool has_row = row < n.rows;
    const T* x = n.x + (has_row ? row * n.width : 0);
    const double origin = has_row && n.width > 0 ? double{x[0]} : 0.0;
    TwoTotals own{0, 0};
    if (has_row) {
#pragma unroll 4
      for (int64_t c = lane; c < n.width; c += lanes) {
        const double way = double{x[c]} - origin;
        own.first += way;
        own.second += way * way;
      }
    }
    const TwoTotals sums = team_totals(own, lanes);
    if (!has_row) return;
    const double share = 1.0 / static_cast<double>(n.width), way = sums.first * share;
    const double spread = sums.second * share - way * way;
    const double mean = origin + way, inverse = 1.0 / std::sqrt((spread < 0 ? 0.0 : spread) + eps);
    if (lane == 0) {
      means[row] = mean;
      inverses[row] = inverse;
    }
    const T center = static_cast<T>(mean), scale = static_cast<T>(inverse);
    T* to = result + row * n.width;
#pragma unroll 4
    for (int64_t c = lane; c < n.width; c += lanes) to[c] = (x[c] - center) * scale * n.weight[c] + bias[c];
  }
};

// A team of lanes has a row and goes on by as many rows as the block has teams. With `sums`, for which rows
// must not be wider than kLayerColumns, the sums by column of g and g h over the rows of the block.
template <class T>
struct LayerNormBackward {
  static constexpr int kThreads = kLayerThreads;
  Normed<T> n;
  const T* gradient;
  T* x_gradient;
  double* sums;
  int64_t rows_per_block;
  int32_t lanes;

  __device__ void operator()() const {
    // By team, then g and g h, then by column. Teams of few lanes are many, and their rows short.
    __shared__ double by_team[kThreads / kWarp * 2 * kLayerColumns];
    const int team = static_cast<int>(threadIdx.x) / lanes, teams = kThreads / lanes;
    const auto lane = static_cast<int>(threadIdx.x % lanes);
    double* own = sums == nullptr ? nullptr : by_team + team * 2 * n.width;
    for (int64_t c = lane; own != nullptr && c < 2 * n.width; c += lanes) own[c] = 0;
    __syncwarp();
    const int64_t begin = blockIdx.x * rows_per_block;
    const int64_t end = begin + rows_per_block < n.rows ? begin + rows_per_block : n.rows;
    for (int64_t first = begin; first < end; first += teams) do_row(first + team, end, lane, own);
    if (sums == nullptr) return;
    __syncthreads();
    for (int64_t c = threadIdx.x; c < 2 * n.width; c += kThreads) {
      double total = 0;
      for (int t = 0; t < teams; ++t) total += by_team[t * 2 * n.width + c];
      sums[2 * n.width * blockIdx.x + c] = total;
    }
  }

 private:
  __device__ void do_row(int64_t row, int64_t end, int lane, double* own) const {
    const bool has_row = row < end;
    const int64_t start = has_row ? row * n.width : 0;
    const T* x = n.x + start;
    const T* g = gradient + start;
    const double mean = has_row ? n.mean[row] : 0.0, inverse = has_row ? n.inverse[row] : 0.0;
    TwoTotals tilt{0, 0};
    if (has_row) {
#pragma unroll 4
      for (int64_t c = lane; c < n.width; c += lanes) {
        const double u = double{g[c]} * double{n.weight[c]};
        tilt.first += u;
        tilt.second += u * (double{x[c]} - mean);
      }
    }
    tilt = team_totals(tilt, lanes);
    if (!has_row) return;
    const double share = 1.0 / static_cast<double>(n.width);
    const T center = static_cast<T>(mean), scale = static_cast<T>(inverse);
    const T constant = static_cast<T>(-inverse * tilt.first * share);
    const T of_h = static_cast<T>(-inverse * inverse * tilt.second * share);
    T* to = x_gradient + start;
#pragma unroll 4
    for (int64_t c = lane; c < n.width; c += lanes) {
      const T h = (x[c] - center) * scale;
      to[c] = scale * g[c] * n.weight[c] + (h * of_h + constant);
      if (own == nullptr) continue;
      own[c] += double{g[c]};
      own[n.width + c] += double{g[c] * h};
    }
  }
};

// The sums of all blocks are the gradients of bias and weight.
template <class T>
struct SumBlocks {
  static constexpr int kThreads = kColumnThreads;
  const double* sums;
  int64_t count;
  T* first;
  T* second;
  ColumnBlocks blocks;  // of which there is one along rows

  __device__ void operator()() const {
    const ColumnThread at(blocks);
    const TwoTotals totals = totals_of_blocks(sums, count, blocks.width, at, blocks.lanes);
    if (!at.has_column || at.along != 0) return;
    first[at.column] = static_cast<T>(totals.first);
    second[at.column] = static_cast<T>(totals.second);
  }
};

// Four blocks fit into a multiprocessor, but many sums take long to add up.
struct LayerBlocks {
  int64_t rows_per_block;
  int64_t count;

  LayerBlocks(int64_t rows, int64_t width) {
    rows_per_block = std::max<int64_t>(blocks_for(rows, 2 * sum_blocks()), kLayerThreads / lanes_for(width));
    count = blocks_for(rows, rows_per_block);
  }
};

}  // namespace

int64_t norm_sums_size(int64_t rows, int64_t width) {
  return 2 * width * std::max<int64_t>(ColumnBlocks(rows, width).row_blocks, LayerBlocks(rows, width).count);
}

template <class T>
void layer_norm_cuda(const Normed<T>& n, double eps, const T* bias, T* result, double* mean, double* inverse,
                     Stream stream) {
  const int32_t lanes = lanes_for(n.width);
  launch(LayerNorm<T>{n, eps, bias, result, mean, inverse, lanes}, blocks_for(n.rows * lanes, kLayerThreads),
         stream);
}

template <class T>
void layer_norm_backward_cuda(const Normed<T>& n, const T* gradient, T* x_gradient, T* weight_gradient,
                              T* bias_gradient, double* sums, Stream stream) {
  const int32_t lanes = lanes_for(n.width);
  const LayerBlocks layer(n.rows, n.width);
  const ColumnBlocks columns(n.rows, n.width);
  const bool narrow = n.width <= kLayerColumns;
  if (narrow) {
    launch(LayerNormBackward<T>{n, gradient, x_gradient, sums, layer.rows_per_block, lanes}, layer.count,
           stream);
  } else {
    const int64_t rows_per_block = kLayerThreads / lanes;
    launch(LayerNormBackward<T>{n, gradient, x_gradient, nullptr, rows_per_block, lanes},
           blocks_for(n.rows, rows_per_block), stream);
    launch(GradientSums<T, true>{n, gradient, sums, columns}, columns.count(), stream);
  }
  const ColumnBlocks once(0, n.width);
  launch(SumBlocks<T>{sums, narrow ? layer.count : columns.row_blocks, bias_gradient, weight_gradient, once},
         once.count(), stream);
}

template void layer_norm_cuda(const Normed<float>&, double, const float*, float*, double*, double*, Stream);
template void layer_norm_backward_cuda(const Normed<float>&, const float*, float*, float*, float*, double*,
                                       Stream);
template void layer_norm_cuda(const Normed<double>&, double, const double*, double*, double*, double*,
                              Stream);
template void layer_norm_backward_cuda(const Normed<double>&, const double*, double*, double*, double*,
                                       double*, Stream);

}  // namespace qw::kernels
