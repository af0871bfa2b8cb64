// Predict, then propagate (Klicpera et al., 2019): with M the matrix of GCN and h the perceptron's output,
//   z_0 = h,    z_{k+1} = (1 - alpha) M z_k + alpha h,    the result is z_K,
// that is the polynomial sum_{k<K} alpha (1 - alpha)^k M^k + (1 - alpha)^K M^K of M, applied to h.
#include <ATen/TensorOperators.h>

#include "nn/layers/spectral.h"
#include "nn/tensors.h"
#include "qw/ops/spmm.h"

namespace qw {
namespace {

// Of a matrix that is not symmetric, Chebyshev polynomials grow with their degree, and what they sum up to
// drowns in rounding: beyond this degree it is iterated as it stands.
constexpr int64_t kMostOfAnyMatrix = 10;

bool is_symmetric(const SparsePattern& pattern) {
  return pattern.order.numel() == 0 && !pattern.transposed_values.defined();
}

class Appnp : public Model {
 public:
  Appnp(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors),
        perceptron_(parameters_, shape, options),
        columns_(shape.outputs),
        dprate_(options.dprate),
        k_(options.k),
        alpha_(options.alpha) {
    const auto iterate = [&](double x) {
      double z = 1.0;
      for (int64_t k = 0; k < options.k; ++k) z = (1.0 - options.alpha) * x * z + options.alpha;
      return z;
    };
    coefficients_ = tensor_of(chebyshev_coefficients(options.k, iterate)).to(tensors);
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = input.graph.with_self_loops(input.edge_weights);
    const at::Tensor predicted = perceptron_.forward(input);
    if (k_ <= kMostOfAnyMatrix || is_symmetric(matrix.pattern))
      return propagate(input, dprate_, matrix, coefficients_, predicted);
    const at::Tensor kept = dropped(input, dprate_, predicted);
    at::Tensor z = kept;
    for (int64_t k = 0; k < k_; ++k)
      z = (1.0 - alpha_) * spmm(matrix.pattern, matrix.values, z) + alpha_ * kept;
    return z;
  }

  PassMemory pass_memory(bool edge_weights) const override {
    return filter_memory(perceptron_, coefficients_.size(0) - 1, columns_, true, edge_weights);
  }

 private:
  Perceptron perceptron_;
  int64_t columns_;
  double dprate_;
  int64_t k_;
  double alpha_;
  at::Tensor coefficients_;  // of the Chebyshev polynomials of M, [K + 1]
};

const ModelRegistration registration(
    {"appnp", "perceptron, then personalised PageRank", {"k", "alpha", "dprate"}, make_model<Appnp>});

}  // namespace
}  // namespace qw
