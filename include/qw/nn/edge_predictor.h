// The edge-weight predictor: from what flows over an edge to the weight the model gives it.
#pragma once

#include "qw/core/export.h"
#include "qw/nn/parameters.h"

namespace QW_PUBLIC qw {

// sigmoid(lin2(relu(lin1(flow)))) with one output, for flow [E, C] -> weights [E] in (0, 1); differentiable
// by the flow and by the four parameters it adds as NAME.lin1.weight, ..., of role kEdgePredictor.
class EdgePredictor {
 public:
  // Adds its parameters to the set, for flows of this many columns.
  EdgePredictor(ParameterSet& parameters, const std::string& name, int64_t columns, int64_t hidden = 32);
  // Weights [E] of a flow [E, C].
  at::Tensor forward(const at::Tensor& flow) const;

 private:
  at::Tensor weight1_, bias1_, weight2_, bias2_;
};

}  // namespace qw
