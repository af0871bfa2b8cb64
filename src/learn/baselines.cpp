#include "qw/learn/baselines.h"

#include <ATen/Functions.h>

#include "nn/tensors.h"
#include "qw/baseline/linear.h"

namespace qw {
namespace {

// Predictions [N * width] as the scores of a network would be.
Scores as_scores(const std::vector<double>& predicted, int64_t width, Task task) {
  const auto nodes = static_cast<int64_t>(predicted.size()) / std::max<int64_t>(1, width);
  Scores scores;
  scores.network = tensor_of(predicted).reshape({nodes, width});
  scores.transport = at::empty({0}, at::kDouble);
  scores.in_label_space = task != Task::kRegression;
  return scores;
}

Baseline measured(const std::vector<double>& predicted, const Dataset& dataset, const Split& split,
                  const std::string& metric) {
  const Scores scores = as_scores(predicted, dataset.targets.width, dataset.targets.task);
  return {measure(dataset.targets, split.val, scores, {metric}),
          measure(dataset.targets, split.test, scores, {metric})};
}

}  // namespace

std::string trivial_name(Task task) {
  if (task == Task::kRegression) return "mean";
  return task == Task::kMultiLabel ? "shares" : "majority";
}

Baselines make_baselines(const Dataset& dataset, const Split& split, const std::string& metric,
                         double seconds) {
  Baselines made;
  if (split.train.empty()) return made;
  const int64_t nodes = dataset.graph.num_nodes();
  made.trivial = measured(fit_trivial(dataset.targets, split.train).predict(nodes), dataset, split, metric);
  if (dataset.features.columns == 0 || seconds <= 0) return made;
  const std::optional<LinearModel> linear = fit_linear(dataset.features, dataset.targets, split, seconds);
  if (linear) made.linear = measured(linear->predict(dataset.features), dataset, split, metric);
  return made;
}

}  // namespace qw
