// A loss with a weight: costs are so much of what they are, and the gradient of the whole loss comes in.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "qw/ops/flow_step.h"
#include "support/device.h"

namespace qw {
namespace {

using at::Tensor;

using Step = void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                  const c10::optional<Tensor>&, const c10::optional<Tensor>&, const c10::optional<Tensor>&,
                  const c10::optional<Tensor>&, std::string, double, double, int64_t, bool, const Tensor&);

Tensor on_device(const Tensor& values) { return values.to(test::device()); }

struct Moved {
  Tensor flow, first, second, measures;
};

// The step of `weight` times the loss whose smooth part has gradients `smooth`, as autograd brings it.
Moved step_of_weighted(double weight, const Tensor& start, const Tensor& smooth, const FlowEdges& edges,
                       const std::string& rule) {
  Moved now{on_device(start.clone()), on_device(at::zeros_like(start)), on_device(at::zeros_like(start)),
            on_device(at::empty({3}, at::kDouble))};
  const Tensor cost = edges.costs.numel() > 0 ? edges.costs.unsqueeze(1) : at::ones({1, 1}, at::kDouble);
  const Tensor gradient = on_device(weight * (smooth + cost * at::sign(start)));
  const Tensor share = on_device(at::full({1}, weight, at::kDouble));
  c10::Dispatcher::singleton()
      .findSchemaOrThrow("qw::_flow_step_", "")
      .typed<Step>()
      .call(now.flow, now.first, now.second, on_device(edges.heads), on_device(edges.tails), c10::nullopt,
            gradient, share,
            edges.costs.numel() > 0 ? c10::optional<Tensor>(on_device(edges.costs)) : c10::nullopt, rule, 0.1,
            0.0, 1, false, now.measures);
  return now;
}

// What flow_step_() makes of the weighted loss when it is told its parts.
Moved step_of_parts(double weight, const Tensor& start, const Tensor& smooth, const FlowEdges& edges,
                    FlowRule rule) {
  const Tensor costs = edges.costs.numel() > 0 ? edges.costs : at::ones({start.size(0)}, at::kDouble);
  const FlowEdges weighted{on_device(edges.heads), on_device(edges.tails), on_device(weight * costs)};
  Moved now{on_device(start.clone()), on_device(at::zeros_like(start)), on_device(at::zeros_like(start)), {}};
  now.measures = flow_step_(now.flow, now.first, now.second, on_device(at::empty({0}, at::kDouble)),
                            on_device(weight * smooth), weighted, {.rule = rule, .lr = 0.1});
  return now;
}

TEST(FlowShare, AWeightOfTheLossIsOneOfItsCostToo) {
  constexpr int64_t kEdges = 40, kColumns = 3;
  at::manual_seed(5);
  const Tensor start = at::randn({kEdges, kColumns}, at::kDouble);
  start.masked_fill_(at::rand({kEdges, kColumns}) < 0.3, 0.0);
  const Tensor smooth = at::randn({kEdges, kColumns}, at::kDouble);
  const Tensor heads = at::randint(9, {kEdges}, at::kInt);
  for (const bool with_costs : {false, true}) {
    const FlowEdges edges{heads, (heads + 1).remainder(10).to(at::kInt),
                          with_costs ? at::rand({kEdges}, at::kDouble) : at::empty({0}, at::kDouble)};
    for (const double weight : {0.1, 1.0, 4.0}) {
      for (const auto& [name, rule] :
           {std::pair{"proximal", FlowRule::kProximal}, std::pair{"subgradient", FlowRule::kSubgradient}}) {
        const Moved as_loss = step_of_weighted(weight, start, smooth, edges, name);
        const Moved of_parts = step_of_parts(weight, start, smooth, edges, rule);
        EXPECT_TRUE(at::allclose(as_loss.flow, of_parts.flow, 1e-11, 1e-13)) << name << " " << weight;
        EXPECT_TRUE(at::allclose(as_loss.measures, of_parts.measures, 1e-10, 1e-12)) << name << " " << weight;
      }
    }
  }
}

}  // namespace
}  // namespace qw
