// The flow F of the QW loss: what it costs, what it brings to the nodes, and how it takes a step.
#pragma once

#include <span>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/nn/parameters.h"
#include "qw/ops/flow_step.h"
#include "qw/ops/incidence.h"

namespace QW_PUBLIC qw {

// How a flow begins and where it may be.
struct FlowOptions {
  FlowStepOptions step;  // its rule, rates and direction; the count is the flow's own
  bool kaiming = false;  // start from noise as published, uniform in +-sqrt(6 / C); else from zero
  bool all_edges =
      true;           // else only edges that touch a labelled node: equivalent at the optimum, and smaller
  uint64_t seed = 0;  // of the noise
};

// How often the values of a flow are where: equal bins over [-limit, limit], values beyond in the outermost.
struct FlowHistogram {
  static constexpr int64_t kBins = 121;  // an odd number: exact zeros have the one in the middle

  double limit = 0;             // the 99.9 % quantile of |F|, or its largest value where that is 0
  std::vector<int64_t> counts;  // empty where it was not taken
};

// Distribution of F over the edges that may carry flow and the columns.
struct FlowSummary {
  double l1 = 0;         // sum of cost * |F|
  int64_t nonzeros = 0;  // of entries
  int64_t entries = 0;   // edges that may carry flow, times columns
  double violation = 0;  // of optimality, before the step that made this flow; 0 before any
  // Of |F| at 0, 1/4, 1/2, 3/4, 0.9, 0.99, 1; of more than 2^26 entries every k-th is looked at, here and in
  // the histogram.
  std::vector<double> quantiles;
  FlowHistogram histogram;  // of F, with its signs
};

// Of values [entries, C] with this cost and violation.
FlowSummary summary_of_flow(const at::Tensor& values, double l1, double violation);

// S on some edges only, ascending: what a flow on these brings.
IncidenceTensors incidence_of(const Graph& graph, const std::vector<EdgeId>& edges, at::Device device);

// The edges that may carry a flow, and the nodes that it reaches.
struct FlowTopology {
  int64_t num_edges = 0;         // of the graph, carriers or not
  bool directed = false;         // then no flow is negative
  std::vector<EdgeId> carriers;  // their numbers in the graph
  FlowEdges edges;               // as rows of a residual
  IncidenceTensors incidence;    // S: what they bring to the nodes
  int64_t nodes = 0;             // whose rows of S F are whole; a part of a graph has its halo behind them
  // Carriers before this one count in the cost. A part of a graph has the edges of its own first, and behind
  // them those that another part counts.
  int64_t counted = 0;
};
// Of a whole graph: all edges, or those that touch a labelled node.
FlowTopology flow_topology(const Graph& graph, std::span<const NodeId> labelled, bool all_edges,
                           const at::TensorOptions& tensors);

// Label mass on edges, with the moments that Adam keeps of it.
class Flow {
 public:
  // `labelled` decides who carries flow unless options.all_edges; `columns` is the width of the targets.
  Flow(const Graph& graph, std::span<const NodeId> labelled, int64_t columns, const FlowOptions& options,
       const at::TensorOptions& tensors);
  Flow(FlowTopology topology, int64_t columns, const FlowOptions& options, const at::TensorOptions& tensors);

  const at::Tensor& values() const { return values_; }                        // [carriers, C]
  const std::vector<EdgeId>& carriers() const { return topology_.carriers; }  // edges that may carry flow
  const FlowTopology& topology() const { return topology_; }                  // where it is
  int64_t num_edges() const { return topology_.num_edges; }                   // of the graph, carriers or not

  // What transport carries to each node: S F [N, C]; computed once after every change, always in the same
  // place.
  const at::Tensor& transported();
  double cost() const;             // the sum of cost * |F| now
  at::Tensor cost_tensor() const;  // the same, [] float64 where the flow is; changes with it

  // One step with residual [N, C] (of a part with the rows of its halo) and, when the flow is also read by
  // the edge predictor, the gradient that backward() left in values(), which is then dropped.
  void step(const at::Tensor& residual);
  // For the edge predictor: backward() leaves a gradient in values(), and drop_gradient() removes it.
  void require_gradient() { values_.requires_grad_(); }
  void drop_gradient() { values_.mutable_grad() = at::Tensor(); }

  // Instead of steps: these values [carriers, C], whose cost is within `gap` of the least.
  void set(const at::Tensor& values, double gap);

  double violation() const;  // of optimality, as in the summary, without the cost of one
  // Measures the flow as it is now.
  FlowSummary summary() const;

  std::vector<Buffer> state() const;    // the flow and what was measured of it
  std::vector<Buffer> moments() const;  // what else its next steps need
  // How many steps Adam has counted.
  int64_t steps() const { return options_.step.step; }
  void set_steps(int64_t steps) { options_.step.step = steps; }
  void changed(int64_t steps);  // after its state was overwritten by that of so many steps
  void drop_moments();          // takes no step any more
  void forget_carriers();       // where nobody asks which edges these are: eight bytes for each

 private:
  // Of the carriers begin .. end; measures [3] as flow_step_ has them.
  void step_some(int64_t begin, int64_t end, const at::Tensor& residual, const at::Tensor& extra,
                 const at::Tensor& measures);

  FlowOptions options_;
  FlowTopology topology_;
  at::Tensor values_, first_moment_, second_moment_;
  at::Tensor all_transported_, transported_;  // S F, unless F changed since, and its rows that are whole
  bool stale_ = true;
  at::Tensor measured_;  // [3]: what flow_step_ returned
};

}  // namespace qw
