// Label propagation (Zhou et al., 2004), the baseline without features and without a network:
//   Y <- alpha M Y + (1 - alpha) Y_0,  Y_0 the labels of the training nodes, 0 elsewhere.
// A prediction is Y divided by what the same steps make of "there is a label" instead of the labels: for
// classes that is what makes a row sum to 1, and a value that all training nodes have is the value of all
// others. For classes M is D^-1/2 A D^-1/2; values, and 0/1 labels column by column, are averaged over
// neighbours, M = D^-1 A. A node that no label reaches gets the mean of the training labels.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "learn/propagation.h"
#include "qw/core/error.h"
#include "qw/learn/learner.h"

namespace qw {
namespace {

Scores propagated(const Scores& scores, const FinishInput& input) {
  const at::NoGradGuard no_gradient;
  const bool classes = input.kind == Divergence::kSoftmax;
  const LabelRows labels = label_rows(input.labels, scores.network.size(0), scores.network.size(1));
  const PropagationMatrix matrix = classes ? input.graph.normalised() : input.graph.mean();
  const auto reached = [&](const at::Tensor& start) {
    return spread(matrix, start, input.options.propagation_alpha, input.options.propagation_steps);
  };
  // A class is known or not: all columns are the same.
  const at::Tensor amount = reached(classes ? labels.known.slice(1, 0, 1).contiguous() : labels.known);
  const at::Tensor predicted = at::where(amount > 0, reached(labels.values) / amount, mean_label(labels));
  return {scores.network, predicted.to(scores.network.scalar_type()), true};
}

class LabelPropagation : public Learner {
 public:
  explicit LabelPropagation(const LearnInput& input) : Learner(input) {
    if (network_is_fixed()) fail_usage("solver label-propagation has no flow to fit; use proximal or exact");
    if (input.options.edge_weights)
      fail_usage("--edge-weights need a flow, which solver label-propagation has not");
    if (input.options.balanced)
      fail_usage("--balanced weighs a loss, which solver label-propagation has not");
  }

  StepReport step(int64_t) override {
    const at::Tensor loss = validation_loss(predict(), labels_).divergence;
    return {Measured(loss), Measured(loss)};
  }

  Scores predict() override {
    if (!scores_.network.defined())
      scores_ = propagated({forward(false, 0), none_}, {input_.graph, labels_, kind_, input_.options});
    return scores_;
  }

  bool settled() const override { return true; }
  bool stays_on_device() const override { return false; }

 private:
  Scores scores_;  // once computed
};

const SolverRegistration registration({.name = "label-propagation",
                                       .summary = "labels spread over the edges; no network: with model none",
                                       .make = make_solver<LabelPropagation>,
                                       .finish = propagated,
                                       .has_network = false,
                                       .options = {"propagation_steps", "propagation_alpha"}});

}  // namespace
}  // namespace qw
