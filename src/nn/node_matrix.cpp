#include "qw/nn/node_matrix.h"

#include <ATen/Functions.h>

#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/ops/dense_linear.h"

namespace qw {
namespace {

SparsePattern pattern_of(const Features& features, at::Device device) {
  std::vector<int64_t> offsets(features.columns + 1, 0);
  for (const int32_t column : features.indices) ++offsets[column + 1];
  for (int64_t column = 0; column < features.columns; ++column) offsets[column + 1] += offsets[column];
  std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<int32_t> rows(features.indices.size());
  std::vector<int64_t> order(features.indices.size());
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t at = features.offsets[row]; at < features.offsets[row + 1]; ++at) {
      const int64_t to = next[features.indices[at]]++;
      rows[to] = static_cast<int32_t>(row);
      order[to] = at;
    }
  }
  return {tensor_of(features.offsets, device), tensor_of(features.indices, device),
          tensor_of(offsets, device), tensor_of(rows, device), tensor_of(order, device)};
}

}  // namespace

NodeMatrix::NodeMatrix(at::Tensor rows) : values_(std::move(rows)) { QW_ASSERT(values_.dim() == 2); }

NodeMatrix::NodeMatrix(const Features& features, const at::TensorOptions& options) {
  if (features.sparse) {
    sparse_ = std::make_shared<Sparse>(
        Sparse{pattern_of(features, options.device()), features.rows, features.columns});
    values_ = tensor_of(features.values).to(options);
  } else {
    values_ = tensor_of(features.dense).view({features.rows, features.columns}).to(options);
  }
}

NodeMatrix::NodeMatrix(const Features& features, const at::TensorOptions& options, at::Tensor firsts)
    : NodeMatrix(features, options) {
  firsts_ = firsts.to(options.device());
}

int64_t NodeMatrix::rows() const { return sparse_ ? sparse_->rows : values_.size(0); }
int64_t NodeMatrix::columns() const { return sparse_ ? sparse_->columns : values_.size(1); }
const at::Tensor& NodeMatrix::dense() const {
  QW_ASSERT(!sparse_);
  return values_;
}
int64_t NodeMatrix::stored() const { return values_.numel(); }

NodeMatrix NodeMatrix::with_numbers(at::Tensor numbers) const {
  QW_ASSERT(numbers.sizes() == values_.sizes());
  NodeMatrix result = *this;
  result.values_ = std::move(numbers);
  return result;
}

at::Tensor NodeMatrix::row_of_number() const {
  QW_ASSERT(sparse_);
  const at::Tensor counts = sparse_->pattern.offsets.diff();
  return at::repeat_interleave(counts);
}

at::Tensor NodeMatrix::column_of_number() const {
  QW_ASSERT(sparse_);
  return sparse_->pattern.columns.to(at::kLong);
}

NodeMatrix NodeMatrix::dropped(double p, const DropoutKey& key) const {
  NodeMatrix result = *this;
  result.values_ = sparse_ && firsts_.defined()
                       ? dropout_of_rows(values_, sparse_->pattern.offsets, firsts_, p, key)
                       : dropout(values_, p, key);
  return result;
}

at::Tensor NodeMatrix::times(const at::Tensor& weight) const {
  if (!sparse_) return dense_linear(values_, weight);
  return spmm(sparse_->pattern, values_, weight.t());
}

}  // namespace qw
