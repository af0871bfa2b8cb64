// The traditional loss, equation (2) of the paper: every labelled node by itself. Cross-entropy for classes,
// binary cross-entropy for several labels, squared error for values.
#include <fmt/format.h>

#include "qw/core/error.h"
#include "qw/learn/learner.h"

namespace qw {
namespace {

class PerNode : public Learner {
 public:
  explicit PerNode(const LearnInput& input) : Learner(input) {
    if (input.options.edge_weights) {
      fail_usage("--edge-weights are predicted from the flow, which solver ce has not; use bregman");
    }
    if (network_is_fixed())
      fail_usage(fmt::format("solver {} has no flow to fit; use proximal or exact", input.options.solver));
    if (input.options.solver == "mse" && kind_ != Divergence::kLeastSquares) {
      fail_usage("solver mse is for values; the target has classes, use ce");
    }
  }

  StepReport step(int64_t epoch) override {
    const at::Tensor scores = forward(true, epoch);
    const auto [loss, gradient] = weighed(scores, 1.0);
    descend(scores, gradient);
    return {Measured(loss), Measured(loss)};
  }
};

const SolverRegistration ce({.name = "ce",
                             .summary = "the traditional loss of every node by itself",
                             .make = make_solver<PerNode>});
const SolverRegistration mse({.name = "mse",
                              .summary = "the same, by its name for regression",
                              .make = make_solver<PerNode>});

}  // namespace
}  // namespace qw
