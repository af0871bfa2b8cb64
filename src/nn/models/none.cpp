// No network: scores of zero, for solvers that predict by the labels and the graph alone.
#include <ATen/Functions.h>

#include "qw/nn/model.h"

namespace qw {
namespace {

class None : public Model {
 public:
  None(const ModelShape& shape, const ModelOptions&, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors), outputs_(shape.outputs) {}

  at::Tensor forward(const ModelInput& input) override {
    return at::zeros({input.graph.num_nodes(), outputs_}, parameters_.options());
  }

  PassMemory pass_memory(bool) const override { return {}; }

 private:
  int64_t outputs_;
};

const ModelRegistration registration(
    {"none", "no network: for solver label-propagation", {}, make_model<None>});

}  // namespace
}  // namespace qw
