// What sparse.h and graph_tensors.h make, on the device under test. Included last, as on_device.h is.
#pragma once

#include "support/sparse.h"

#include "support/on_device.h"

namespace qw::test::on_device {

template <class Value>
::at::Tensor tensor_of(const std::vector<Value>& values, ::at::ScalarType type) {
  return test::tensor_of(values, type).to(device());
}

inline Sparse sparse_matrix(int64_t rows, int64_t columns, double density, ::at::ScalarType type) {
  const Sparse made = test::sparse_matrix(rows, columns, density, type);
  const SparsePattern& pattern = made.pattern;
  return {
      {pattern.offsets.to(device()), pattern.columns.to(device()), pattern.transposed_offsets.to(device()),
       pattern.transposed_columns.to(device()), pattern.order.to(device())},
      made.values.to(device()),
      made.dense.to(device())};
}

inline IncidenceTensors incidence_tensors(const Graph& graph) {
  const IncidenceTensors made = test::incidence_tensors(graph);
  return {made.heads.to(device()), made.tails.to(device()), made.offsets.to(device()),
          made.arcs.to(device())};
}

}  // namespace qw::test::on_device
