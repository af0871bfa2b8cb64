// GCN-LPA has no published reference file: a dense loop written from the equations of its paper.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/nn/model.h"
#include "support/support.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

// A~ has the learned entries of A + I, D~ their row sums after exp: A^ = D~^-1 exp(A~) on the pattern of A +
// I (equation (10) with the softmax of the released code); X_1 = relu(A^ X W_1), X_2 = A^ X_1 W_2.
TEST(GcnLpa, MatchesTheDenseEquations) {
  const Graph graph =
      Graph::build(test::edge_list(6, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}}));  // node 5 is alone
  ModelOptions options;
  options.hidden = 4;
  const auto model =
      find_model("gcn-lpa").make(model_shape(graph, 3, 2), options, 1, test::options(at::kDouble));
  const ParameterSet& parameters = model->parameters();
  const at::Tensor scores = parameters.find("adjacency");
  {
    const at::NoGradGuard no_gradient;
    scores.copy_(at::sin(at::arange(scores.size(0), at::kDouble)));
    parameters.find("conv1.lin.bias").fill_(0.1);
  }
  const GraphTensors tensors(graph, test::options(at::kDouble));
  const at::Tensor x = at::cos(at::arange(18, at::kDouble)).reshape({6, 3});
  const NodeMatrix features(x);
  const ModelInput input{tensors, features, {}};
  const at::Tensor actual = model->forward(input);

  at::Tensor dense = at::full({6, 6}, -INFINITY, at::kDouble);
  const PropagationMatrix learned = model->learned_adjacency(input);
  const at::Tensor all_offsets = learned.pattern.offsets.cpu(), all_columns = learned.pattern.columns.cpu();
  const auto* offsets = all_offsets.data_ptr<int64_t>();
  const auto* columns = all_columns.data_ptr<int32_t>();
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) dense[row][columns[at]] = scores[at];
  }
  const at::Tensor adjacency = at::softmax(dense, 1);
  const at::Tensor hidden =
      at::relu(at::mm(adjacency, at::mm(x, parameters.find("conv1.lin.weight").t())) + 0.1);
  const at::Tensor expected = at::mm(adjacency, at::mm(hidden, parameters.find("conv2.lin.weight").t())) +
                              parameters.find("conv2.lin.bias");
  EXPECT_LE(test::relative_error(actual, expected), 1e-13);

  const at::Tensor direction = at::sin(at::arange(12, at::kDouble)).reshape({6, 2});
  for (const Parameter& parameter : parameters.all()) {
    const auto of_model = torch::autograd::grad({(actual * direction).sum()}, {parameter.value}, {}, true);
    const auto of_dense =
        torch::autograd::grad({(expected * direction).sum()}, {parameter.value}, {}, true, false, true);
    if (!of_dense[0].defined()) continue;  // the bias that stands as a number above
    EXPECT_LE(test::relative_error(of_model[0], of_dense[0]), 1e-12) << parameter.name;
  }
}

TEST(GcnLpa, RefusesAnotherGraph) {
  const Graph graph = Graph::build(test::edge_list(3, {{0, 1}, {1, 2}}));
  const Graph other = Graph::build(test::edge_list(3, {{0, 1}}));
  const auto model = find_model("gcn-lpa").make(model_shape(graph, 3, 2), {}, 1, test::options(at::kFloat));
  const GraphTensors tensors(other, test::options(at::kFloat));
  const NodeMatrix features(at::ones({3, 3}));
  EXPECT_EQ(test::error_of([&] {
              model->forward({tensors, features, {}});
            }),
            "gcn-lpa learned the 7 entries of one adjacency matrix; this graph has 5: train anew");
}

}  // namespace
}  // namespace qw
