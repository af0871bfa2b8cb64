#include "distributed/part_training.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <numeric>

#include "distributed/part_graph.h"
#include "nn/tensors.h"

namespace qw {
namespace {

// Where one part has so many rows and all others none.
std::vector<int64_t> only(int part, int parts, int64_t rows) {
  std::vector<int64_t> counts(parts, 0);
  counts[part] = rows;
  return counts;
}

// The rows of a part's own nodes that are among `nodes`, which go by the numbers of the data.
std::vector<NodeId> own_rows(const Part& part, const std::vector<NodeId>& nodes, int64_t all_nodes) {
  std::vector<char> among(all_nodes, 0);
  for (const NodeId node : nodes) among[node] = 1;
  std::vector<NodeId> rows;
  for (int64_t row = 0; row < part.own(); ++row) {
    if (among[part.original[row]]) rows.push_back(static_cast<NodeId>(row));
  }
  return rows;
}

// S of edges whose ends are rows; arcs stand in the order of the edges' numbers.
IncidenceTensors incidence_of(const std::vector<NodeId>& heads, const std::vector<NodeId>& tails,
                              const std::vector<EdgeId>& numbers, int64_t rows, at::Device device) {
  std::vector<int64_t> offsets(rows + 1, 0), by_number(numbers.size());
  for (const NodeId head : heads) ++offsets[head + 1];
  for (const NodeId tail : tails) ++offsets[tail + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::iota(by_number.begin(), by_number.end(), int64_t{0});
  std::sort(by_number.begin(), by_number.end(),
            [&](int64_t a, int64_t b) { return numbers[a] < numbers[b]; });
  std::vector<int64_t> next(offsets.begin(), offsets.end() - 1), arcs(2 * heads.size());
  for (const int64_t edge : by_number) {
    arcs[next[heads[edge]]++] = edge;
    arcs[next[tails[edge]]++] = -1 - edge;
  }
  return {tensor_of(heads, device), tensor_of(tails, device), tensor_of(offsets, device),
          tensor_of(arcs, device)};
}

}  // namespace

PartTraining::PartTraining(Comm& parts, const PartitionManifest& manifest, const Part& part,
                           const RunLabels& labels)
    : parts_(parts), manifest_(manifest), part_(part), labels_(labels) {
  order_ = at_first(tensor_of(part.original).to(at::kLong));
}

std::vector<int64_t> PartTraining::counts_of(int64_t mine) const {
  const at::Tensor all =
      parts_.gather(at::full({1}, mine, at::kLong), std::vector<int64_t>(parts_.size(), 1)).contiguous();
  return {all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + all.numel()};
}

at::Tensor PartTraining::at_first(const at::Tensor& rows) const {
  const std::vector<int64_t> counts = counts_of(rows.size(0));
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = is_first() ? std::accumulate(counts.begin(), counts.end(), int64_t{0}) : 0;
  const at::Tensor mine = rows.detach().cpu().contiguous();
  at::Tensor all = at::empty(shape, mine.options());
  parts_.exchange(all, is_first() ? counts : std::vector<int64_t>(parts_.size(), 0), mine,
                  only(0, parts_.size(), rows.size(0)));
  return all;
}

at::Tensor PartTraining::own_of(const at::Tensor& rows, int64_t count) const {
  const std::vector<int64_t> counts = counts_of(count);
  const int64_t begin = std::accumulate(counts.begin(), counts.begin() + parts_.rank(), int64_t{0});
  return rows.narrow(0, std::min(begin, rows.size(0)),
                     std::min(count, rows.size(0) - std::min(begin, rows.size(0))));
}

std::string PartTraining::broadcast(const std::string& text) const {
  const at::Tensor size = at::full({1}, static_cast<int64_t>(text.size()), at::kLong);
  broadcast(size);
  const at::Tensor bytes = at::empty({size.item<int64_t>()}, at::kByte);
  auto* characters = reinterpret_cast<char*>(bytes.data_ptr<uint8_t>());
  if (is_first()) std::copy(text.begin(), text.end(), characters);
  broadcast(bytes);
  return {characters, static_cast<size_t>(bytes.numel())};
}

ModelShape PartTraining::shape(int64_t inputs, int64_t outputs) const {
  int64_t entries = part_.own();
  for (size_t e = 0; e < part_.heads.size(); ++e) {
    const bool loop = part_.heads[e] == part_.tails[e];
    if (!loop && part_.heads[e] < part_.own()) ++entries;
    if (!loop && !part_.directed && part_.tails[e] < part_.own()) ++entries;
  }
  return {manifest_.nodes, sum(at::scalar_tensor(entries, at::kLong)).item<int64_t>(), inputs, outputs};
}

std::vector<char> PartTraining::trains() const {
  std::vector<char> in_data(manifest_.nodes, 0), by_row;
  for (const NodeId node : labels_.split.train) in_data[node] = 1;
  for (const NodeId node : part_.original) by_row.push_back(in_data[node]);
  for (const NodeId node : part_.halo_original) by_row.push_back(in_data[node]);
  return by_row;
}

FlowTopology PartTraining::flow_topology(bool all_edges, const at::TensorOptions& tensors) const {
  const std::vector<char> trains = this->trains();
  FlowTopology topology;
  topology.num_edges = manifest_.edges;
  topology.directed = part_.directed;
  topology.nodes = part_.own();
  std::vector<NodeId> heads, tails;
  std::vector<double> costs;
  for (const EdgeId e : own_edges_first(part_)) {
    const NodeId head = part_.heads[e], tail = part_.tails[e];
    if (!all_edges && !trains[head] && !trains[tail]) continue;
    topology.carriers.push_back(part_.edges[e]);
    heads.push_back(head);
    tails.push_back(tail);
    if (!part_.costs.empty()) costs.push_back(part_.costs[e]);
    if (part_.owns_edge(e)) ++topology.counted;
  }
  topology.incidence = incidence_of(heads, tails, topology.carriers, std::ssize(trains), tensors.device());
  topology.edges = {topology.incidence.heads, topology.incidence.tails, tensor_of(costs).to(tensors)};
  return topology;
}

// Two parts have the edges between them in the same order, by their numbers; and a + b is b + a.
at::Tensor PartTraining::over_edges(const at::Tensor& rows) const {
  const std::vector<EdgeId> order = own_edges_first(part_);
  std::vector<std::vector<std::pair<EdgeId, int64_t>>> shared(parts_.size());  // number and place, by part
  for (size_t place = 0; place < order.size(); ++place) {
    const EdgeId e = order[place];
    const NodeId far = std::max(part_.heads[e], part_.tails[e]);  // the halo stands behind own nodes
    if (far < part_.own()) continue;
    shared[manifest_.part_of(part_.new_number(far))].emplace_back(part_.edges[e], place);
  }
  std::vector<int64_t> places, counts;
  for (auto& each : shared) {
    std::sort(each.begin(), each.end());
    for (const auto& [number, place] : each) places.push_back(place);
    counts.push_back(std::ssize(each));
  }
  const at::Tensor at = tensor_of(places, rows.device()), mine = rows.index_select(0, at);
  const at::Tensor theirs = at::empty_like(mine);
  parts_.exchange(theirs, counts, mine, counts);
  return rows.index_copy(0, at, mine + theirs);
}

at::Tensor PartTraining::placed(const at::Tensor& rows) const {
  const at::Tensor all = at_first(rows);
  return is_first() ? at::empty_like(all).index_copy_(0, order_, all) : all;
}

Scores PartTraining::in_order(const Scores& own) const {
  const bool has_transport = own.transport.numel() != 0 || own.transport.dim() == 2;
  return {placed(own.network), has_transport ? placed(own.transport) : own.transport.cpu(),
          own.in_label_space};
}

Targets PartTraining::own_targets() const {
  const Targets& all = labels_.targets;
  Targets own{all.task, all.width, {}, {}, all.names};
  for (const NodeId node : part_.original) {
    if (!all.classes.empty()) own.classes.push_back(all.classes[node]);
    const auto row = all.values.begin() + (all.values.empty() ? 0 : node * all.width);
    own.values.insert(own.values.end(), row, row + (all.values.empty() ? 0 : all.width));
  }
  return own;
}

Split PartTraining::own_split() const {
  const Split& all = labels_.split;
  return {own_rows(part_, all.train, manifest_.nodes), own_rows(part_, all.val, manifest_.nodes),
          own_rows(part_, all.test, manifest_.nodes)};
}

}  // namespace qw
