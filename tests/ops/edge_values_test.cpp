#include "qw/ops/edge_values.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "ops/edge_values_parts.h"
#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::on_device::tensor_of;

at::Tensor indices(const std::vector<int64_t>& values) { return tensor_of(values, at::kLong); }

// A path 0 - 1 - 2 (edges 0 and 1) with a loop of its own at 1 (edge 2), loops added at 0 and 2, by rows; and
// an edge (3) that is nowhere.
EntryEdges path_with_loops() {
  return {indices({-1, 0, 0, 2, 1, 1, -1}), indices({1, 2, 4, 5, 3, -1, -1, -1}).view({4, 2})};
}

class EdgeValuesOf : public testing::TestWithParam<at::ScalarType> {};

// Whole numbers, so that the sums are exact.
TEST_P(EdgeValuesOf, EveryEntryGetsTheWeightOfItsEdgeAndTheGradientComesBack) {
  const at::Tensor weights = tensor_of(std::vector<double>{3, 5, 7, 9}, at::kDouble).to(GetParam());
  const at::Tensor leaf = weights.clone().requires_grad_();
  const at::Tensor values = edge_values(leaf, path_with_loops());
  EXPECT_EQ(values.scalar_type(), GetParam());
  EXPECT_TRUE(at::equal(values.detach(),
                        tensor_of(std::vector<double>{1, 3, 3, 7, 5, 5, 1}, at::kDouble).to(GetParam())));
  const at::Tensor incoming =
      tensor_of(std::vector<double>{100, 1, 2, 4, 8, 16, 100}, at::kDouble).to(GetParam());
  const at::Tensor gradient = torch::autograd::grad({(values * incoming).sum()}, {leaf})[0];
  EXPECT_TRUE(at::equal(gradient, tensor_of(std::vector<double>{3, 24, 4, 0}, at::kDouble).to(GetParam())));
}

TEST_P(EdgeValuesOf, TakesNonContiguousWeightsAndGradients) {
  const at::Tensor leaf = at::randint(-9, 9, {4, 3}, GetParam()).requires_grad_();
  const EntryEdges entries = path_with_loops();
  const at::Tensor values = edge_values(leaf.select(1, 1), entries);
  EXPECT_TRUE(at::equal(values, edge_values(leaf.select(1, 1).contiguous(), entries)));
  const at::Tensor incoming = at::randint(-9, 9, {7, 2}, GetParam()).select(1, 0);
  const at::Tensor gradient = torch::autograd::grad({values}, {leaf}, {incoming})[0];
  EXPECT_TRUE(
      at::equal(gradient.select(1, 1), ops::edge_values_backward(incoming.contiguous(), entries.entries_of)));
}

INSTANTIATE_TEST_SUITE_P(Types, EdgeValuesOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(EdgeValues, GraphsWithoutEdgesOrEntries) {
  const at::Tensor none = at::zeros({0}).requires_grad_();
  const at::Tensor no_edges = at::empty({0, 2}, at::kLong);
  EXPECT_TRUE(at::equal(edge_values(none, {indices({-1, -1}), no_edges}), at::ones({2})));
  const at::Tensor values = edge_values(none, {indices({}), no_edges});
  EXPECT_EQ(values.sizes(), std::vector<int64_t>{0});
  EXPECT_EQ(torch::autograd::grad({values.sum()}, {none})[0].sizes(), std::vector<int64_t>{0});
}

TEST(EdgeValues, OneDirectedEdge) {
  const at::Tensor weight = at::full({1}, 4.0).requires_grad_();
  const at::Tensor values = edge_values(weight, {indices({0}), indices({0, -1}).view({1, 2})});
  EXPECT_EQ(values.item<double>(), 4.0);
  EXPECT_EQ(torch::autograd::grad({values.sum()}, {weight})[0].item<double>(), 1.0);
}

TEST(EdgeValues, SameBitsForAnyNumberOfThreads) {
  constexpr int64_t kEdges = 50000;
  const at::Tensor entries_of = at::randperm(2 * kEdges, at::kLong).view({kEdges, 2});
  at::Tensor edges = at::empty({2 * kEdges}, at::kLong);
  edges.index_put_({entries_of.view(-1)}, at::repeat_interleave(at::arange(kEdges), 2));
  const at::Tensor weights = at::randn({kEdges}).requires_grad_();
  const at::Tensor incoming = at::randn({2 * kEdges});
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor values = edge_values(weights, {edges, entries_of});
    EXPECT_TRUE(at::equal(values, weights.index_select(0, edges)));
    const at::Tensor gradient = torch::autograd::grad({values}, {weights}, {incoming})[0];
    if (first.empty()) first = {values.detach(), gradient};
    EXPECT_TRUE(at::equal(values, first[0]));
    EXPECT_TRUE(at::equal(gradient, first[1]));
  }
}

