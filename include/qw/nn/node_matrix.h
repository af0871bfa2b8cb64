// Rows of features, one per node, dense or sparse: what a layer takes in.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "qw/core/export.h"
#include "qw/graph/features.h"
#include "qw/ops/dropout.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// A matrix [N, columns]. Copies share their memory.
class NodeMatrix {
 public:
  NodeMatrix() = default;
  // A dense matrix [N, columns], differentiable.
  NodeMatrix(at::Tensor rows);  // NOLINT(google-explicit-constructor): a matrix is a matrix
  // The features of a data set, sparse when they are.
  NodeMatrix(const Features& features, const at::TensorOptions& options);
  // Of the nodes of one part: firsts [N] int64 says how many numbers of a sparse matrix stand before those of
  // each row in the whole, so that dropout is that of the whole.
  NodeMatrix(const Features& features, const at::TensorOptions& options, at::Tensor firsts);

  // N.
  int64_t rows() const;
  // Features of each node.
  int64_t columns() const;
  // Whether only non-zeros are stored.
  bool is_sparse() const { return sparse_ != nullptr; }
  const at::Tensor& dense() const;  // of a dense matrix only
  int64_t stored() const;           // numbers kept: all of a dense matrix, the non-zeros of a sparse one

  // What is stored, [N, columns] or, of a sparse matrix, [stored()], and the same matrix with other numbers.
  const at::Tensor& numbers() const { return values_; }
  NodeMatrix with_numbers(at::Tensor numbers) const;
  // Of a sparse matrix: [stored()] the row and the column of each number.
  at::Tensor row_of_number() const;
  at::Tensor column_of_number() const;

  // Dropout on what is stored: zeros need none.
  NodeMatrix dropped(double p, const DropoutKey& key) const;

  // The product with the transpose of weight [out, columns] -> [N, out]. Differentiable by the weight, and by
  // the matrix itself when it is dense.
  at::Tensor times(const at::Tensor& weight) const;

 private:
  struct Sparse {
    SparsePattern pattern;
    int64_t rows;
    int64_t columns;
  };
  std::shared_ptr<const Sparse> sparse_;
  at::Tensor firsts_;  // of a part
  at::Tensor values_;  // the dense matrix, or the non-zeros
};

}  // namespace qw
