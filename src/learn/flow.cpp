#include "qw/learn/flow.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "nn/tensors.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"

namespace qw {
namespace {

constexpr uint64_t kFlowStream = 0x666c6f77;  // random numbers apart from those of the network's parameters
constexpr int64_t kEdgesPerThread = 1024;
constexpr int64_t kMostForQuantiles = int64_t{1} << 26;

std::vector<EdgeId> carrying_edges(const Graph& graph, std::span<const NodeId> labelled, bool all) {
  std::vector<char> has_label(graph.num_nodes(), all ? 1 : 0);
  for (const NodeId node : labelled) has_label[node] = 1;
  std::vector<EdgeId> carriers;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    if (has_label[graph.heads()[e]] || has_label[graph.tails()[e]]) carriers.push_back(e);
  }
  return carriers;
}

template <class Range>
auto picked(const Range& values, const std::vector<EdgeId>& carriers) {
  std::vector<std::remove_cvref_t<decltype(values[0])>> result;
  result.reserve(values.empty() ? 0 : carriers.size());
  if (!values.empty()) {
    for (const EdgeId e : carriers) result.push_back(values[e]);
  }
  return result;
}

// Keyed by the edge of the graph, so that a flow on fewer edges starts from the same numbers there. Drawn in
// double, then rounded.
at::Tensor noise(const std::vector<EdgeId>& carriers, int64_t columns, uint64_t seed, at::ScalarType type) {
  const RandomStream stream(seed, kFlowStream);
  const double bound = std::sqrt(6.0 / static_cast<double>(std::max<int64_t>(1, columns)));
  const auto count = static_cast<int64_t>(carriers.size());
  at::Tensor values = at::empty({count, columns}, type);
  AT_DISPATCH_FLOATING_TYPES(type, "noise", [&] {
    auto* out = values.data_ptr<scalar_t>();
    parallel_for(count, kEdgesPerThread, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t c = 0; c < columns; ++c) {
          const double drawn = stream.uniform(static_cast<uint64_t>(carriers[i] * columns + c));
          out[i * columns + c] = static_cast<scalar_t>(bound * (2.0 * drawn - 1.0));
        }
      }
    });
  });
  return values;
}

// As flow_step_ returns them, of a flow that took no step yet.
at::Tensor first_measures(const at::Tensor& values, const FlowTopology& topology) {
  const at::Tensor flow = values.narrow(0, 0, topology.counted);
  const at::Tensor sizes = flow.abs().sum(1, false, at::kDouble).cpu();
  const at::Tensor costs = topology.edges.costs.to(at::kDouble).cpu();
  const auto* size = sizes.data_ptr<double>();
  at::Tensor measures = at::zeros({3}, at::kDouble);
  auto* out = measures.data_ptr<double>();
  for (int64_t e = 0; e < sizes.size(0); ++e) {
    out[0] += size[e] * (costs.numel() == 0 ? 1.0 : costs.data_ptr<double>()[e]);
  }
  out[1] = static_cast<double>(at::count_nonzero(flow).item<int64_t>());
  return measures;
}

template <typename T>
double quantile(const std::vector<T>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  return sorted.empty() ? 0.0 : sorted[static_cast<size_t>(std::floor(place))];
}

