// The last step of sums over rows: partial sums, a row of them for each block, are added up in a fixed order.
#pragma once

#include "kernels/launch.cuh"

namespace qw::kernels {

// result[c] = the sum of column c of partial [rows, columns]. A block owns kColumns columns; the rows are
// dealt out to its lanes, which are then added up by halves.
template <class T>
struct ColumnSums {
  static constexpr int kThreads = 256;
  static constexpr int kColumns = 8;
  static constexpr int kLanes = kThreads / kColumns;
  const T* partial;
  int64_t rows, columns;
  T* result;

  __device__ void operator()() const {
    __shared__ T of_lane[kThreads];
    const int lane = static_cast<int>(threadIdx.x) / kColumns;
    const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x % kColumns;
    T sum = 0;
    if (column < columns) {
#pragma unroll 4
      for (int64_t row = lane; row < rows; row += kLanes) sum += partial[row * columns + column];
    }
    of_lane[threadIdx.x] = sum;
    for (int half = kLanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) of_lane[threadIdx.x] += of_lane[threadIdx.x + half * kColumns];
    }
    if (lane == 0 && column < columns) result[column] = of_lane[threadIdx.x];
  }
};

template <class T>
void column_sums(const T* partial, int64_t rows, int64_t columns, T* result, Stream stream) {
  launch(ColumnSums<T>{partial, rows, columns, result}, blocks_for(columns, ColumnSums<T>::kColumns), stream);
}

}  // namespace qw::kernels
