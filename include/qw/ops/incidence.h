// The incidence matrix S of a graph, times a matrix, without ever building it.
//
// S[v, e] is +1 when v is the head of edge e, -1 when v is its tail, and 0 otherwise. S F is what a flow F on
// the edges brings to the nodes: F > 0 moves label mass from the tail to the head, as the arrow of a directed
// edge points.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// A graph as S sees it. All on one device, contiguous.
struct IncidenceTensors {
  at::Tensor heads;    // [E] int32
  at::Tensor tails;    // [E] int32
  at::Tensor offsets;  // [N + 1] int64: the arcs of node v are offsets[v] .. offsets[v+1]
  at::Tensor
      arcs;  // [2 E] int64: e where v is the head of edge e, -1 - e where it is the tail, by ascending edge
};

// S F: flow [E, C] -> [N, C], float32 or float64. Gradient for `flow`: S^T times the incoming one. Every sum
// has one owner and the order of `arcs`: the same bits for any number of threads. O(E C). Throws c10::Error
// on a shape, type or device that does not fit; indices are trusted.
at::Tensor incidence(const at::Tensor& flow, const IncidenceTensors& graph);

// S F into `result` [N, C], contiguous and of the type of `flow`, which is overwritten. No gradient passes
// through it. Otherwise as above.
void incidence_into(const at::Tensor& flow, const IncidenceTensors& graph, const at::Tensor& result);

// S^T Z, the differences along edges: potential [N, C] -> [E, C], potential[head] - potential[tail]. Gradient
// for `potential`: S times the incoming one. Otherwise as above.
at::Tensor incidence_transpose(const at::Tensor& potential, const IncidenceTensors& graph);

}  // namespace qw
