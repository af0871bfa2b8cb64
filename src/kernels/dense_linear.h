// Products of dense matrices on raw pointers, on a GPU; on a CPU they are BLAS's.
//
// Floor of a product of [rows, depth] and [depth, columns]: every element of the three matrices moved once,
// and rows * depth * columns fused multiply-adds in the type of the elements (no TF32). Tiles of the left
// matrix are read once for every 8 to 128 columns. Sums are taken in an order that follows from the sizes
// alone.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
struct ProductView {
  const T* left;  // steps of 1 within a row of memory
  int64_t left_stride;
  const T* right;
  int64_t right_row_stride, right_column_stride;
  int64_t rows, columns, depth;  // of the product, and how many terms its sums have
};

// result [rows, columns], row-major, = left [rows, depth] times right [depth, columns]. One launch.
template <class T>
void product_cuda(const ProductView<T>& view, T* result, Stream stream);

// A transposed product's depth is cut into this many chunks.
template <class T>
int64_t transposed_product_chunks(int64_t rows, int64_t columns, int64_t depth);

// The same with left [depth, rows] transposed. `sums` is scratch for [chunks, rows, columns], unused when
// there is one chunk. Two launches, or one.
template <class T>
void transposed_product_cuda(const ProductView<T>& view, T* sums, T* result, Stream stream);

}  // namespace qw::kernels
