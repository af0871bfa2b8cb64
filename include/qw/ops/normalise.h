// Normalising a sparse matrix whose values may be learned, with gradients through the normalisation.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// What becomes of the value v_ij, with d_i the sum of row i. A node is a row: it gathers from its columns.
enum class Normalisation {
  kSymmetric,  // v_ij / sqrt(d_i d_j), as GCN has it; where d_i is not positive, 1 / sqrt(d_i) counts as 0
  kRows,       // v_ij / d_i, so that each row sums to 1; 0 where d_i is 0
  kSoftmax,    // exp(v_ij) / sum over the row of exp(v_ik), without overflow
};

// values [entries] on a square pattern -> [entries], float32 or float64. With kSymmetric, values that are
// symmetric stay so to the last bit.
// Gradient for `values`: through the value itself and through the sums; none through a d_i that counts as 0.
// For kSymmetric it needs `order` to have all entries: sums over columns are made through the transpose, and
// the gradient of an entry is not that of its mirror image, so that SparsePattern::symmetric will not do.
// There is no second derivative. Every sum has one owner and one order: the same bits for any number of
// threads. O(entries). Throws c10::Error on shapes, types or devices that do not fit; indices are trusted.
at::Tensor normalise(const SparsePattern& pattern, const at::Tensor& values, Normalisation kind);

}  // namespace qw
