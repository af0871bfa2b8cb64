// Batch and layer normalisation on raw pointers.
//
// Floor: batch, forward, reads x twice and writes once; backward it reads x and the gradient twice and writes
// once. Layer, forward and backward, reads each once, a row in cache at a time, and writes once. Sums over
// rows are kept in double by block of rows and added in order; the blocks depend on the shape only and are so
// few that their sums are small beside a matrix.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

// x and how it is normalised: h = (x - mean) * inverse and weight * h + bias.
template <class T>
struct Normed {
  const T* x;  // [rows, width]
  int64_t rows;
  int64_t width;
  const T* weight;        // [width]
  const double* mean;     // of columns [width] (batch) or rows [rows] (layer)
  const double* inverse;  // 1 / sqrt(variance + eps), likewise
};

template <class T>
struct RunningMoments {
  T* mean;  // [width]
  T* variance;
};

// Mean and inverse [width] of the columns of x [rows, width], rows >= 2; moves the running ones towards them.
template <class T>
void batch_statistics_cpu(const T* x, int64_t rows, int64_t width, double momentum, double eps,
                          const RunningMoments<T>& running, double* mean, double* inverse);

// The same from the running ones, which stay.
template <class T>
void running_statistics_cpu(int64_t width, double eps, const RunningMoments<T>& running, double* mean,
                            double* inverse);

template <class T>
void batch_norm_cpu(const Normed<T>& normed, const T* bias, T* result);

// In training mean and inverse depend on x, otherwise they do not.
template <class T>
void batch_norm_backward_cpu(const Normed<T>& normed, bool training, const T* gradient, T* x_gradient,
                             T* weight_gradient, T* bias_gradient);

// Writes mean and inverse [rows] beside the result; normed's are not read.
template <class T>
void layer_norm_cpu(const Normed<T>& normed, double eps, const T* bias, T* result, double* mean,
                    double* inverse);

template <class T>
void layer_norm_backward_cpu(const Normed<T>& normed, const T* gradient, T* x_gradient, T* weight_gradient,
                             T* bias_gradient);

// On the GPU each is two launches, sums over the rows of each block of rows and then, by every block again,
// over the blocks, with what they are for; batch_norm with given moments and layer_norm forward are one,
// layer_norm backward three where a row is wider than kLayerColumns.
//
// They are given room for the sums of the blocks: so many numbers.
int64_t norm_sums_size(int64_t rows, int64_t width);
constexpr int64_t kLayerColumns = 256;

// batch_statistics and batch_norm in one; normed's mean and inverse are not read.
template <class T>
void batch_norm_training_cuda(const Normed<T>& normed, double momentum, double eps,
                              const RunningMoments<T>& running, const T* bias, T* result, double* mean,
                              double* inverse, double* sums, Stream stream);

// running_statistics and batch_norm in one.
template <class T>
void batch_norm_given_cuda(const Normed<T>& normed, double eps, const RunningMoments<T>& running,
                           const T* bias, T* result, double* mean, double* inverse, Stream stream);

template <class T>
void batch_norm_backward_cuda(const Normed<T>& normed, bool training, const T* gradient, T* x_gradient,
                              T* weight_gradient, T* bias_gradient, double* sums, Stream stream);

template <class T>
void layer_norm_cuda(const Normed<T>& normed, double eps, const T* bias, T* result, double* mean,
                     double* inverse, Stream stream);

template <class T>
void layer_norm_backward_cuda(const Normed<T>& normed, const T* gradient, T* x_gradient, T* weight_gradient,
                              T* bias_gradient, double* sums, Stream stream);

}  // namespace qw::kernels
