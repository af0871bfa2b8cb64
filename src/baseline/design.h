// Training rows of features with columns of deviation 1, and their products. Dense columns are centred too;
// sparse ones are not, which changes only the intercept. A column that is constant counts as zero.
#pragma once

#include <cstdint>
#include <vector>

#include "qw/graph/features.h"
#include "qw/graph/graph.h"

namespace qw {

class Design {
 public:
  // Throws qw::Error when a value in `rows` is not finite. `features` must outlive this.
  Design(const Features& features, std::vector<NodeId> rows);

  int64_t rows() const { return static_cast<int64_t>(nodes_.size()); }
  int64_t columns() const { return features_.columns; }
  const std::vector<NodeId>& nodes() const { return nodes_; }

  // Matrices of parameters are [(columns + 1) * width], the last row being the intercept.
  // [rows * width]: features times weights, plus the intercept.
  std::vector<double> times(const std::vector<double>& parameters, int64_t width) const;
  // [(columns + 1) * width]: the transpose of that.
  std::vector<double> transposed_times(const std::vector<double>& residuals, int64_t width) const;

  // The parameters for features as they are given.
  std::vector<double> unscaled(std::vector<double> parameters, int64_t width) const;

 private:
  void measure_dense();
  void measure_sparse();
  void transpose_sparse();
  void transposed_dense(const std::vector<double>& residuals, int64_t width, std::vector<double>& sums) const;
  void transposed_sparse(const std::vector<double>& residuals, int64_t width,
                         std::vector<double>& sums) const;

  const Features& features_;
  std::vector<NodeId> nodes_;
  std::vector<double> centre_;  // [columns]
  std::vector<double> scale_;   // [columns]

  // Sparse features by column: each thread owns columns, so that no sum is split.
  std::vector<int64_t> offsets_;
  std::vector<int32_t> entry_rows_;
  std::vector<float> entries_;
};

}  // namespace qw
