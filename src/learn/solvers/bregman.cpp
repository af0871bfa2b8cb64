// Algorithm 1 of the paper: minimise
//   sum_e w_e |F_e| + lambda B(g + S F, Y)
// over the flow F and the network's parameters together, by Adam. `proximal` is ours: the same problem, but
// the L1 term enters by its proximal map, so that F has exact zeros.
#include "qw/learn/learner.h"

namespace qw {
namespace {

constexpr double kSettled = 1e-4;

class Bregman : public Learner {
 public:
  Bregman(const LearnInput& input, FlowRule rule) : Learner(input) { use_flow(rule); }

  StepReport step(int64_t epoch) override {
    const at::Tensor scores = forward(true, epoch);
    const auto [value, gradient] = weighed(scores, input_.options.lambda);
    StepReport report = report_with_flow(value);
    descend(scores, gradient);
    step_flow(gradient);
    return report;
  }

  // With a fixed network the problem is convex, and the residual of its optimality says how far there is to
  // go.
  bool settled() const override { return network_is_fixed() && flow_->violation() <= kSettled; }
};

std::unique_ptr<Learner> make_bregman(const LearnInput& input) {
  return std::make_unique<Bregman>(input, FlowRule::kSubgradient);
}
std::unique_ptr<Learner> make_proximal(const LearnInput& input) {
  return std::make_unique<Bregman>(input, FlowRule::kProximal);
}

const std::vector<std::string> kHeeded{"lambda", "flow_lr", "flow_weight_decay", "flow_start", "full_flow"};

const SolverRegistration bregman({.name = "bregman",
                                  .summary = "QW loss, Adam on flow and network (Algorithm 1)",
                                  .make = make_bregman,
                                  .has_flow = true,
                                  .options = kHeeded});
const SolverRegistration proximal({.name = "proximal",
                                   .summary = "QW loss, proximal steps on the flow: exact zeros",
                                   .make = make_proximal,
                                   .has_flow = true,
                                   .options = kHeeded});

}  // namespace
}  // namespace qw