template <typename T>
FlowHistogram histogram_of(std::span<const T> values, const std::vector<T>& sorted_sizes) {
  FlowHistogram histogram{quantile(sorted_sizes, 0.999), std::vector<int64_t>(FlowHistogram::kBins, 0)};
  if (histogram.limit == 0) histogram.limit = quantile(sorted_sizes, 1);
  const double bins = FlowHistogram::kBins;
  for (const double value : values) {
    const double share = histogram.limit == 0 ? 0.0 : value / histogram.limit;
    const double bin = std::floor((std::clamp(share, -1.0, 1.0) + 1.0) * 0.5 * bins);
    ++histogram.counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  return histogram;
}

// Sorted in the precision of the flow: a large one has few copies of itself to spare.
template <typename T>
void describe(std::span<const T> values, FlowSummary& summary) {
  std::vector<T> sizes(values.size());
  std::transform(values.begin(), values.end(), sizes.begin(), [](T value) { return std::abs(value); });
  std::sort(sizes.begin(), sizes.end());
  for (const double share : {0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
    summary.quantiles.push_back(quantile(sizes, share));
  }
  summary.histogram = histogram_of(values, sizes);
}

}  // namespace

IncidenceTensors incidence_of(const Graph& graph, const std::vector<EdgeId>& edges, at::Device device) {
  const std::vector<NodeId> heads = picked(graph.heads(), edges), tails = picked(graph.tails(), edges);
  const int64_t nodes = graph.num_nodes();
  std::vector<int64_t> offsets(nodes + 1, 0);
  for (const NodeId head : heads) ++offsets[head + 1];
  for (const NodeId tail : tails) ++offsets[tail + 1];
  for (int64_t node = 0; node < nodes; ++node) offsets[node + 1] += offsets[node];
  std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<int64_t> arcs(2 * heads.size());
  for (size_t e = 0; e < heads.size(); ++e) {
    arcs[next[heads[e]]++] = static_cast<int64_t>(e);
    arcs[next[tails[e]]++] = -1 - static_cast<int64_t>(e);
  }
  return {tensor_of(heads, device), tensor_of(tails, device), tensor_of(offsets, device),
          tensor_of(arcs, device)};
}

FlowTopology flow_topology(const Graph& graph, std::span<const NodeId> labelled, bool all_edges,
                           const at::TensorOptions& tensors) {
  FlowTopology topology{
      graph.num_edges(), graph.directed(), carrying_edges(graph, labelled, all_edges), {}, {}, 0, 0};
  topology.incidence = incidence_of(graph, topology.carriers, tensors.device());
  topology.edges = {topology.incidence.heads, topology.incidence.tails,
                    tensor_of(picked(graph.costs(), topology.carriers)).to(tensors)};
  topology.nodes = graph.num_nodes();
  topology.counted = static_cast<int64_t>(topology.carriers.size());
  return topology;
}

Flow::Flow(const Graph& graph, std::span<const NodeId> labelled, int64_t columns, const FlowOptions& options,
           const at::TensorOptions& tensors)
    : Flow(flow_topology(graph, labelled, options.all_edges, tensors), columns, options, tensors) {}

Flow::Flow(FlowTopology topology, int64_t columns, const FlowOptions& options,
           const at::TensorOptions& tensors)
    : options_(options), topology_(std::move(topology)) {
  const auto count = static_cast<int64_t>(carriers().size());
  const auto type = c10::typeMetaToScalarType(tensors.dtype());
  values_ = options.kaiming ? noise(carriers(), columns, options.seed, type).to(tensors)
                            : at::zeros({count, columns}, tensors);
  if (topology_.directed) values_.clamp_(0.0);
  first_moment_ = at::zeros({count, columns}, tensors);
  second_moment_ = at::zeros({count, columns}, tensors);
  options_.step.directed = topology_.directed;
  options_.step.step = 0;
  measured_ = (options.kaiming ? first_measures(values_, topology_) : at::zeros({3}, at::kDouble))
                  .to(tensors.device());
  all_transported_ = at::empty({topology_.incidence.offsets.size(0) - 1, columns}, tensors);
  transported_ = all_transported_.narrow(0, 0, topology_.nodes);
}

const at::Tensor& Flow::transported() {
  if (stale_) incidence_into(values_.detach(), topology_.incidence, all_transported_);
  stale_ = false;
  return transported_;
}

double Flow::cost() const { return measured_[0].item<double>(); }

at::Tensor Flow::cost_tensor() const { return measured_[0]; }

double Flow::violation() const { return measured_[2].item<double>(); }

void Flow::step(const at::Tensor& residual) {
  const at::Tensor extra = values_.grad().defined() ? values_.grad().contiguous()
                                                    : at::empty({0}, values_.options().requires_grad(false));
  ++options_.step.step;
  const int64_t all = values_.size(0);
  step_some(0, topology_.counted, residual, extra, measured_);
  if (topology_.counted < all) step_some(topology_.counted, all, residual, extra, at::empty_like(measured_));
  stale_ = true;
  drop_gradient();
}

void Flow::step_some(int64_t begin, int64_t end, const at::Tensor& residual, const at::Tensor& extra,
                     const at::Tensor& measures) {
  const auto some = [&](const at::Tensor& rows) {
    return rows.size(0) == 0 ? rows : rows.narrow(0, begin, end - begin);
  };
  const FlowEdges& edges = topology_.edges;
  flow_step_(some(values_.detach()), some(first_moment_), some(second_moment_), residual, some(extra),
             {some(edges.heads), some(edges.tails), some(edges.costs)}, options_.step, measures);
}

void Flow::set(const at::Tensor& values, double gap) {
  values_.detach().copy_(values);
  measured_.copy_(first_measures(values_, topology_));
  measured_[2] = gap;
  stale_ = true;
}

FlowSummary Flow::summary() const { return summary_of_flow(values_.detach(), cost(), violation()); }

FlowSummary summary_of_flow(const at::Tensor& flow, double l1, double violation) {
  FlowSummary summary;
  summary.l1 = l1;
  summary.violation = violation;
  summary.entries = flow.numel();
  const at::Tensor flat = flow.flatten();
  summary.nonzeros = at::count_nonzero(flat).item<int64_t>();
  const int64_t stride = flat.numel() / kMostForQuantiles + 1;
  const at::Tensor sample = flat.slice(0, 0, flat.numel(), stride).contiguous().cpu();
  AT_DISPATCH_FLOATING_TYPES(sample.scalar_type(), "summary_of_flow", [&] {
    describe(std::span<const scalar_t>(sample.data_ptr<scalar_t>(), sample.numel()), summary);
  });
  return summary;
}

std::vector<Buffer> Flow::state() const { return {{"flow", values_.detach()}, {"flow.measured", measured_}}; }

std::vector<Buffer> Flow::moments() const {
  return {{"flow.first", first_moment_}, {"flow.second", second_moment_}};
}

void Flow::drop_moments() { first_moment_ = second_moment_ = at::empty({0}, values_.options()); }

void Flow::forget_carriers() { topology_.carriers = {}; }

void Flow::changed(int64_t steps) {
  options_.step.step = steps;
  stale_ = true;
}

}  // namespace qw
