#include "transport/solvers/flow_forest.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace qw::transport {
namespace {

constexpr int64_t kTooFar = int64_t{1} << 58;  // for a potential
constexpr int64_t kSteps = 16;                 // per node and edge, before trees are too deep to be worth it

}  // namespace

FlowForest::FlowForest(Residual& net)
    : net_(net), offsets_(net.num_nodes() + 1), up_(net.num_nodes()), stamps_(net.num_nodes(), 0) {}

void FlowForest::list_flow_edges() {
  edges_.clear();
  std::fill(offsets_.begin(), offsets_.end(), 0);
  for (uint32_t e = 0; e < net_.num_edges(); ++e) {
    if (net_.flow(e) == 0) continue;
    edges_.push_back(e);
    ++offsets_[net_.source(e)];
    ++offsets_[net_.target(e)];
  }
  uint32_t sum = 0;
  for (uint32_t& offset : offsets_) offset = sum += offset;
  incident_.resize(sum);
  for (const uint32_t e : edges_) {
    incident_[--offsets_[net_.source(e)]] = e;
    incident_[--offsets_[net_.target(e)]] = e;
  }
}

// Breadth-first trees of edges with flow.
void FlowForest::grow() {
  list_flow_edges();
  order_.clear();
  leftover_.clear();
  stamp_ += 2;
  for (int32_t root = 0; root < net_.num_nodes(); ++root) {
    if (stamps_[root] == stamp_) continue;
    stamps_[root] = stamp_;
    up_[root] = kNone;
    for (size_t i = (order_.push_back(root), order_.size() - 1); i < order_.size(); ++i) {
      const int32_t node = order_[i];
      for (uint32_t k = offsets_[node]; k < offsets_[node + 1]; ++k) {
        const uint32_t edge = incident_[k];
        const int32_t other = other_end(edge, node);
        if (stamps_[other] != stamp_) {
          stamps_[other] = stamp_;
          up_[other] = edge;
          order_.push_back(other);
        } else if (edge != up_[node] && edge != up_[other] && node < other) {
          leftover_.push_back(edge);
        }
      }
    }
  }
}

bool FlowForest::cancel_cycles(Watch& watch) {
  num_trees_ = 0;
  grow();
  int64_t budget = kSteps * (net_.num_nodes() + net_.num_edges());
  for (const uint32_t edge : leftover_) {
    if (find_cycle(edge)) break_cycle(edge);
    if (net_.flow(edge) != 0) hang(net_.source(edge), edge);
    budget -= steps_;
    if (budget < 0 || watch.passed(steps_)) return false;
  }
  return true;
}

// The cycle starts with the edge, from its source to its target. False: the edge joins two trees. Climbs from
// both ends in turn, so that it looks no further than twice the cycle's length.
bool FlowForest::find_cycle(uint32_t edge) {
  const int32_t ends[2] = {net_.source(edge), net_.target(edge)};
  int32_t nodes[2] = {ends[0], ends[1]};
  stamp_ += 2;  // one for each side
  stamps_[nodes[0]] = stamp_ - 1;
  stamps_[nodes[1]] = stamp_;
  steps_ = 0;
  int32_t meeting = kNoNode;
  for (int side = 0; meeting == kNoNode; side = 1 - side) {
    ++steps_;
    int32_t& node = nodes[up_[nodes[side]] == kNone ? (side = 1 - side) : side];
    if (up_[node] == kNone) return false;
    node = other_end(up_[node], node);
    if (stamps_[node] == stamp_ - side) meeting = node;
    stamps_[node] = stamp_ - 1 + side;
  }
  cycle_.assign(1, {edge, kNoNode, true});
  for (int32_t node = ends[1]; node != meeting; node = other_end(up_[node], node)) {
    cycle_.push_back({up_[node], node, net_.source(up_[node]) == node});
  }
  for (int32_t node = ends[0]; node != meeting; node = other_end(up_[node], node)) {
    cycle_.push_back({up_[node], node, net_.target(up_[node]) == node});
  }
  return true;
}

void FlowForest::break_cycle(uint32_t edge) {
  const auto along = [&](const Step& step) { return (net_.flow(step.edge) > 0) == step.forth; };
  __int128 cost = 0;  // of one more unit around the cycle
  bool can_go_back = false;
  for (const Step& step : cycle_) {
    cost += along(step) ? net_.cost(step.edge) : -net_.cost(step.edge);
    can_go_back = can_go_back || along(step);
  }
  const bool forwards = cost < 0 || !can_go_back;
  int64_t amount = std::numeric_limits<int64_t>::max();
  for (const Step& step : cycle_) {
    const int64_t flow = net_.flow(step.edge);
    if (along(step) != forwards) amount = std::min(amount, flow < 0 ? -flow : flow);
  }
  for (const Step& step : cycle_) {
    net_.add_flow(step.edge, step.forth == forwards ? amount : -amount);
    if (step.edge != edge && net_.flow(step.edge) == 0) up_[step.child] = kNone;
  }
}

// Makes the tree of `node` hang on the edge.
void FlowForest::hang(int32_t node, uint32_t edge) {
  while (edge != kNone) {
    const uint32_t next = std::exchange(up_[node], edge);
    if (next == kNone) return;
    node = other_end(next, node);
    edge = next;
  }
}

bool FlowForest::tighten() {
  grow();
  num_trees_ = 0;
  std::vector<int64_t>& potential = net_.potential;
  std::vector<int64_t> tight(potential.size());
  for (size_t first = 0; first < order_.size();) {
    size_t last = first + 1;
    tight[order_[first]] = 0;
    __int128 shift = potential[order_[first]];
    for (; last < order_.size() && up_[order_[last]] != kNone; ++last) {
      const int32_t node = order_[last];
      const uint32_t edge = up_[node];
      const bool pays_out = (net_.flow(edge) > 0) == (net_.source(edge) == node);
      tight[node] = tight[other_end(edge, node)] + (pays_out ? net_.cost(edge) : -net_.cost(edge));
      if (tight[node] > kTooFar || tight[node] < -kTooFar) {
        num_trees_ = 0;
        return false;
      }
      shift += potential[node] - tight[node];
    }
    ++num_trees_;
    const auto mean = static_cast<int64_t>(shift / static_cast<int64_t>(last - first));
    for (; first < last; ++first) tight[order_[first]] += mean;
  }
  potential = std::move(tight);
  return true;
}

}  // namespace qw::transport
