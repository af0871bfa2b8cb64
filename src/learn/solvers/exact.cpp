// The QW loss without approximation: the partial Wasserstein-1 distance between what the network says of the
// labelled nodes and their labels (equations 6-10), solved exactly at every step. Its gradient with respect
// to what the network says is minus the optimal potential (Danskin). Predictions enter in the space of the
// labels, as probabilities or as values; a node's prediction is then that plus what the optimal flow brings.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/learn/learner.h"
#include "qw/transport/wasserstein.h"

namespace qw {
namespace {

constexpr int64_t kSmallProblem = 300'000;  // edges times columns that are solved anew at every step

// Nodes that are labelled in every column: a constraint binds a row as a whole.
std::vector<NodeId> fully_labelled(const Targets& targets, std::span<const NodeId> nodes) {
  std::vector<NodeId> result;
  for (const NodeId node : nodes) {
    const auto begin = targets.values.begin() + (targets.values.empty() ? 0 : node * targets.width);
    const bool known =
        targets.task == Task::kClassification
            ? targets.classes[node] >= 0
            : std::none_of(begin, begin + targets.width, [](double v) { return std::isnan(v); });
    if (known) result.push_back(node);
  }
  return result;
}

std::vector<double> label_rows(const Targets& targets, std::span<const NodeId> nodes) {
  std::vector<double> rows(nodes.size() * targets.width, 0.0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (targets.task == Task::kClassification) {
      rows[i * targets.width + targets.classes[nodes[i]]] = 1;
    } else {
      std::copy_n(targets.values.begin() + nodes[i] * targets.width, targets.width,
                  rows.begin() + i * targets.width);
    }
  }
  return rows;
}

// What a labelled node pays that has nowhere to send its residual: as much as over the dearest edge.
double slack_cost(const Graph& graph) {
  double largest = 0;
  for (const double cost : graph.costs()) largest = std::max(largest, cost);
  return largest > 0 ? largest : 1.0;
}

// A problem that is solved again and again, each time from where the last solution ended.
class RepeatedProblem {
 public:
  RepeatedProblem(const TransportPlan& plan, int64_t columns)
      : plan_(plan), columns_(columns), saved_(at::empty({plan.memory_size(columns)}, at::kDouble)) {}

  std::vector<TransportColumn> solve(std::span<const double> mu, std::span<const double> gamma) {
    TransportOptions options;
    options.solver = "network-simplex";  // the one that remembers
    return plan_.solve(mu, gamma, columns_, options, &memory_);
  }

  const at::Tensor& memory() const {
    const std::vector<double> numbers = plan_.saved(memory_, columns_);
    std::copy(numbers.begin(), numbers.end(), saved_.data_ptr<double>());
    return saved_;
  }
  void take_memory() {
    memory_ = plan_.remembered({saved_.data_ptr<double>(), static_cast<size_t>(saved_.numel())}, columns_);
  }

 private:
  const TransportPlan& plan_;
  int64_t columns_;
  TransportPlan::Memory memory_;
  at::Tensor saved_;
};

class Exact : public Learner {
 public:
  explicit Exact(const LearnInput& input)
      : Learner(input),
        columns_(input.targets.width),
        labelled_(fully_labelled(input.targets, input.split.train)),
        gamma_(label_rows(input.targets, labelled_)),
        plan_(input.topology, labelled_, slack_cost(input.topology)),
        of_training_(plan_, columns_),
        of_prediction_(plan_, columns_) {
    if (input.options.edge_weights) {
      fail_usage(
          "--edge-weights are predicted from a flow that is learned; solver exact computes it, use bregman");
    }
    if (input.options.balanced)
      fail_usage("--balanced weighs a divergence, which solver exact has not; use bregman");
    if (labelled_.empty()) fail("no training node has all its labels");
    use_flow(FlowRule::kProximal);
    index_ = tensor_of(labelled_, input.graph.options().device()).to(at::kLong);
    potential_ = at::zeros({static_cast<int64_t>(labelled_.size()), columns_}, at::kDouble);
    distance_ = at::zeros({1}, at::kDouble);
    every_ = input.options.solve_every;
    if (every_ == 0) every_ = flow_->values().numel() <= kSmallProblem ? 1 : 10;
    scale_ = input.options.reduction == "mean" ? 1.0 / static_cast<double>(labelled_.size()) : 1.0;
  }

