#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/epoch_end.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/epoch_end_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

// The scores and labels as kernels read them; `parts` and the rest must be contiguous.
template <class T>
kernels::MetricInput<T> metric_input(const Tensor& scores, const Tensor& shift, double threshold,
                                     const std::array<LabelTensors, 3>& parts) {
  kernels::MetricInput<T> input{
      data_or_null<T>(scores), data_or_null<T>(shift), scores.size(1), threshold, {}};
  for (size_t part = 0; part < parts.size(); ++part) {
    const LabelTensors& labels = parts[part];
    input.parts[part] = {data_or_null<int32_t>(labels.nodes), data_or_null<int32_t>(labels.classes),
                         data_or_null<T>(labels.targets), labels.nodes.size(0)};
  }
  return input;
}

Tensor epoch_metrics_cuda(int64_t kind, const Tensor& scores, const Tensor& shift, double threshold,
                          const Tensor& train_nodes, const Tensor& train_classes, const Tensor& train_targets,
                          const Tensor& val_nodes, const Tensor& val_classes, const Tensor& val_targets,
                          const Tensor& test_nodes, const Tensor& test_classes, const Tensor& test_targets) {
  std::array<LabelTensors, 3> parts{LabelTensors{train_nodes, train_classes, train_targets, {}},
                                    LabelTensors{val_nodes, val_classes, val_targets, {}},
                                    LabelTensors{test_nodes, test_classes, test_targets, {}}};
  check_epoch_metrics(kind, scores, shift, parts);
  const c10::DeviceGuard device(scores.device());
  const bool by_class = kind == static_cast<int64_t>(EpochMetric::kAccuracy);
  int64_t nodes = 0;
  for (LabelTensors& part : parts) {
    (by_class ? part.targets : part.classes) = at::empty({0}, (by_class ? scores : part.nodes).options());
    part.targets = part.targets.contiguous();
    nodes += part.nodes.size(0);
  }
  const Tensor rows = scores.contiguous(), shifts = shift.contiguous();
  count(2 * nodes * rows.size(1), rows, shifts, train_nodes, val_nodes, test_nodes);
  const at::TensorOptions in_double = rows.options().dtype(at::kDouble);
  Tensor result = at::empty({kernels::kMetricParts}, in_double);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::epoch_metrics", [&] {
    const auto input = metric_input<scalar_t>(rows, shifts, threshold, parts);
    const auto metric = static_cast<kernels::MetricKind>(kind);
    const Tensor scratch = at::empty({kernels::epoch_metrics_scratch(metric, input)}, in_double);
    kernels::epoch_metrics_cuda(metric, input, data_or_null<double>(scratch), result.data_ptr<double>(),
                                current_stream());
  });
  return result;
}

void epoch_end_cuda(const Tensor& history, const Tensor& state, const Tensor& loss,
                    const Tensor& val_divergence, const Tensor& flow_cost, double weight,
                    const Tensor& metrics, int64_t epochs, int64_t patience, bool keeps_last, bool by_metric,
                    int64_t first_row, const Tensor& counts, at::IntArrayRef increments) {
  check_epoch_end(history, state, {loss, val_divergence, flow_cost, weight, metrics},
                  {epochs, patience, keeps_last, by_metric, first_row}, counts, increments);
  const c10::DeviceGuard device(state.device());
  count(patience, state, metrics);
  kernels::EpochEnd end{};
  end.history = data_or_null<double>(history);
  end.rows = history.size(0);
  end.first_row = first_row;
  end.state = state.data_ptr<double>();
  end.loss = loss.data_ptr<double>();
  end.val_divergence = val_divergence.data_ptr<double>();
  end.flow_cost = data_or_null<double>(flow_cost);
  end.metrics = metrics.data_ptr<double>();
  end.lambda = weight;
  end.epochs = epochs;
  end.patience = patience;
  end.counts = data_or_null<int64_t>(counts);
  std::copy(increments.begin(), increments.end(), end.increments);
  end.keeps_last = keeps_last;
  end.by_metric = by_metric;
  kernels::epoch_end_cuda(end, current_stream());
}

void advance_cuda(const Tensor& counts, at::IntArrayRef increments) {
  check_advance(counts, increments);
  const c10::DeviceGuard device(counts.device());
  kernels::advance_cuda(counts.data_ptr<int64_t>(), increments.data(), current_stream());
}

void keep_if_cuda(const Tensor& state, int64_t flag, at::TensorList sources, at::TensorList targets) {
  check_keep_if(state, flag, sources, targets);
  const c10::DeviceGuard device(state.device());
  const double* set = state.data_ptr<double>() + flag;
  std::vector<Tensor> held;  // until the launch
  kernels::Copies copies{};
  const auto flush = [&] {
    kernels::keep_if_cuda(set, copies, current_stream());
    copies.count = 0;
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].numel() == 0) continue;
    held.push_back(sources[i].contiguous());
    const Tensor& source = held.back();
    copies.of[copies.count++] = {source.data_ptr(), targets[i].data_ptr(),
                                 static_cast<int64_t>(source.nbytes())};
    count(0, source, targets[i]);
    if (copies.count == kernels::kMostCopies) flush();
  }
  if (copies.count > 0) flush();
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("epoch_metrics", epoch_metrics_cuda);
  library.impl("epoch_end_", epoch_end_cuda);
  library.impl("advance_", advance_cuda);
  library.impl("keep_if_", keep_if_cuda);
}

}  // namespace qw::ops