TEST(EdgeValues, HasNoSecondDerivative) {
  const at::Tensor weights = at::ones({4}).requires_grad_();
  EXPECT_EQ(refusal([&] {
              torch::autograd::grad({edge_values(weights, path_with_loops()).square().sum()}, {weights}, {},
                                    true, true);
            }),
            "qw::edge_values: there is no second derivative; call backward without create_graph");
}

TEST(EdgeValues, Refusals) {
  const std::string on = " on " + test::device_name();
  const EntryEdges good = path_with_loops();
  const at::Tensor weights = at::ones({4});
  EXPECT_EQ(refusal([&] {
              edge_values(at::ones({4, 1}), good);
            }),
            "qw::edge_values: weights must be [E] of float32 or float64, got [4, 1] of Float");
  EXPECT_EQ(refusal([&] { edge_values(weights.to(at::kInt), good); }),
            "qw::edge_values: weights must be [E] of float32 or float64, got [4] of Int");
  EXPECT_EQ(refusal([&] {
              edge_values(weights, {good.edges.to(at::kInt), good.entries_of});
            }),
            "qw::edge_values: edges must be one contiguous row of Long, got Int [7]");
  EXPECT_EQ(refusal([&] {
              edge_values(weights, {good.edges.to(at::kMeta), good.entries_of});
            }),
            "qw::edge_values: edges is on meta, the values are" + on);
  const std::string wanted = "qw::edge_values: entries_of must be contiguous [4, 2] of Long" + on + ", got ";
  const auto refused = [&](const at::Tensor& entries_of) {
    return refusal([&] { edge_values(weights, {good.edges, entries_of}); });
  };
  EXPECT_EQ(refused(good.entries_of.slice(0, 0, 3)), wanted + "[3, 2] of Long" + on);
  EXPECT_EQ(refused(good.entries_of.view({2, 4})), wanted + "[2, 4] of Long" + on);
  EXPECT_EQ(refused(good.entries_of.view(-1)), wanted + "[8] of Long" + on);
  EXPECT_EQ(refused(good.entries_of.to(at::kInt)), wanted + "[4, 2] of Int" + on);
  EXPECT_EQ(refused(good.entries_of.t().contiguous().t()), wanted + "strided [4, 2] of Long" + on);
  EXPECT_EQ(refused(good.entries_of.to(at::kMeta)), wanted + "[4, 2] of Long on meta");
  EXPECT_EQ(refusal([&] { ops::edge_values_backward(at::ones({}), good.entries_of); }),
            "qw::_edge_values_backward: gradient must be [entries] of float32 or float64, got [] of Float");
  EXPECT_EQ(refusal([&] { ops::edge_values_backward(at::ones({7}), indices({1})); }),
            "qw::_edge_values_backward: entries_of must be contiguous [1, 2] of Long" + on +
                ", got [1] of Long" + on);
}

TEST(EdgeValues, ChecksAlsoUnderInferenceMode) {
  const EntryEdges good = path_with_loops();
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(edge_values(at::full({4}, 2.0), good),
                        tensor_of(std::vector<float>{1, 2, 2, 2, 2, 2, 1}, at::kFloat)));
  EXPECT_NE(refusal([&] { edge_values(at::ones({3}), good); }), "not refused");
}

}  // namespace
}  // namespace qw
