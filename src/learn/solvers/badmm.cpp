// Algorithm 2 of the paper, Bregman ADMM on
//   sum_e w_e |F_e| + <Z, g + S F - Y> + lambda B(g + S F, Y):
// J steps for the network, J for the flow, then the dual Z. What the dual gains is
//   carried      lambda (g + S F - Y), as the paper writes it: logits minus one-hot labels for classes;
//   probability  the gradient of lambda B, for classes lambda / n (softmax(g + S F) - Y): the residual in the
//                space where labels live, and the consistent one for KL;
//   reset        nothing: Z stays 0, which is what the released code does.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "qw/core/error.h"
#include "qw/learn/learner.h"

namespace qw {
namespace {

class Badmm : public Learner {
 public:
  explicit Badmm(const LearnInput& input) : Learner(input) {
    if (network_is_fixed())
      fail_usage("solver badmm learns the network; use proximal or exact to fit the flow alone");
    use_flow(FlowRule::kSubgradient);
    const int64_t nodes = input.graph.num_nodes();
    const int64_t columns = input.targets.width;
    dual_ = at::zeros({nodes, columns}, input.graph.options());
    if (input.options.dual == "carried") set_labels(nodes, columns);
  }

  StepReport step(int64_t epoch) override {
    const int64_t inner = input_.options.inner_steps;
    const int64_t first_draw = draws_per_epoch() * epoch;
    StepReport report;
    for (int64_t j = 0; j < inner; ++j) {
      const at::Tensor scores = forward(true, first_draw + j);
      report = step_of(scores);
      scores.backward(residual_);
      step_network();
      if (predictor_) flow_->drop_gradient();  // the flow has its own steps
    }
    at::Tensor scores;
    for (int64_t j = 0; j < inner; ++j) {
      // The network is fixed here; its scores change only when it reads the flow.
      if (j == 0 || predictor_) scores = forward(true, first_draw + inner + j);
      step_of(scores);
      if (predictor_) scores.backward(residual_);
      model_->parameters().drop_gradients();
      predictor_parameters_.drop_gradients();
      step_flow(residual_);
    }
    update_dual(scores.detach());
    return report;
  }

  int64_t draws_per_epoch() const override { return 2 * input_.options.inner_steps; }

  std::vector<Buffer> state() const override {
    std::vector<Buffer> state = Learner::state();
    state.push_back({"dual", dual_});
    return state;
  }

 private:
  StepReport step_of(const at::Tensor& scores) {
    const auto [value, gradient] = weighed(scores, input_.options.lambda);
    residual_ = gradient + dual_;
    return report_with_flow(value);
  }

  void update_dual(const at::Tensor& scores) {
    if (input_.options.dual == "probability") {
      dual_.add_(std::get<1>(weighed(scores, input_.options.lambda)));
    } else if (input_.options.dual == "carried") {
      dual_.add_((scores + flow_->transported() - label_rows_) * is_labelled_, input_.options.lambda);
    }
  }

  void set_labels(int64_t nodes, int64_t columns) {
    label_rows_ = at::zeros({nodes, columns}, input_.graph.options());
    is_labelled_ = at::zeros({nodes, columns}, input_.graph.options());
    const at::Tensor index = labels_.nodes.to(at::kLong);
    const at::Tensor known = labels_.targets.numel() != 0
                                 ? at::isfinite(labels_.targets)
                                 : at::ones({index.size(0), columns}, index.options().dtype(at::kBool));
    const at::Tensor rows = labels_.targets.numel() != 0
                                ? at::nan_to_num(labels_.targets)
                                : at::one_hot(labels_.classes.to(at::kLong), columns).to(label_rows_.dtype());
    label_rows_.index_copy_(0, index, rows);
    is_labelled_.index_copy_(0, index, known.to(is_labelled_.dtype()));
  }

  at::Tensor dual_;                      // Z [N, C], zero where there is no label
  at::Tensor residual_;                  // gradient of g + S F [N, C]
  at::Tensor label_rows_, is_labelled_;  // [N, C]
};

const SolverRegistration registration({.name = "badmm",
                                       .summary = "QW loss, Bregman ADMM (Algorithm 2)",
                                       .make = make_solver<Badmm>,
                                       .has_flow = true,
                                       .options = {"lambda", "flow_lr", "flow_weight_decay", "flow_start",
                                                   "full_flow", "dual", "inner_steps"}});

}  // namespace
}  // namespace qw
