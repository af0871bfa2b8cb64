// Adam over the parameters of a model, with a learning rate and a weight decay for each role.
#pragma once

#include <map>
#include <vector>

#include "qw/nn/parameters.h"

namespace qw {

struct Rates {
  double lr = 0.01;
  double weight_decay = 0.0;
};

// torch.optim.Adam's rule. A parameter without a gradient keeps its value; gradients are dropped after a step.
class Optimizer {
 public:
  // Roles without an entry are not learned.
  Optimizer(const ParameterSet& parameters, const std::map<ParameterRole, Rates>& rates);

  // One step with the gradients that backward() left in the parameters.
  void step();
  int64_t steps() const { return steps_; }

  // Everything a checkpoint needs beside the parameters: moments by name, and the number of steps.
  std::vector<Buffer> state() const;
  void restore(const std::vector<Buffer>& state, int64_t steps);

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