  StepReport step(int64_t epoch) override {
    const at::Tensor scores = forward(true, epoch);
    const at::Tensor predicted = to_label_space(kind_, scores).index_select(0, index_);
    if (epoch % every_ == 0) solve_for_potential(predicted.detach());
    stale_ = epoch % every_ == 0;
    descend(predicted, (potential_ * -scale_).to(predicted.options()));
    const at::Tensor loss = distance_[0] * scale_;
    return {Measured(loss), Measured(loss, 0.0)};
  }

  Scores predict() override {
    const at::NoGradGuard no_gradient;
    const at::Tensor network = to_label_space(kind_, forward(false, 0));
    if (stale_) solve_for_flow(network.index_select(0, index_));
    stale_ = false;
    return {network, flow_->transported(), true};
  }

  ValidationLoss validation_loss(const Scores& scores, const LabelTensors& labels) override {
    const at::Tensor cost = flow_->cost_tensor() * scale_;
    if (kind_ == Divergence::kLeastSquares) return {weighed_mean(scores.sum(), labels), cost};
    const at::Tensor chances = probabilities(kind_, scores);
    const at::Tensor logits = kind_ == Divergence::kSoftmax ? at::log(chances) : at::logit(chances);
    return {weighed_mean(logits, labels), cost};
  }

  bool settled() const override { return network_is_fixed(); }
  bool stays_on_device() const override { return false; }

  std::vector<Buffer> state() const override {
    std::vector<Buffer> state = Learner::state();
    state.push_back({"exact.potential", potential_});
    state.push_back({"exact.distance", distance_});
    state.push_back({"exact.training_memory", of_training_.memory()});
    state.push_back({"exact.prediction_memory", of_prediction_.memory()});
    return state;
  }

 protected:
  void restored() override {
    of_training_.take_memory();
    of_prediction_.take_memory();
  }

 private:
  std::vector<TransportColumn> solve(RepeatedProblem& problem, const at::Tensor& predicted) {
    const at::Tensor rows = predicted.to(at::kDouble).cpu().contiguous();
    if (!at::isfinite(rows).all().item<bool>())
      fail("the network's predictions are not finite any more; a smaller learning rate may help");
    return problem.solve({rows.data_ptr<double>(), static_cast<size_t>(rows.numel())}, gamma_);
  }

  void solve_for_potential(const at::Tensor& predicted) {
    const std::vector<TransportColumn> solved = solve(of_training_, predicted);
    auto* potential = potential_.data_ptr<double>();
    double distance = 0;
    for (const TransportColumn& column : solved) distance += column.distance;
    for (const NodeId node : labelled_) {
      for (int64_t c = 0; c < columns_; ++c) *potential++ = solved[c].potential[node];
    }
    distance_.fill_(distance);
  }

  void solve_for_flow(const at::Tensor& predicted) {
    const std::vector<TransportColumn> solved = solve(of_prediction_, predicted);
    const std::vector<EdgeId>& carriers = flow_->carriers();
    at::Tensor values = at::empty({static_cast<int64_t>(carriers.size()), columns_}, at::kDouble);
    auto* value = values.data_ptr<double>();
    for (const EdgeId edge : carriers) {
      for (int64_t c = 0; c < columns_; ++c) *value++ = solved[c].flow[edge];
    }
    double gap = 0;
    for (const TransportColumn& column : solved) gap += column.upper - column.lower;
    flow_->set(values, gap);
  }

  at::Tensor weighed_mean(const at::Tensor& logits, const LabelTensors& labels) const {
    const double scale = input_.options.lambda * mean_scale(kind_, labels, columns_);
    return std::get<0>(divergence(kind_, logits, none_, labels, scale, false));
  }

  int64_t columns_;
  std::vector<NodeId> labelled_;
  std::vector<double> gamma_;  // labels [n, C]
  TransportPlan plan_;
  RepeatedProblem of_training_, of_prediction_;
  at::Tensor index_;      // labelled nodes [n]
  at::Tensor potential_;  // of the last solution in training [n, C]
  at::Tensor distance_;   // its distance, all columns together [1]
  int64_t every_ = 1;
  bool stale_ = false;  // the flow belongs to older predictions
};

const SolverRegistration registration(
    {.name = "exact",
     .summary = "QW loss by exact optimal transport: potentials as gradients, optimal flow",
     .make = make_solver<Exact>,
     .has_flow = true,
     .options = {"lambda", "full_flow", "solve_every"}});

}  // namespace
}  // namespace qw
