// Attention over some rows of a larger graph drops the entries that it would drop there.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/ops/graph_attention.h"
#include "support/device.h"
#include "support/sparse.h"

namespace qw {
namespace {

SparsePattern on_device(SparsePattern pattern) {
  for (at::Tensor* each : {&pattern.offsets, &pattern.columns, &pattern.transposed_offsets,
                           &pattern.transposed_columns, &pattern.order, &pattern.entry_numbers}) {
    if (each->defined()) *each = each->to(test::device());
  }
  return pattern;
}

// Without the entries of row 0; those that stay keep their numbers.
SparsePattern without_row_0(const SparsePattern& whole) {
  const int64_t gone = whole.offsets[1].item<int64_t>(), left = whole.columns.numel() - gone;
  const at::Tensor stays = at::nonzero(whole.order >= gone).squeeze(1);
  SparsePattern rest;
  rest.offsets = at::clamp_min(whole.offsets - gone, 0);
  rest.columns = whole.columns.narrow(0, gone, left).clone();
  const at::Tensor counts = at::bincount(rest.columns, {}, whole.offsets.numel() - 1);
  rest.transposed_offsets = at::cat({at::zeros({1}, at::kLong), at::cumsum(counts, 0)});
  rest.transposed_columns = whole.transposed_columns.index_select(0, stays);
  rest.order = whole.order.index_select(0, stays) - gone;
  rest.entry_numbers = at::arange(gone, gone + left, at::kLong);
  return rest;
}

TEST(GraphAttentionNumbers, DropWhatTheLargerGraphDrops) {
  constexpr int64_t kNodes = 60, kHeads = 4, kDepth = 3;
  const SparsePattern whole = test::sparse_matrix(kNodes, kNodes, 0.2, at::kDouble).pattern;
  const auto random = [](at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble).to(test::device()).requires_grad_();
  };
  const at::Tensor features = random({kNodes, kHeads * kDepth}), source = random({1, kHeads, kDepth}),
                   target = random({1, kHeads, kDepth});
  const at::Tensor weight = at::randn({kNodes - 1, kHeads * kDepth}, at::kDouble).to(test::device());
  const auto value_and_gradient = [&](const SparsePattern& pattern) {
    const GraphAttentionOptions options{.dropout = 0.5, .seed = 3, .epoch = 1, .layer = 2};
    const at::Tensor rows =
        graph_attention(on_device(pattern), features, source, target, {}, options).narrow(0, 1, kNodes - 1);
    return at::cat({rows.detach(), torch::autograd::grad({(rows * weight).sum()}, {features})[0]});
  };
  const at::Tensor of_whole = value_and_gradient(whole);
  EXPECT_TRUE(at::allclose(value_and_gradient(without_row_0(whole)), of_whole, 1e-12, 1e-12));
  SparsePattern other = without_row_0(whole);
  other.entry_numbers = at::Tensor();
  EXPECT_FALSE(at::allclose(value_and_gradient(other), of_whole, 1e-3, 1e-3));
}

}  // namespace
}  // namespace qw
