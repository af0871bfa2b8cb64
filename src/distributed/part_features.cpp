#include "distributed/part_features.h"

#include <ATen/Functions.h>

#include <functional>

#include "distributed/part_graph.h"
#include "nn/tensors.h"

namespace qw {
namespace {

// The sums as one tensor [1 + 4 columns], and back.
at::Tensor packed(const ColumnSums& sums) {
  const at::Tensor parts[] = {tensor_of(std::vector<double>{static_cast<double>(sums.rows)}),
                              tensor_of(sums.sums), tensor_of(sums.squares), tensor_of(sums.zeros),
                              tensor_of(sums.speaking)};
  return at::cat(at::TensorList(parts));
}

ColumnSums unpacked(const at::Tensor& numbers) {
  const auto* from = numbers.data_ptr<double>();
  const int64_t columns = (numbers.numel() - 1) / 4;
  const auto take = [&](int64_t which) {
    return std::vector<double>(from + 1 + which * columns, from + 1 + (which + 1) * columns);
  };
  return {static_cast<int64_t>(from[0]), take(0), take(1), take(2), take(3)};
}

// Each part in turn goes on where the one before it stopped: the bits of one pass over all rows in their
// order.
void in_turn(Comm& parts, ColumnSums& sums, const std::function<void(ColumnSums&)>& work) {
  for (int part = 0; part < parts.size(); ++part) {
    if (parts.rank() == part) work(sums);
    const at::Tensor numbers = packed(sums);
    parts.broadcast(numbers, part);
    sums = unpacked(numbers);
  }
}

}  // namespace

FeatureScaling scaling_of_parts(Comm& parts, const std::string& kind, const Dataset& about,
                                const Features& own) {
  ColumnSums sums;
  if (FeatureScaling::needs_sums(kind, about)) {
    const std::vector<double> zeros(own.columns, 0.0);
    sums = {0, zeros, zeros, zeros, std::vector<double>(own.columns, 1.0)};
    in_turn(parts, sums, [&](ColumnSums& each) { each.add(own); });
    in_turn(parts, sums, [&](ColumnSums& each) { each.add_squares(own); });
  }
  return {kind, about, own.sparse, sums};
}

NodeMatrix part_features(Comm& parts, const Part& part, const Features& scaled,
                         const at::TensorOptions& options) {
  if (!scaled.sparse) return {scaled, options};
  return {scaled, options, first_of_rows(parts, part, tensor_of(scaled.offsets).diff())};
}

}  // namespace qw
