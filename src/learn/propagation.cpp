#include "learn/propagation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace qw {

LabelRows label_rows(const LabelTensors& labels, int64_t nodes, int64_t columns) {
  const at::TensorOptions options = labels.nodes.options().dtype(at::kDouble);
  const bool classes = labels.targets.dim() == 1;  // also where no node has a label
  const at::Tensor index = labels.nodes.to(at::kLong);
  const at::Tensor rows = classes ? at::one_hot(labels.classes.to(at::kLong), columns).to(at::kDouble)
                                  : labels.targets.to(at::kDouble);
  const at::Tensor known = at::isfinite(rows);
  return {at::zeros({nodes, columns}, options).index_copy_(0, index, at::where(known, rows, 0.0)),
          at::zeros({nodes, columns}, options).index_copy_(0, index, known.to(at::kDouble))};
}

at::Tensor mean_label(const LabelRows& rows) {
  const at::Tensor values = rows.values.cpu(), known = rows.known.cpu();
  const int64_t columns = values.size(1);
  at::Tensor mean = at::zeros({columns}, at::kDouble), count = at::zeros({columns}, at::kDouble);
  for (int64_t i = 0; i < values.numel(); ++i) {
    mean.data_ptr<double>()[i % columns] += values.data_ptr<double>()[i];
    count.data_ptr<double>()[i % columns] += known.data_ptr<double>()[i];
  }
  return (mean / at::clamp_min(count, 1.0)).to(rows.values.device());
}

at::Tensor spread(const PropagationMatrix& matrix, const at::Tensor& start, double alpha, int64_t steps,
                  const std::function<at::Tensor(const at::Tensor&)>& after) {
  const at::Tensor values = matrix.values.to(at::kDouble) * alpha;
  const at::Tensor rest = start * (1 - alpha);
  at::Tensor x = start;
  for (int64_t k = 0; k < steps; ++k) {
    x = spmm(matrix.pattern, values, x, rest);
    if (after) x = after(x);
  }
  return x;
}

}  // namespace qw
