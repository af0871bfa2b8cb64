// The model that is no network.
#include <ATen/ATen.h>

#include "qw/nn/model.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

TEST(ModelNone, HasNoParametersAndScoresOfZero) {
  const Graph graph = Graph::build(test::edge_list(4, {{0, 1}, {1, 2}}));
  const GraphTensors tensors(graph, test::options(at::kFloat));
  const NodeMatrix features(at::ones({4, 5}, at::kFloat));
  const auto model = find_model("none").make(model_shape(graph, 5, 3), {}, 1, test::options(at::kFloat));
  EXPECT_TRUE(model->parameters().all().empty());
  EXPECT_TRUE(model->parameters().buffers().empty());
  EXPECT_EQ(model->pass_memory(false).kept_per_node, 0);
  for (const bool training : {true, false}) {
    const at::Tensor scores = model->forward({tensors, features, {}, training});
    EXPECT_TRUE(at::equal(scores, at::zeros({4, 3}, at::kFloat)));
  }
}

}  // namespace
}  // namespace qw
