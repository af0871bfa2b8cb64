#include "qw/learn/optimizer.h"

#include <ATen/Functions.h>

#include "qw/ops/adam.h"

namespace qw {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

// A gradient as the optimiser takes it: in the memory order of its parameter, which it nearly always has.
at::Tensor laid_out_like(const at::Tensor& gradient, const at::Tensor& parameter) {
  if (!gradient.defined() || gradient.strides() == parameter.strides()) return gradient;
  return at::empty_strided(parameter.sizes(), parameter.strides(), parameter.options()).copy_(gradient);
}

}  // namespace

Optimizer::Optimizer(const std::vector<const ParameterSet*>& sets,
                     const std::map<ParameterRole, Rates>& rates) {
  for (const auto& [role, role_rates] : rates) {
    Group group{role_rates, {}, {}, {}, {}};
    for (const ParameterSet* set : sets) {
      for (const Parameter& parameter : set->all()) {
        if (parameter.role != role) continue;
        group.names.push_back(parameter.name);
        group.parameters.push_back(parameter.value);
        group.first_moments.push_back(at::zeros_like(parameter.value.detach()));
        group.second_moments.push_back(at::zeros_like(parameter.value.detach()));
      }
    }
    if (!group.names.empty()) groups_.push_back(std::move(group));
  }
}

void Optimizer::step() {
  ++steps_;
  std::vector<at::Tensor> gradients;
  for (Group& group : groups_) {
    gradients.clear();
    for (const at::Tensor& parameter : group.parameters) {
      gradients.push_back(laid_out_like(parameter.grad(), parameter));
    }
    adam_(group.parameters, gradients, group.first_moments, group.second_moments, group.rates.lr, kBeta1,
          kBeta2, kEps, group.rates.weight_decay, steps_);
    for (at::Tensor& parameter : group.parameters) parameter.mutable_grad() = at::Tensor();
  }
}

std::vector<Buffer> Optimizer::state() const {
  std::vector<Buffer> state;
  for (const Group& group : groups_) {
    for (size_t i = 0; i < group.names.size(); ++i) {
      state.push_back({"adam.first." + group.names[i], group.first_moments[i]});
      state.push_back({"adam.second." + group.names[i], group.second_moments[i]});
    }
  }
  return state;
}

}  // namespace qw
