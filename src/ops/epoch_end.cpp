#include "qw/ops/epoch_end.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "kernels/epoch_end.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/counted.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

constexpr const char* kMetrics = "qw::epoch_metrics";
constexpr const char* kEnd = "qw::epoch_end_";
constexpr const char* kKeep = "qw::keep_if_";
constexpr const char* kParts[] = {"train", "val", "test"};

static_assert(kHistoryColumns == kernels::kHistoryRow && kernels::kBestScore + 1 == kEpochStateSize);
static_assert(static_cast<int>(EpochFlag::kCounted) == kernels::kCounted &&
              static_cast<int>(EpochFlag::kBetter) == kernels::kBetter &&
              static_cast<int>(EpochFlag::kStopped) == kernels::kStopped &&
              static_cast<int>(EpochFlag::kBroken) == kernels::kBroken);

void check_part(int64_t kind, const char* part, const LabelTensors& labels, const at::Tensor& scores) {
  const std::string prefix(part);
  check_index(kMetrics, (prefix + " nodes").c_str(), labels.nodes, at::kInt, scores);
  const int64_t count = labels.nodes.size(0);
  if (kind == static_cast<int64_t>(EpochMetric::kAccuracy)) {
    check_index(kMetrics, (prefix + " classes").c_str(), labels.classes, at::kInt, scores);
    TORCH_CHECK(labels.classes.size(0) == count, kMetrics, ": ", count, " ", part,
                " nodes need as many classes, got ", labels.classes.size(0));
    return;
  }
  const at::Tensor& targets = labels.targets;
  TORCH_CHECK(
      targets.scalar_type() == scores.scalar_type() && targets.device() == scores.device() &&
          (count == 0 ? targets.numel() == 0 : targets.sizes() == at::IntArrayRef({count, scores.size(1)})),
      kMetrics, ": ", part, " targets must be [", count, ", ", scores.size(1), "] of ", scores.scalar_type(),
      " on ", scores.device(), ", got ", targets.sizes(), " of ", targets.scalar_type(), " on ",
      targets.device());
}

// Contiguous float64 of this shape, on the device of the state.
void check_numbers(const char* op, const char* name, const at::Tensor& numbers, at::IntArrayRef shape,
                   const at::Tensor& state) {
  TORCH_CHECK(numbers.sizes() == shape && numbers.scalar_type() == at::kDouble && numbers.is_contiguous() &&
                  numbers.device() == state.device(),
              op, ": ", name, " must be ", shape, " of Double, contiguous, on ", state.device(), ", got ",
              numbers.sizes(), " of ", numbers.scalar_type(), " on ", numbers.device());
}

