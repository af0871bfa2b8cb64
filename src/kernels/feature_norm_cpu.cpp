#include "kernels/feature_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kElementsPerBlock = 1 << 13;  // worth a thread
constexpr int64_t kMostBlocks = 512;

struct Blocks {
  int64_t rows;
  int64_t rows_per_block;

  Blocks(int64_t rows_, int64_t width) : rows(rows_) {
    rows_per_block = std::max({int64_t{1}, kElementsPerBlock / std::max<int64_t>(width, 1),
                               (rows + kMostBlocks - 1) / kMostBlocks});
  }
  int64_t count() const { return (rows + rows_per_block - 1) / rows_per_block; }
  int64_t begin(int64_t block) const { return block * rows_per_block; }
  int64_t end(int64_t block) const { return std::min(rows, (block + 1) * rows_per_block); }
  int64_t size(int64_t block) const { return end(block) - begin(block); }

  // body(block, begin, end) for every block.
  template <class Body>
  void for_each(const Body& body) const {
    parallel_for(count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) body(block, begin(block), end(block));
    });
  }
};

// Two numbers for each block and column, zero at first.
class BlockSums {
 public:
  BlockSums(const Blocks& blocks, int64_t width) : width_(width), sums_(blocks.count() * 2 * width, 0.0) {}
  double* first(int64_t block) { return sums_.data() + 2 * block * width_; }
  double* second(int64_t block) { return first(block) + width_; }

  // Adds up the blocks, in order, in the first.
  void total() {
    const auto stride = 2 * width_;
    for (int64_t from = stride; from < static_cast<int64_t>(sums_.size()); from += stride) {
      for (int64_t k = 0; k < stride; ++k) sums_[k] += sums_[from + k];
    }
  }

 private:
  int64_t width_;
  std::vector<double> sums_;
};

// By column: the mean of the rows, and the sum of the squares of what they differ from it.
template <class T>
QW_INLINE void add_moments(const T* x, int64_t rows, int64_t width, double* __restrict mean,
                           double* __restrict squares) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * width;
    for (int64_t c = 0; c < width; ++c) mean[c] += double{from[c]};
  }
  for (int64_t c = 0; c < width; ++c) mean[c] /= static_cast<double>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * width;
    for (int64_t c = 0; c < width; ++c) {
      const double difference = double{from[c]} - mean[c];
      squares[c] += difference * difference;
    }
  }
}

// By column, for batch_norm: g and g (x - mean) summed over rows.
template <class T>
QW_INLINE void add_batch_products(const Normed<T>& n, const T* gradient, int64_t begin, int64_t end,
                                  double* __restrict plain, double* __restrict product) {
  const double* __restrict mean = n.mean;
  for (int64_t row = begin; row < end; ++row) {
    const T* __restrict g = gradient + row * n.width;
    const T* __restrict x = n.x + row * n.width;
    for (int64_t c = 0; c < n.width; ++c) {
      plain[c] += double{g[c]};
      product[c] += double{g[c]} * (double{x[c]} - mean[c]);
    }
  }
}

// What each column does to its entries: result = (x - mean) * of_x + of_gradient * gradient + constant.
template <class T>
struct ColumnMaps {
  std::vector<T> mean, of_x, of_gradient, constant;

  explicit ColumnMaps(int64_t width) : mean(width), of_x(width), of_gradient(width), constant(width) {}
};

template <class T>
QW_INLINE void map_x(const ColumnMaps<T>& maps, const T* x, int64_t rows, int64_t width, T* result) {
  const T* __restrict mean = maps.mean.data();
  const T* __restrict of_x = maps.of_x.data();
  const T* __restrict constant = maps.constant.data();
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * width;
    T* __restrict to = result + row * width;
    for (int64_t c = 0; c < width; ++c) to[c] = (from[c] - mean[c]) * of_x[c] + constant[c];
  }
}

template <class T>
QW_INLINE void map_gradient(const ColumnMaps<T>& maps, const T* gradient, int64_t rows, int64_t width,
                            T* result) {
  const T* __restrict of_gradient = maps.of_gradient.data();
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = gradient + row * width;
    T* __restrict to = result + row * width;
    for (int64_t c = 0; c < width; ++c) to[c] = of_gradient[c] * from[c];
  }
}

