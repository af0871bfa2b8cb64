// BernNet (He et al., 2021): a filter in the Bernstein basis of the normalised Laplacian L = I - M,
//   sum_k relu(theta_k) binomial(K, k) / 2^K (2 I - L)^(K-k) L^k h.
// It is a polynomial of degree K in M, and the map from theta to its Chebyshev coefficients is a constant
// matrix: K propagations instead of K (K + 3) / 2.
#include <ATen/Functions.h>

#include <cmath>

#include "nn/layers/spectral.h"
#include "nn/tensors.h"
#include "qw/ops/dense_linear.h"

namespace qw {
namespace {

// Row k: the Chebyshev coefficients of binomial(K, k) / 2^K (1 + x)^(K-k) (1 - x)^k.
at::Tensor bernstein_in_chebyshev_basis(int64_t degree) {
  std::vector<double> rows;
  double binomial = 1.0;
  for (int64_t k = 0; k <= degree; ++k) {
    const std::vector<double> row = chebyshev_coefficients(degree, [&](double x) {
      return binomial * std::pow((1.0 + x) / 2.0, static_cast<double>(degree - k)) *
             std::pow((1.0 - x) / 2.0, static_cast<double>(k));
    });
    rows.insert(rows.end(), row.begin(), row.end());
    binomial = binomial * static_cast<double>(degree - k) / static_cast<double>(k + 1);
  }
  return tensor_of(rows).view({degree + 1, degree + 1});
}

class BernNet : public Model {
 public:
  BernNet(const ModelShape& shape, const ModelOptions& options, uint64_t seed,
          const at::TensorOptions& tensors)
      : Model(seed, tensors),
        perceptron_(parameters_, shape, options),
        columns_(shape.outputs),
        dprate_(options.dprate) {
    theta_ = parameters_.add_constant("prop1.temp", {options.k + 1}, 1.0, ParameterRole::kFilter);
    basis_ = bernstein_in_chebyshev_basis(options.k).to(tensors);
  }

  at::Tensor forward(const ModelInput& input) override {
    const at::Tensor coefficients = dense_linear(at::relu(theta_).unsqueeze(0), basis_.t()).squeeze(0);
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
  at::Tensor theta_;  // [K + 1]
  at::Tensor basis_;  // [K + 1, K + 1]
};

const ModelRegistration registration(
    {"bernnet", "perceptron, then a learned Bernstein filter", {"k", "dprate"}, make_model<BernNet>});

}  // namespace
}  // namespace qw
