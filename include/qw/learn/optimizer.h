// Adam over the parameters of a model, with a learning rate and a weight decay for each role.
#pragma once

#include <map>
#include <vector>

#include "qw/core/export.h"
#include "qw/nn/parameters.h"

namespace QW_PUBLIC qw {

// Of one role.
struct Rates {
  double lr = 0.01;           // learning rate
  double weight_decay = 0.0;  // times the parameter is added to its gradient
};

// torch.optim.Adam's rule. A parameter without a gradient keeps its value; gradients are dropped after a
// step.
class Optimizer {
 public:
  // Roles without an entry are not learned.
  Optimizer(const std::vector<const ParameterSet*>& sets, const std::map<ParameterRole, Rates>& rates);

  // One step with the gradients that backward() left in the parameters.
  void step();
  // How many steps were taken.
  int64_t steps() const { return steps_; }

  std::vector<Buffer> state() const;  // moments by name: what a checkpoint needs beside the parameters
  // For a state that was read from a checkpoint.
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  struct Group {
    Rates rates;
    std::vector<std::string> names;
    std::vector<at::Tensor> parameters, first_moments, second_moments;
  };
  std::vector<Group> groups_;
  int64_t steps_ = 0;
};

}  // namespace qw
