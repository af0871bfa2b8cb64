// A sparse matrix, with a value per entry that may be learned, times a dense one.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Of a matrix of which several parts have some rows each: brings rows that others have.
class RowExchange {
 public:
  RowExchange() = default;
  RowExchange(const RowExchange&) = delete;
  RowExchange& operator=(const RowExchange&) = delete;
  virtual ~RowExchange() = default;

  // Own rows [R, C] and behind them those of others that columns name. All parts call it together.
  virtual at::Tensor beside(const at::Tensor& own) const = 0;
  // The other way round, its adjoint: rows behind the own ones go to their owners, who add them to their own,
  // in the order of the parts.
  virtual at::Tensor added_back(const at::Tensor& all) const = 0;
  // The numbers of all parts, of one shape, added in the order of the parts.
  virtual at::Tensor total(const at::Tensor& mine) const = 0;
};

// Where the entries of a sparse matrix [R, K] are, and of its transpose: kept once, since the backward pass
// needs both. All on one device, contiguous. For a symmetric matrix the transpose is the matrix itself: see
// `symmetric`.
struct SparsePattern {
  at::Tensor offsets;             // [R + 1] int64
  at::Tensor columns;             // [entries] int32
  at::Tensor transposed_offsets;  // [K + 1] int64
  at::Tensor transposed_columns;  // [entries] int32
  at::Tensor order;  // [entries] int64: entry k of the transpose is entry order[k] of the matrix; or [0]: the
                     // same entry

  // Of one part of a larger square matrix: columns are numbers of rows as others->beside() gives
  // them. Null: the matrix is whole.
  std::shared_ptr<const RowExchange> others{};
  // Where its values are constants, [entries] those of its rows of the transpose of the larger matrix, which
  // the transpose here then is. Undefined: the transpose is that of its own entries, and rows of other parts
  // are there and empty, so that the matrix is square.
  at::Tensor transposed_values{};
  at::Tensor entry_numbers{};  // [entries] int64 in the larger matrix, by which attention drops entries

  // The pattern of a matrix that equals its transpose, values included: nothing is stored twice.
  static SparsePattern symmetric(const at::Tensor& offsets, const at::Tensor& columns);
};

// values [entries] on the pattern times dense [K, C] -> [R, C], float32 or float64, both of one type.
// Gradients: for `dense` the transposed product, for `values` the products <gradient[i], dense[j]> of each
// entry (i, j), made only when asked for; with SparsePattern::symmetric the gradient for `values` is that of
// each entry alone, and is right for parameters that both entries of a pair depend on. Every sum has one
// owner and the order of the entries: the same bits for any number of threads. O(entries * C). Throws
// c10::Error on shapes, types or devices that do not fit; indices are trusted.
//
// An entry that is zero, as dropout makes them, may be passed over: a NaN in `dense` need not show through
// it.
//
// An `addend` [R, C] is added to the product on the way, and has the gradient that comes in. It may be
// `dense` itself, for the sum of a node and its neighbours: then the gradient for `dense` has both parts, in
// one pass.
//
// With pattern.others all parts call it together, in the order of their backward passes too; `dense` has own
// rows, and a row of the result has the bits that the whole matrix would give it.
at::Tensor spmm(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense,
                const at::Tensor& addend = {});

}  // namespace qw