template <class T>
QW_INLINE void map_both(const ColumnMaps<T>& maps, const T* x, const T* gradient, int64_t rows, int64_t width,
                        T* result) {
  const T* __restrict mean = maps.mean.data();
  const T* __restrict of_x = maps.of_x.data();
  const T* __restrict of_gradient = maps.of_gradient.data();
  const T* __restrict constant = maps.constant.data();
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * width;
    const T* __restrict g = gradient + row * width;
    T* __restrict to = result + row * width;
    for (int64_t c = 0; c < width; ++c) {
      to[c] = of_gradient[c] * g[c] + ((from[c] - mean[c]) * of_x[c] + constant[c]);
    }
  }
}

// Without x, or without a gradient, what is not there is not read.
template <class T>
QW_INLINE void map_rows(const ColumnMaps<T>& maps, const T* x, const T* gradient, int64_t rows, int64_t width,
                        T* result) {
  if (gradient == nullptr) return map_x(maps, x, rows, width, result);
  if (x == nullptr) return map_gradient(maps, gradient, rows, width, result);
  map_both(maps, x, gradient, rows, width, result);
}

struct TwoSums {
  double first;
  double second;
};

// Adds up the pairs term(0) ... term(size - 1): in vectors, whose order the compiler chose once for all rows.
template <class Term>
QW_INLINE TwoSums sums_of(int64_t size, const Term& term) {
  double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
  for (int64_t c = 0; c < size; ++c) {
    const TwoSums now = term(c);
    first += now.first;
    second += now.second;
  }
  return {first, second};
}

template <class T>
struct WayFrom {
  const T* x;
  double origin;
  QW_INLINE TwoSums operator()(int64_t c) const {
    const double way = double{x[c]} - origin;
    return {way, way * way};
  }
};

template <class T>
struct Tilt {
  const T* x;
  const T* gradient;
  const T* weight;
  double mean;
  QW_INLINE TwoSums operator()(int64_t c) const {
    const double u = double{gradient[c]} * double{weight[c]};
    return {u, u * (double{x[c]} - mean)};
  }
};

// Mean and variance in one pass, about the first entry: it is at most sqrt(width) deviations from the mean,
// so that the difference of the squares loses no more than a factor of the width.
template <class T>
QW_INLINE void layer_rows(const Normed<T>& n, double eps, const T* bias, int64_t begin, int64_t end,
                          T* result, double* means, double* inverses) {
  const double share = 1.0 / static_cast<double>(n.width);
  const T* __restrict weight = n.weight;
  const T* __restrict shift = bias;
  for (int64_t row = begin; row < end; ++row) {
    const T* __restrict x = n.x + row * n.width;
    T* __restrict to = result + row * n.width;
    const double origin = n.width == 0 ? 0.0 : double{x[0]};
    const TwoSums sums = sums_of(n.width, WayFrom<T>{x, origin});
    const double way = sums.first * share;
    means[row] = origin + way;
    const double variance = std::max(sums.second * share - way * way, 0.0);  // in this order NaN stays
    inverses[row] = 1.0 / std::sqrt(variance + eps);
    const T center = static_cast<T>(means[row]), scale = static_cast<T>(inverses[row]);
    for (int64_t c = 0; c < n.width; ++c) to[c] = (x[c] - center) * scale * weight[c] + shift[c];
  }
}

// With the sums over rows of g and g h, by column.
template <class T>
QW_INLINE void layer_backward_rows(const Normed<T>& n, const T* gradient, int64_t begin, int64_t end,
                                   T* x_gradient, double* __restrict plain, double* __restrict product) {
  const double share = 1.0 / static_cast<double>(n.width);
  const T* __restrict weight = n.weight;
  for (int64_t row = begin; row < end; ++row) {
    const T* __restrict x = n.x + row * n.width;
    const T* __restrict g = gradient + row * n.width;
    T* __restrict to = x_gradient + row * n.width;
    const double mean = n.mean[row], inverse = n.inverse[row];
    const TwoSums sums = sums_of(n.width, Tilt<T>{x, g, weight, mean});
    const T center = static_cast<T>(mean), scale = static_cast<T>(inverse);
    const T constant = static_cast<T>(-inverse * sums.first * share);
    const T of_h = static_cast<T>(-inverse * inverse * sums.second * share);
    for (int64_t c = 0; c < n.width; ++c) {
      const T h = (x[c] - center) * scale;
      to[c] = scale * g[c] * weight[c] + (h * of_h + constant);
      plain[c] += double{g[c]};
      product[c] += double{g[c] * h};
    }
  }
}

