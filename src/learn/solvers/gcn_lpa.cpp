// GCN-LPA's training (Wang and Leskovec, 2020): the traditional loss plus that of label propagation over the
// same learned adjacency A,
//   Y_0 = labels of the training nodes, 0 elsewhere;  Y_{k+1} = A Y_k, its training rows set back to Y_0,
// where the last step sets nothing back, so that a training node is predicted by its neighbours.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/core/error.h"
#include "qw/learn/learner.h"

namespace qw {
namespace {

constexpr double kSmallest = 1e-12;  // a probability whose logarithm is still finite

class GcnLpaTraining : public Learner {
 public:
  explicit GcnLpaTraining(const LearnInput& input) : Learner(input) {
    if (kind_ != Divergence::kSoftmax) fail_usage("solver gcn-lpa propagates classes; the target has none");
    if (input.options.edge_weights) fail_usage("--edge-weights need a flow, which solver gcn-lpa has not");
    const int64_t nodes = input.topology.num_nodes();
    const at::Tensor index = labels_.nodes.to(at::kLong);
    const at::Tensor rows = at::one_hot(labels_.classes.to(at::kLong), input.targets.width);
    start_ = at::zeros({nodes, input.targets.width}, input.graph.options());
    start_.index_copy_(0, index, rows.to(start_.dtype()));
    is_free_ = at::ones({nodes, 1}, input.graph.options()).index_fill_(0, index, 0.0);
  }

  StepReport step(int64_t epoch) override {
    const at::Tensor scores = forward(true, epoch);
    const auto [loss, gradient] = weighed(scores, 1.0);
    const ModelInput input{input_.graph, input_.features, {}, true, static_cast<int64_t>(input_.seed), epoch};
    const PropagationMatrix adjacency = model_->learned_adjacency(input);
    if (!adjacency.values.defined()) {
      fail_usage("solver gcn-lpa needs a model that learns its adjacency: --model gcn-lpa");
    }
    at::Tensor labels = start_;
    for (int64_t k = 0; k < input_.options.lpa_steps; ++k) {
      if (k > 0) labels = labels * is_free_ + start_;
      labels = spmm(adjacency.pattern, adjacency.values, labels);
    }
    const at::Tensor propagated = at::log(at::clamp_min(labels, kSmallest));
    const auto [lpa_loss, lpa_gradient] = weighed(propagated, input_.options.lpa_weight);
    torch::autograd::backward({scores, propagated}, {gradient, lpa_gradient});
    optimizer_->step();
    return {Measured(loss + lpa_loss), Measured(loss)};
  }

 private:
  at::Tensor start_;    // Y_0 [N, C]
  at::Tensor is_free_;  // [N, 1]: 0 at training nodes
};

const SolverRegistration registration(
    {.name = "gcn-lpa",
     .summary = "the traditional loss and label propagation over the learned adjacency of model gcn-lpa",
     .make = make_solver<GcnLpaTraining>,
     .options = {"lpa_weight", "lpa_steps"}});

}  // namespace
}  // namespace qw
