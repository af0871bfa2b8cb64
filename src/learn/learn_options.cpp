#include "learn/learn_options.h"

#include <algorithm>

#include "qw/learn/learner.h"
#include "qw/metrics/metrics.h"

namespace qw {
namespace {

// Of all tasks; which of them the task has is known when the data is.
std::vector<std::string> metric_names() {
  std::vector<std::string> names{"auto"};
  for (const auto* table : {&class_metrics(), &label_metrics(), &value_metrics()}) {
    for (const MetricInfo& info : *table) {
      if (std::find(names.begin(), names.end(), info.name) == names.end()) names.push_back(info.name);
    }
  }
  return names;
}

}  // namespace

FieldTable learn_fields(LearnOptions& options) {
  constexpr double kLarge = 1e12;
  std::vector<std::string> solver_names;
  for (const SolverInfo& info : solvers()) solver_names.push_back(info.name);
  FieldTable table("qw train");
  table.add_choice("solver", options.solver, solver_names, "how the loss is minimised (listed below)");
  table.add("lambda", options.lambda, {0, kLarge}, "weight of the prediction term of the QW loss");
  table.add_choice("reduction", options.reduction, {"mean", "sum"},
                   "mean or sum of the prediction term over the labelled nodes");
  table.add("lr", options.lr, {0, kLarge}, "learning rate of the network");
  table.add("weight_decay", options.weight_decay, {0, kLarge}, "weight decay of the network");
  table.add("filter_lr", options.filter_lr, {0, kLarge}, "learning rate of filter coefficients");
  table.add("filter_weight_decay", options.filter_weight_decay, {0, kLarge},
            "weight decay of filter coefficients");
  table.add("flow_lr", options.flow_lr, {0, kLarge}, "learning rate of the flow on the edges");
  table.add("flow_weight_decay", options.flow_weight_decay, {0, kLarge}, "weight decay of the flow");
  table.add("edge_weights", options.edge_weights,
            "predict the weights of the edges from the flow, for the network to use");
  table.add_choice("flow_start", options.flow_start, {"auto", "zero", "kaiming"},
                   "first value of the flow; auto: zero for proximal, kaiming for the others");
  table.add("full_flow", options.full_flow,
            "flow on all edges, not only on those that touch a labelled node");
  table.add_choice(
      "dual", options.dual, {"carried", "reset", "probability"},
      "what badmm does with its dual: carried as in the paper, reset as in the released code, or "
      "carried with the residual in probabilities");
  table.add("inner_steps", options.inner_steps, {1, 1000}, "steps for the network and for the flow in badmm");
  table.add(
      "solve_every", options.solve_every, {0, 1e6},
      "steps between solutions of the transport problem in exact; 0: 1 on small graphs, 10 on large ones");
  table.add("lpa_weight", options.lpa_weight, {0, kLarge}, "weight of label propagation in gcn-lpa");
  table.add("lpa_steps", options.lpa_steps, {1, 1000}, "steps of label propagation in gcn-lpa");
  table.add("propagation_steps", options.propagation_steps, {1, 1e6},
            "steps over the edges in label-propagation and in both parts of correct-and-smooth");
  table.add("propagation_alpha", options.propagation_alpha, {0, 1},
            "share of the neighbours in label-propagation; the rest is a node's own label");
  table.add("correct_alpha", options.correct_alpha, {0, 1},
            "share of the neighbours when correct-and-smooth spreads errors");
  table.add("correct_scale", options.correct_scale, {0, kLarge},
            "factor of the errors that correct-and-smooth spreads; 0: as large as those of training nodes");
  table.add("smooth_alpha", options.smooth_alpha, {0, 1},
            "share of the neighbours when correct-and-smooth smooths predictions");
  table.add("balanced", options.balanced,
            "weigh classes by the inverse of their share of the training nodes");
  table.add("epochs", options.epochs, {1, 1e9}, "at most this many epochs");
  table.add("patience", options.patience, {0, 1e9},
            "stop when validation is worse than the mean of this many epochs before; 0: never");
  table.add_choice("select", options.select, {"loss", "metric"},
                   "keep the epoch with the lowest validation loss, as published, or with the best metric");
  table.add_choice(
      "metric", options.metric, metric_names(),
      "what counts: in --select metric, sweeps, presets and compare; auto: accuracy, macro_f1 of "
      "several labels, r2 of values");
  return table;
}

}  // namespace qw