QW_MULTIVERSION void moments_block(const float* x, int64_t rows, int64_t width, double* mean,
                                   double* squares) {
  add_moments(x, rows, width, mean, squares);
}
QW_MULTIVERSION void products_block(const Normed<float>& n, const float* gradient, int64_t begin, int64_t end,
                                    double* plain, double* product) {
  add_batch_products(n, gradient, begin, end, plain, product);
}
QW_MULTIVERSION void map_block(const ColumnMaps<float>& maps, const float* x, const float* gradient,
                               int64_t rows, int64_t width, float* result) {
  map_rows(maps, x, gradient, rows, width, result);
}
QW_MULTIVERSION void layer_block(const Normed<float>& n, double eps, const float* bias, int64_t begin,
                                 int64_t end, float* result, double* means, double* inverses) {
  layer_rows(n, eps, bias, begin, end, result, means, inverses);
}
QW_MULTIVERSION void layer_backward_block(const Normed<float>& n, const float* gradient, int64_t begin,
                                          int64_t end, float* x_gradient, double* plain, double* product) {
  layer_backward_rows(n, gradient, begin, end, x_gradient, plain, product);
}

QW_MULTIVERSION void moments_block(const double* x, int64_t rows, int64_t width, double* mean,
                                   double* squares) {
  add_moments(x, rows, width, mean, squares);
}
QW_MULTIVERSION void products_block(const Normed<double>& n, const double* gradient, int64_t begin,
                                    int64_t end, double* plain, double* product) {
  add_batch_products(n, gradient, begin, end, plain, product);
}
QW_MULTIVERSION void map_block(const ColumnMaps<double>& maps, const double* x, const double* gradient,
                               int64_t rows, int64_t width, double* result) {
  map_rows(maps, x, gradient, rows, width, result);
}
QW_MULTIVERSION void layer_block(const Normed<double>& n, double eps, const double* bias, int64_t begin,
                                 int64_t end, double* result, double* means, double* inverses) {
  layer_rows(n, eps, bias, begin, end, result, means, inverses);
}
QW_MULTIVERSION void layer_backward_block(const Normed<double>& n, const double* gradient, int64_t begin,
                                          int64_t end, double* x_gradient, double* plain, double* product) {
  layer_backward_rows(n, gradient, begin, end, x_gradient, plain, product);
}

}  // namespace

template <class T>
void batch_statistics_cpu(const T* x, int64_t rows, int64_t width, double momentum, double eps,
                          const RunningMoments<T>& running, double* mean, double* inverse) {
  const Blocks blocks(rows, width);
  BlockSums moments(blocks, width);
  blocks.for_each([&](int64_t block, int64_t begin, int64_t end) {
    moments_block(x + begin * width, end - begin, width, moments.first(block), moments.second(block));
  });
  const auto count = static_cast<double>(rows);
  std::fill(mean, mean + width, 0.0);
  for (int64_t block = 0; block < blocks.count(); ++block) {
    const double* of_block = moments.first(block);
    const double share = static_cast<double>(blocks.size(block)) / count;
    for (int64_t c = 0; c < width; ++c) mean[c] += share * of_block[c];
  }
  // The squares about the mean of all: those about the block's own, and the way between the two.
  std::vector<double> squares(width, 0.0);
  for (int64_t block = 0; block < blocks.count(); ++block) {
    const double* of_block = moments.first(block);
    const double* within = moments.second(block);
    const auto size = static_cast<double>(blocks.size(block));
    for (int64_t c = 0; c < width; ++c) {
      const double way = of_block[c] - mean[c];
      squares[c] += within[c] + size * way * way;
    }
  }
  for (int64_t c = 0; c < width; ++c) {
    inverse[c] = 1.0 / std::sqrt(squares[c] / count + eps);
    running.mean[c] = static_cast<T>((1.0 - momentum) * double{running.mean[c]} + momentum * mean[c]);
    running.variance[c] = static_cast<T>((1.0 - momentum) * double{running.variance[c]} +
                                         momentum * squares[c] / (count - 1.0));
  }
}

template <class T>
void running_statistics_cpu(int64_t width, double eps, const RunningMoments<T>& running, double* mean,
                            double* inverse) {
  for (int64_t c = 0; c < width; ++c) {
    mean[c] = double{running.mean[c]};
    inverse[c] = 1.0 / std::sqrt(double{running.variance[c]} + eps);
  }
}

