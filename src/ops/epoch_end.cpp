#include "qw/ops/epoch_end.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "kernels/epoch_end.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"

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

void check_part(EpochMetric kind, const char* part, const LabelTensors& labels, const at::Tensor& scores) {
  const std::string prefix(part);
  check_index(kMetrics, (prefix + " nodes").c_str(), labels.nodes, at::kInt, scores);
  const int64_t count = labels.nodes.size(0);
  if (kind == EpochMetric::kAccuracy) {
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
void check_epoch_metrics(EpochMetric kind, const at::Tensor& scores, const at::Tensor& shift,
                         const std::array<LabelTensors, 3>& parts) {
  TORCH_CHECK(scores.dim() == 2 && scores.size(1) > 0, kMetrics,
              ": scores must be [N, C] with a column at least, got ", scores.sizes());
  check_matrix(kMetrics, "scores", scores, scores.size(0), "node");
  TORCH_CHECK(shift.scalar_type() == scores.scalar_type() && shift.device() == scores.device() &&
                  (is_none(shift) || shift.sizes() == scores.sizes()),
              kMetrics, ": shift must be ", scores.sizes(), " or [0] of ", scores.scalar_type(), " on ",
              scores.device(), ", got ", shift.sizes(), " of ", shift.scalar_type(), " on ", shift.device());
  for (size_t part = 0; part < parts.size(); ++part) check_part(kind, kParts[part], parts[part], scores);
}

void check_advance(const at::Tensor& counts) {
  TORCH_CHECK(
      counts.sizes() == at::IntArrayRef({3}) && counts.scalar_type() == at::kLong && counts.is_contiguous(),
      "qw::advance_: counts must be [3] of Long, contiguous, got ", counts.sizes(), " of ",
      counts.scalar_type());
}

void check_epoch_end(const at::Tensor& history, const at::Tensor& state, const EpochResult& result,
                     const EpochRule& rule, const at::Tensor& counts, int64_t first_row) {
  check_numbers(kEnd, "state", state, {kEpochStateSize}, state);
  TORCH_CHECK(history.dim() == 2, kEnd, ": history must be [rows, ", kHistoryColumns, "], got ",
              history.sizes());
  check_numbers(kEnd, "history", history, {history.size(0), kHistoryColumns}, state);
  check_numbers(kEnd, "loss", result.loss, {}, state);
  check_numbers(kEnd, "val_divergence", result.val_divergence, {}, state);
  if (!is_none(result.flow_cost)) check_numbers(kEnd, "flow_cost", result.flow_cost, {}, state);
  check_numbers(kEnd, "metrics", result.metrics, {3}, state);
  TORCH_CHECK(rule.epochs >= 0 && rule.patience >= 0 && first_row >= 0, kEnd,
              ": epochs, patience and first_row must not be negative, got ", rule.epochs, ", ", rule.patience,
              " and ", first_row);
  TORCH_CHECK(counts.dim() == 1 && (counts.size(0) == 0 || counts.size(0) == 3) && counts.is_contiguous() &&
                  counts.scalar_type() == at::kLong && counts.device() == state.device(),
              kEnd, ": counts must be [3] or [0] of Long, contiguous, on ", state.device(), ", got ",
              counts.sizes(), " of ", counts.scalar_type(), " on ", counts.device());
}

void check_keep_if(const at::Tensor& state, at::TensorList sources, at::TensorList targets) {
  check_numbers(kKeep, "state", state, {kEpochStateSize}, state);
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

}  // namespace
}  // namespace ops

using at::Tensor;
using ops::data_or_null;

bool has_epoch_kernels(const at::Device& device) {
  return ops::kHasGpu && ops::on_gpu(at::empty({0}, device));
}

Tensor epoch_metrics(EpochMetric kind, const Tensor& scores, const Tensor& shift, double threshold,
                     const LabelTensors& train, const LabelTensors& val, const LabelTensors& test) {
  const at::NoGradGuard no_gradient;
  std::array<LabelTensors, 3> parts{train, val, test};
  ops::check_epoch_metrics(kind, scores, shift, parts);
  const bool by_class = kind == EpochMetric::kAccuracy;
  int64_t nodes = 0;
  for (LabelTensors& part : parts) {
    (by_class ? part.targets : part.classes) = at::empty({0}, (by_class ? scores : part.nodes).options());
    part.targets = part.targets.contiguous();
    nodes += part.nodes.size(0);
  }
  const Tensor rows = scores.contiguous(), shifts = shift.contiguous();
  ops::record_work(2 * nodes * rows.size(1), rows, shifts, train.nodes, val.nodes, test.nodes);
  const at::TensorOptions in_double = rows.options().dtype(at::kDouble);
  Tensor result = at::empty({kernels::kMetricParts}, in_double);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::epoch_metrics", [&] {
    const auto input = ops::metric_input<scalar_t>(rows, shifts, threshold, parts);
    const auto metric = static_cast<kernels::MetricKind>(kind);
    ops::run_on_gpu(rows, [&](auto stream) {
      const Tensor scratch = at::empty({kernels::epoch_metrics_scratch(metric, input)}, in_double);
      kernels::epoch_metrics_cuda(metric, input, data_or_null<double>(scratch), result.data_ptr<double>(),
                                  stream);
    });
  });
  return result;
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
                const Tensor& counts, std::array<int64_t, 3> increments, int64_t first_row) {
  ops::check_epoch_end(history, state, result, rule, counts, first_row);
  ops::record_work(rule.patience, state, result.metrics);
  kernels::EpochEnd end{};
  end.history = data_or_null<double>(history);
  end.rows = history.size(0);
  end.first_row = first_row;
  end.state = state.data_ptr<double>();
  end.loss = result.loss.data_ptr<double>();
  end.val_divergence = result.val_divergence.data_ptr<double>();
  end.flow_cost = data_or_null<double>(result.flow_cost);
  end.metrics = result.metrics.data_ptr<double>();
  end.lambda = result.lambda;
  end.rule = rule;
  end.counts = data_or_null<int64_t>(counts);
  std::copy(increments.begin(), increments.end(), end.increments);
  ops::run_on_gpu(state, [&](auto stream) { kernels::epoch_end_cuda(end, stream); });
}

void advance_(const Tensor& counts, std::array<int64_t, 3> increments) {
  ops::check_advance(counts);
  ops::run_on_gpu(counts, [&](auto stream) {
    kernels::advance_cuda(counts.data_ptr<int64_t>(), increments.data(), stream);
  });
}

void keep_if_(const Tensor& state, EpochFlag flag, const std::vector<Tensor>& sources,
              const std::vector<Tensor>& targets) {
  ops::check_keep_if(state, sources, targets);
  const double* set = state.data_ptr<double>() + static_cast<int64_t>(flag);
  std::vector<Tensor> held;  // until the launch
  kernels::Copies copies{};
  const auto flush = [&] {
    ops::run_on_gpu(state, [&](auto stream) { kernels::keep_if_cuda(set, copies, stream); });
    copies.count = 0;
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].numel() == 0) continue;
    held.push_back(sources[i].detach().contiguous());
    const Tensor& source = held.back();
    copies.items[copies.count++] = {source.data_ptr(), targets[i].data_ptr(),
                                    static_cast<int64_t>(source.nbytes())};
    ops::record_work(0, source, targets[i]);
    if (copies.count == kernels::kMostCopies) flush();
  }
  if (copies.count > 0) flush();
}

}  // namespace qw
