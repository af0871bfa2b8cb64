// The exact partial Wasserstein-1 distance on a graph as a loss: what qw/transport/wasserstein.h computes,
// with its gradient, for any model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <tuple>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Where mass may move and what that costs. All on the device of the values; ids contiguous.
struct TransportTensors {
  at::Tensor labelled;    // [n] int32, no node twice, in any order: the rows of values and targets
  at::Tensor heads;       // [E] int32
  at::Tensor tails;       // [E] int32
  at::Tensor costs;       // [E] float32 or float64, finite and not negative, or [0]: every edge costs 1
  int64_t num_nodes = 0;  // labelled or not
  bool directed = false;  // mass moves from tail to head only
  // Above 0: what one unit costs that a labelled node gives away or takes up without moving it, which the
  // nodes of a wholly labelled part may do, and in a directed graph all. Infinite: they may not, and values
  // that cannot be carried to the targets are refused.
  double slack = std::numeric_limits<double>::infinity();
};

// values and targets [n, C], both float32 or both float64 -> distance [C] and potential [n, C] of the same
// type. Column by column,
//
//   distance = min_f  sum_e w_e |f_e|   s.t.  (S f)[v] = targets[v] - values[v]  for every labelled v,
//
// S as in qw/ops/incidence.h, f >= 0 on a directed graph. Unlabelled nodes give and take freely. Self-loops
// carry nothing, and of edges between the same nodes the cheapest counts.
//
// Gradient: -potential for `values` and +potential for `targets`, times the incoming one of `distance`
// (Danskin); a subgradient where the optimal potential is not unique. Where a part of the graph has only
// labelled nodes and no slack, its potential is known but for a constant, which a change that keeps the
// balance does not see. The gradient may be differentiated again: the potential is piecewise constant.
// `potential` itself has no gradient, and costs that require one are refused.
//
// Solved in float64 on the CPU, columns in parallel, the same bits for any number of threads; what is on a
// GPU is fetched, which waits for it, so that this cannot be part of a captured step. The graph is built anew
// in every call, O(N + E), and nothing is remembered: who solves many times on one graph should keep a
// TransportPlan and its Memory, as the solver "exact" does, and give the potential to backward().
//
// Throws c10::Error on shapes, types or devices that do not fit, ids outside the graph, values that are not
// finite, and on a column that has no flow; the text names the part of the graph that cannot deliver.
std::tuple<at::Tensor, at::Tensor> wasserstein1_partial(const at::Tensor& values, const at::Tensor& targets,
                                                        const TransportTensors& problem);

}  // namespace qw