template <class T>
void batch_norm_cpu(const Normed<T>& n, const T* bias, T* result) {
  ColumnMaps<T> maps(n.width);
  for (int64_t c = 0; c < n.width; ++c) {
    maps.mean[c] = static_cast<T>(n.mean[c]);
    maps.of_x[c] = static_cast<T>(double{n.weight[c]} * n.inverse[c]);
    maps.constant[c] = bias[c];
  }
  Blocks(n.rows, n.width).for_each([&](int64_t, int64_t begin, int64_t end) {
    map_block(maps, n.x + begin * n.width, nullptr, end - begin, n.width, result + begin * n.width);
  });
}

template <class T>
void batch_norm_backward_cpu(const Normed<T>& n, bool training, const T* gradient, T* x_gradient,
                             T* weight_gradient, T* bias_gradient) {
  std::fill(weight_gradient, weight_gradient + n.width, T{0});
  std::fill(bias_gradient, bias_gradient + n.width, T{0});
  if (n.rows == 0) return;
  const Blocks blocks(n.rows, n.width);
  BlockSums sums(blocks, n.width);
  blocks.for_each([&](int64_t block, int64_t begin, int64_t end) {
    products_block(n, gradient, begin, end, sums.first(block), sums.second(block));
  });
  sums.total();
  ColumnMaps<T> maps(n.width);
  const auto count = static_cast<double>(n.rows);
  for (int64_t c = 0; c < n.width; ++c) {
    const double plain = sums.first(0)[c], product = sums.second(0)[c] * n.inverse[c];
    const double slope = double{n.weight[c]} * n.inverse[c];
    bias_gradient[c] = static_cast<T>(plain);
    weight_gradient[c] = static_cast<T>(product);
    maps.mean[c] = static_cast<T>(n.mean[c]);
    maps.of_gradient[c] = static_cast<T>(slope);
    maps.constant[c] = static_cast<T>(-slope * plain / count);
    maps.of_x[c] = static_cast<T>(-slope * n.inverse[c] * product / count);
  }
  blocks.for_each([&](int64_t, int64_t begin, int64_t end) {
    map_block(maps, training ? n.x + begin * n.width : nullptr, gradient + begin * n.width, end - begin,
              n.width, x_gradient + begin * n.width);
  });
}

template <class T>
void layer_norm_cpu(const Normed<T>& n, double eps, const T* bias, T* result, double* mean, double* inverse) {
  Blocks(n.rows, n.width).for_each([&](int64_t, int64_t begin, int64_t end) {
    layer_block(n, eps, bias, begin, end, result, mean, inverse);
  });
}

template <class T>
void layer_norm_backward_cpu(const Normed<T>& n, const T* gradient, T* x_gradient, T* weight_gradient,
                             T* bias_gradient) {
  std::fill(weight_gradient, weight_gradient + n.width, T{0});
  std::fill(bias_gradient, bias_gradient + n.width, T{0});
  if (n.rows == 0) return;
  const Blocks blocks(n.rows, n.width);
  BlockSums sums(blocks, n.width);
  blocks.for_each([&](int64_t block, int64_t begin, int64_t end) {
    layer_backward_block(n, gradient, begin, end, x_gradient, sums.first(block), sums.second(block));
  });
  sums.total();
  for (int64_t c = 0; c < n.width; ++c) {
    bias_gradient[c] = static_cast<T>(sums.first(0)[c]);
    weight_gradient[c] = static_cast<T>(sums.second(0)[c]);
  }
}

template void batch_statistics_cpu(const float*, int64_t, int64_t, double, double,
                                   const RunningMoments<float>&, double*, double*);
template void running_statistics_cpu(int64_t, double, const RunningMoments<float>&, double*, double*);
template void batch_norm_cpu(const Normed<float>&, const float*, float*);
template void batch_norm_backward_cpu(const Normed<float>&, bool, const float*, float*, float*, float*);
template void layer_norm_cpu(const Normed<float>&, double, const float*, float*, double*, double*);
template void layer_norm_backward_cpu(const Normed<float>&, const float*, float*, float*, float*);

template void batch_statistics_cpu(const double*, int64_t, int64_t, double, double,
                                   const RunningMoments<double>&, double*, double*);
template void running_statistics_cpu(int64_t, double, const RunningMoments<double>&, double*, double*);
template void batch_norm_cpu(const Normed<double>&, const double*, double*);
template void batch_norm_backward_cpu(const Normed<double>&, bool, const double*, double*, double*, double*);
template void layer_norm_cpu(const Normed<double>&, double, const double*, double*, double*, double*);
template void layer_norm_backward_cpu(const Normed<double>&, const double*, double*, double*, double*);

}  // namespace qw::kernels