bool is_none(const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

// `parts`: train, val, test.
void check_epoch_metrics(int64_t kind, const at::Tensor& scores, const at::Tensor& shift,
                         const std::array<LabelTensors, 3>& parts) {
  TORCH_CHECK(kind >= 0 && kind <= 2, kMetrics, ": kind must be 0 (accuracy), 1 (macro F1) or 2 (R2), got ",
              kind);
  TORCH_CHECK(scores.dim() == 2 && scores.size(1) > 0, kMetrics,
              ": scores must be [N, C] with a column at least, got ", scores.sizes());
  check_matrix(kMetrics, "scores", scores, scores.size(0), "node");
  TORCH_CHECK(shift.scalar_type() == scores.scalar_type() && shift.device() == scores.device() &&
                  (is_none(shift) || shift.sizes() == scores.sizes()),
              kMetrics, ": shift must be ", scores.sizes(), " or [0] of ", scores.scalar_type(), " on ",
              scores.device(), ", got ", shift.sizes(), " of ", shift.scalar_type(), " on ", shift.device());
  for (size_t part = 0; part < parts.size(); ++part) check_part(kind, kParts[part], parts[part], scores);
}

void check_advance(const at::Tensor& counts, at::IntArrayRef increments) {
  TORCH_CHECK(
      counts.sizes() == at::IntArrayRef({3}) && counts.scalar_type() == at::kLong && counts.is_contiguous(),
      "qw::advance_: counts must be [3] of Long, contiguous, got ", counts.sizes(), " of ",
      counts.scalar_type());
  TORCH_CHECK(increments.size() == 3, "qw::advance_: there must be 3 increments, got ", increments.size());
}

void check_epoch_end(const at::Tensor& history, const at::Tensor& state, const EpochResult& result,
                     const EpochRule& rule, const at::Tensor& counts, at::IntArrayRef increments) {
  check_numbers(kEnd, "state", state, {kEpochStateSize}, state);
  TORCH_CHECK(history.dim() == 2, kEnd, ": history must be [rows, ", kHistoryColumns, "], got ",
              history.sizes());
  check_numbers(kEnd, "history", history, {history.size(0), kHistoryColumns}, state);
  check_numbers(kEnd, "loss", result.loss, {}, state);
  check_numbers(kEnd, "val_divergence", result.val_divergence, {}, state);
  if (!is_none(result.flow_cost)) check_numbers(kEnd, "flow_cost", result.flow_cost, {}, state);
  check_numbers(kEnd, "metrics", result.metrics, {3}, state);
  TORCH_CHECK(rule.epochs >= 0 && rule.patience >= 0 && rule.first_row >= 0, kEnd,
              ": epochs, patience and first_row must not be negative, got ", rule.epochs, ", ", rule.patience,
              " and ", rule.first_row);
  TORCH_CHECK(counts.dim() == 1 && (counts.size(0) == 0 || counts.size(0) == 3) && counts.is_contiguous() &&
                  counts.scalar_type() == at::kLong && counts.device() == state.device(),
              kEnd, ": counts must be [3] or [0] of Long, contiguous, on ", state.device(), ", got ",
              counts.sizes(), " of ", counts.scalar_type(), " on ", counts.device());
  TORCH_CHECK(increments.size() == 3, kEnd, ": there are 3 increments, got ", increments.size());
}

void check_keep_if(const at::Tensor& state, int64_t flag, at::TensorList sources, at::TensorList targets) {
  check_numbers(kKeep, "state", state, {kEpochStateSize}, state);
  TORCH_CHECK(flag >= 1 && flag <= 4, kKeep,
              ": flag must be 1 (counted), 2 (better), 3 (stopped) or 4 (broken), got ", flag);
  TORCH_CHECK(sources.size() == targets.size(), kKeep, ": ", sources.size(),
              " sources need as many targets, got ", targets.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const at::Tensor &source = sources[i], &target = targets[i];
    TORCH_CHECK(source.device() == state.device(), kKeep, ": source ", i, " must be on ", state.device(),
                ", got ", source.device());
    TORCH_CHECK(target.sizes() == source.sizes() && target.scalar_type() == source.scalar_type() &&
                    target.device() == source.device() && target.is_contiguous(),
                kKeep, ": target ", i, " must be ", source.sizes(), " of ", source.scalar_type(),
                ", contiguous, on ", source.device(), ", got ", target.sizes(), " of ", target.scalar_type(),
                " on ", target.device());
  }
}

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

Tensor epoch_metrics_backend(int64_t kind, const Tensor& scores, const Tensor& shift, double threshold,
                             const Tensor& train_nodes, const Tensor& train_classes,
                             const Tensor& train_targets, const Tensor& val_nodes, const Tensor& val_classes,
                             const Tensor& val_targets, const Tensor& test_nodes, const Tensor& test_classes,
                             const Tensor& test_targets) {
  std::array<LabelTensors, 3> parts{LabelTensors{train_nodes, train_classes, train_targets, {}},
                                    LabelTensors{val_nodes, val_classes, val_targets, {}},
                                    LabelTensors{test_nodes, test_classes, test_targets, {}}};
  check_epoch_metrics(kind, scores, shift, parts);
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
    run_on_gpu(rows, [&](auto stream) {
      const Tensor scratch = at::empty({kernels::epoch_metrics_scratch(metric, input)}, in_double);
      kernels::epoch_metrics_cuda(metric, input, data_or_null<double>(scratch), result.data_ptr<double>(),
                                  stream);
    });
  });
  return result;
}

void epoch_end_backend(const Tensor& history, const Tensor& state, const Tensor& loss,
                       const Tensor& val_divergence, const Tensor& flow_cost, double weight,
                       const Tensor& metrics, int64_t epochs, int64_t patience, bool keeps_last,
                       bool by_metric, int64_t first_row, const Tensor& counts, at::IntArrayRef increments) {
  check_epoch_end(history, state, {loss, val_divergence, flow_cost, weight, metrics},
                  {epochs, patience, keeps_last, by_metric, first_row}, counts, increments);
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
  run_on_gpu(state, [&](auto stream) { kernels::epoch_end_cuda(end, stream); });
}

void advance_backend(const Tensor& counts, at::IntArrayRef increments) {
  check_advance(counts, increments);
  run_on_gpu(counts, [&](auto stream) {
    kernels::advance_cuda(counts.data_ptr<int64_t>(), increments.data(), stream);
  });
}

