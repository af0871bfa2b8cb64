// Lowers potentials until none is more than a length above its neighbour: shortest paths from every node at
// once.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "transport/solvers/residual.h"
#include "transport/solvers/watch.h"

namespace qw::transport {

// First in, first out; every node waits at most once.
class NodeQueue {
 public:
  explicit NodeQueue(int32_t nodes)
      : ring_(std::bit_ceil(static_cast<uint32_t>(nodes) + 1)), waiting_(nodes, 0) {}
  bool empty() const { return head_ == tail_; }
  int32_t front() const { return ring_[head_]; }
  void push(int32_t node) {
    if (waiting_[node]) return;
    waiting_[node] = 1;
    ring_[tail_] = node;
    tail_ = (tail_ + 1) & (ring_.size() - 1);
  }
  void pop() {
    waiting_[ring_[head_]] = 0;
    head_ = (head_ + 1) & (ring_.size() - 1);
  }
  void clear() {
    while (!empty()) pop();
  }

 private:
  std::vector<int32_t> ring_;
  std::vector<char> waiting_;
  size_t head_ = 0;
  size_t tail_ = 0;
};

// Calls lowered(other) for every end of an arc of `node` that it presses down. length(at) is the most that
// the arc's end may be above the node.
template <class Length, class Lowered>
void press(Residual& net, int32_t node, Length length, Lowered lowered) {
  const int64_t value = net.potential[node];
  for (uint32_t at = net.begin(node); at < net.end(node); ++at) {
    const int64_t bound = value + length(at);
    int64_t& other = net.potential[net.arc(at).end];
    if (bound >= other) continue;
    other = bound;
    lowered(net.arc(at).end);
  }
}

// Quick when potentials are nearly right already. Gives up, with potentials anywhere in between, after
// looking at `budget` arcs; it must when there are negative cycles.
template <class Length>
bool lower_from_all(Residual& net, NodeQueue& queue, int64_t budget, Watch& watch, Length length) {
  const auto push = [&](int32_t node) { queue.push(node); };
  queue.clear();
  for (int32_t v = 0; v < net.num_nodes(); ++v) press(net, v, length, push);
  while (!queue.empty()) {
    const int32_t node = queue.front();
    queue.pop();
    press(net, node, length, push);
    const int64_t looked_at = 1 + net.end(node) - net.begin(node);
    budget -= looked_at;
    if (budget < 0 || watch.passed(looked_at)) return false;
  }
  return true;
}

// Never slow (Dijkstra), for lengths >= 0. False: the deadline came first.
template <class Length>
bool lower_in_order(Residual& net, Watch& watch, Length length) {
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  for (int32_t v = 0; v < net.num_nodes(); ++v) open.emplace(net.potential[v], v);
  while (!open.empty()) {
    const auto [value, node] = open.top();
    open.pop();
    if (value > net.potential[node]) continue;
    press(net, node, length, [&](int32_t other) { open.emplace(net.potential[other], other); });
    if (watch.passed(1 + net.end(node) - net.begin(node))) return false;
  }
  return true;
}

}  // namespace qw::transport
