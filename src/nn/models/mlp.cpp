// Multi-layer perceptron: the features alone, the baseline that every graph model must beat.
#include "nn/layers/linear.h"

namespace qw {
namespace {

class Mlp : public Model {
 public:
  Mlp(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors), perceptron_(parameters_, shape, options) {}

  at::Tensor forward(const ModelInput& input) override { return perceptron_.forward(input); }

  PassMemory pass_memory(bool) const override { return perceptron_.pass_memory(); }

 private:
  Perceptron perceptron_;
};

const ModelRegistration registration(
    {"mlp", "perceptron on the features; does not see the graph", {}, make_model<Mlp>});

}  // namespace
}  // namespace qw