void keep_if_backend(const Tensor& state, int64_t flag, at::TensorList sources, at::TensorList targets) {
  check_keep_if(state, flag, sources, targets);
  const double* set = state.data_ptr<double>() + flag;
  std::vector<Tensor> held;  // until the launch
  kernels::Copies copies{};
  const auto flush = [&] {
    run_on_gpu(state, [&](auto stream) { kernels::keep_if_cuda(set, copies, stream); });
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

QW_GPU_BACKENDS(library) {
  library.impl("epoch_metrics", epoch_metrics_backend);
  library.impl("epoch_end_", epoch_end_backend);
  library.impl("advance_", advance_backend);
  library.impl("keep_if_", keep_if_backend);
}

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "epoch_metrics(int kind, Tensor scores, Tensor shift, float threshold, Tensor train_nodes, "
      "Tensor train_classes, Tensor train_targets, Tensor val_nodes, Tensor val_classes, Tensor val_targets, "
      "Tensor test_nodes, Tensor test_classes, Tensor test_targets) -> Tensor");
  library.def(
      "epoch_end_(Tensor(a!) history, Tensor(b!) state, Tensor loss, "
      "Tensor val_divergence, Tensor flow_cost, float weight, Tensor metrics, int epochs, "
      "int patience, bool keeps_last, bool by_metric, int first_row, Tensor(c!) counts, int[] increments) -> "
      "()");
  library.def("advance_(Tensor(a!) counts, int[] increments) -> ()");
  library.def("keep_if_(Tensor state, int flag, Tensor[] sources, Tensor(a!)[] targets) -> ()");
}

}  // namespace ops

using at::Tensor;

Tensor epoch_metrics(EpochMetric kind, const Tensor& scores, const Tensor& shift, double threshold,
                     const LabelTensors& train, const LabelTensors& val, const LabelTensors& test) {
  const at::NoGradGuard no_gradient;
  return ops::call<ops::epoch_metrics_backend>(
      "qw::epoch_metrics", static_cast<int64_t>(kind), scores, shift, threshold, train.nodes, train.classes,
      train.targets, val.nodes, val.classes, val.targets, test.nodes, test.classes, test.targets);
}

Tensor epoch_state_tensor(const EpochState& state, at::Device device) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const std::vector<double> numbers{number(state.epochs),  number(state.counted), number(state.better),
                                    number(state.stopped), number(state.broken),  number(state.best_epoch),
                                    state.best_score};
  return at::tensor(numbers, at::kDouble).to(device);
}

EpochState read_epoch_state(const Tensor& state) {
  ops::check_numbers("qw::read_epoch_state", "state", state, {kEpochStateSize}, state);
  const Tensor here = state.cpu();
  const auto* numbers = here.data_ptr<double>();
  return {static_cast<int64_t>(numbers[kernels::kEpochs]),
          numbers[kernels::kCounted] != 0,
          numbers[kernels::kBetter] != 0,
          numbers[kernels::kStopped] != 0,
          numbers[kernels::kBroken] != 0,
          static_cast<int64_t>(numbers[kernels::kBestEpoch]),
          numbers[kernels::kBestScore]};
}

void epoch_end_(const Tensor& history, const Tensor& state, const EpochResult& result, const EpochRule& rule,
                const Tensor& counts, std::array<int64_t, 3> increments) {
  const at::NoGradGuard no_gradient;
  ops::call<ops::epoch_end_backend>("qw::epoch_end_", history, state, result.loss, result.val_divergence,
                                    result.flow_cost, result.lambda, result.metrics, rule.epochs,
                                    rule.patience, rule.keeps_last, rule.by_metric, rule.first_row, counts,
                                    increments);
}

void advance_(const Tensor& counts, std::array<int64_t, 3> increments) {
  const at::NoGradGuard no_gradient;
  ops::call<ops::advance_backend>("qw::advance_", counts, increments);
}

double windowed_sum(const double* values, int64_t count, int64_t stride) {
  return kernels::windowed_sum(values, count, stride);
}

void keep_if_(const Tensor& state, EpochFlag flag, const std::vector<Tensor>& sources,
              const std::vector<Tensor>& targets) {
  const at::NoGradGuard no_gradient;
  ops::call<ops::keep_if_backend>("qw::keep_if_", state, static_cast<int64_t>(flag), sources, targets);
}

}  // namespace qw
