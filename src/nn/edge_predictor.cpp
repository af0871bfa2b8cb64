#include "qw/nn/edge_predictor.h"

#include <ATen/Functions.h>

#include "qw/ops/activate.h"
#include "qw/ops/dense_linear.h"

namespace qw {

EdgePredictor::EdgePredictor(ParameterSet& parameters, const std::string& name, int64_t columns,
                             int64_t hidden) {
  constexpr ParameterRole kRole = ParameterRole::kEdgePredictor;
  weight1_ = parameters.add_weight(name + ".lin1.weight", hidden, columns, linear_bound(columns), kRole);
  bias1_ = parameters.add_uniform(name + ".lin1.bias", {hidden}, linear_bound(columns), kRole);
  weight2_ = parameters.add_weight(name + ".lin2.weight", 1, hidden, linear_bound(hidden), kRole);
  bias2_ = parameters.add_uniform(name + ".lin2.bias", {1}, linear_bound(hidden), kRole);
}

at::Tensor EdgePredictor::forward(const at::Tensor& flow) const {
  const at::Tensor hidden = activate(dense_linear(flow, weight1_), bias1_, Activation::kRelu);
  return at::sigmoid(add_bias(dense_linear(hidden, weight2_), bias2_)).squeeze(1);
}

}  // namespace qw
