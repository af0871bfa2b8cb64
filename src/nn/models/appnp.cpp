// Predict, then propagate (Klicpera et al., 2019): with M the matrix of GCN and h the perceptron's output,
//   z_0 = h,    z_{k+1} = (1 - alpha) M z_k + alpha h,    the result is z_K,
// that is the polynomial sum_{k<K} alpha (1 - alpha)^k M^k + (1 - alpha)^K M^K of M, applied to h.
#include "nn/layers/spectral.h"
#include "nn/tensors.h"

namespace qw {
namespace {

class Appnp : public Model {
 public:
  Appnp(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors),
        perceptron_(parameters_, shape, options),
        columns_(shape.outputs),
        dprate_(options.dprate) {
    const auto iterate = [&](double x) {
      double z = 1.0;
      for (int64_t k = 0; k < options.k; ++k) z = (1.0 - options.alpha) * x * z + options.alpha;
      return z;
    };
    coefficients_ = tensor_of(chebyshev_coefficients(options.k, iterate)).to(tensors);
  }

  at::Tensor forward(const ModelInput& input) override {
    return propagate(input, dprate_, input.graph.with_self_loops(input.edge_weights), coefficients_,
                     perceptron_.forward(input));
  }

  PassMemory pass_memory(bool edge_weights) const override {
    return filter_memory(perceptron_, coefficients_.size(0) - 1, columns_, true, edge_weights);
  }

 private:
  Perceptron perceptron_;
  int64_t columns_;
  double dprate_;
  at::Tensor coefficients_;  // of the Chebyshev polynomials of M, [K + 1]
};

const ModelRegistration registration(
    {"appnp", "perceptron, then personalised PageRank", {"k", "alpha", "dprate"}, make_model<Appnp>});

}  // namespace
}  // namespace qw
