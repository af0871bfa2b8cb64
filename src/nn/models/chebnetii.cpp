// ChebNetII (He et al., 2022): a filter given by its values at the Chebyshev nodes x_j = cos((K - j + 1/2) pi
// / (K + 1)) of the shifted Laplacian L - I = -M,
//   sum_k c_k T_k(-M) h,    c_k = 2 / (K + 1) sum_j relu(theta_j) T_k(x_j), halved for k = 0.
// T_k(-M) = (-1)^k T_k(M).
#include <ATen/Functions.h>

#include <cmath>
#include <numbers>

#include "nn/layers/spectral.h"
#include "nn/tensors.h"
#include "qw/ops/dense_linear.h"

namespace qw {
namespace {

// [K + 1, K + 1]: from the values at the nodes to the coefficients of T_k(M).
at::Tensor interpolation(int64_t degree) {
  const auto count = static_cast<double>(degree + 1);
  std::vector<double> rows;
  for (int64_t k = 0; k <= degree; ++k) {
    const double scale = (k == 0 ? 1.0 : 2.0) / count * (k % 2 == 0 ? 1.0 : -1.0);
    for (int64_t j = 0; j <= degree; ++j) {
      const double angle = (static_cast<double>(degree - j) + 0.5) * std::numbers::pi / count;
      rows.push_back(scale * std::cos(static_cast<double>(k) * angle));
    }
  }
  return tensor_of(rows).view({degree + 1, degree + 1});
}

class ChebNetII : public Model {
 public:
  ChebNetII(const ModelShape& shape, const ModelOptions& options, uint64_t seed,
            const at::TensorOptions& tensors)
      : Model(seed, tensors),
        perceptron_(parameters_, shape, options),
        columns_(shape.outputs),
        dprate_(options.dprate) {
    theta_ = parameters_.add_constant("prop1.temp", {options.k + 1}, 1.0, ParameterRole::kFilter);
    interpolation_ = interpolation(options.k).to(tensors);
  }

  at::Tensor forward(const ModelInput& input) override {
    const at::Tensor coefficients = dense_linear(at::relu(theta_).unsqueeze(0), interpolation_).squeeze(0);
    return propagate(input, dprate_, input.graph.normalised(input.edge_weights), coefficients,
                     perceptron_.forward(input));
  }

  PassMemory pass_memory(bool edge_weights) const override {
    return filter_memory(perceptron_, theta_.size(0) - 1, columns_, false, edge_weights);
  }

 private:
  Perceptron perceptron_;
  int64_t columns_;
  double dprate_;
  at::Tensor theta_;          // [K + 1]
  at::Tensor interpolation_;  // [K + 1, K + 1]
};

const ModelRegistration registration({"chebnetii",
                                      "perceptron, then a learned Chebyshev interpolation",
                                      {"k", "dprate"},
                                      make_model<ChebNetII>});

}  // namespace
}  // namespace qw
