// A graph as the operators take it.
#pragma once

#include <ATen/ATen.h>

#include "qw/graph/graph.h"
#include "qw/ops/incidence.h"

namespace qw::test {

template <class Value>
at::Tensor tensor_of(const std::vector<Value>& values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), static_cast<Value*>(tensor.data_ptr()));
  return tensor;
}

inline IncidenceTensors incidence_tensors(const Graph& graph) {
  std::vector<std::vector<int64_t>> arcs_of(graph.num_nodes());
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    arcs_of[graph.heads()[e]].push_back(e);
    arcs_of[graph.tails()[e]].push_back(-1 - e);
  }
  std::vector<int64_t> offsets{0}, arcs;
  for (const auto& of_node : arcs_of) {
    arcs.insert(arcs.end(), of_node.begin(), of_node.end());
    offsets.push_back(static_cast<int64_t>(arcs.size()));
  }
  return {tensor_of(std::vector<int32_t>(graph.heads().begin(), graph.heads().end()), at::kInt),
          tensor_of(std::vector<int32_t>(graph.tails().begin(), graph.tails().end()), at::kInt),
          tensor_of(offsets, at::kLong), tensor_of(arcs, at::kLong)};
}

}  // namespace qw::test
