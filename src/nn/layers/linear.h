// A matrix and a bias.
#pragma once

#include <string>

#include "nn/layers/stack.h"

namespace qw {

enum class LinearStart { kLinear, kGlorot };  // torch.nn.Linear's; or glorot with a bias of zero

struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined

  Linear() = default;
  Linear(ParameterSet& parameters, const std::string& name, int64_t in, int64_t out,
         LinearStart start = LinearStart::kLinear, bool with_bias = true);

  LayerOutput apply(const NodeMatrix& x) const { return {x.times(weight), bias}; }
};

// lin1, lin2, ...: the perceptron that several models begin with. Dropout before and between, relu between.
class Perceptron {
 public:
  Perceptron(ParameterSet& parameters, const ModelShape& shape, const ModelOptions& options);
  at::Tensor forward(const ModelInput& input) const;
  PassMemory pass_memory() const { return stack_.pass_memory(); }

 private:
  std::vector<Linear> layers_;
  LayerStack stack_;
};

}  // namespace qw
