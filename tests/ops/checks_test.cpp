#include "ops/checks.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "support/sparse.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;

// The schemas of the passes have the pattern and the key of the dropout as lists.
TEST(Checks, ListsHaveTheirLength) {
  using Forward = std::tuple<at::Tensor, at::Tensor>(at::TensorList, const at::Tensor&, const at::Tensor&,
                                                     const at::Tensor&, const c10::optional<at::Tensor>&,
                                                     double, double, at::IntArrayRef);
  const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::_graph_attention_forward", "").typed<Forward>();
  const SparsePattern empty = SparsePattern::symmetric(at::zeros({4}, at::kLong), at::empty({0}, at::kInt));
  const auto call = [&](size_t tensors, const std::vector<int64_t>& key) {
    std::vector<at::Tensor> pattern = ops::tensors_of(empty);
    pattern.resize(tensors);
    const at::Tensor vectors = at::zeros({1, 2, 2});
    return refusal([&] {
      op.call(pattern, at::zeros({3, 4}), vectors, vectors, c10::nullopt, 0.2, 0.0, key);
    });
  };
  EXPECT_EQ(call(4, {1, 2, 3}),
            "qw: a pattern must be 5 tensors (offsets, columns, transposed_offsets, transposed_columns, "
            "order), got 4");
  EXPECT_EQ(call(5, {1, 2}), "qw::graph_attention: key must be seed, epoch and layer, got 2 numbers");
}

}  // namespace
}  // namespace qw
