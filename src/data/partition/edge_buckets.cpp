#include "data/partition/edge_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/readers/parts.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// (head, tail) as a number that sorts, and whether an undirected edge was given the other way round.
uint64_t key_of(NodeId head, NodeId tail, bool swapped) {
  return (static_cast<uint64_t>(head) << 32) | (static_cast<uint64_t>(tail) << 1) | (swapped ? 1 : 0);
}
NodeId head_of(uint64_t key) { return static_cast<NodeId>(key >> 32); }
NodeId tail_of(uint64_t key) { return static_cast<NodeId>((key & 0xFFFFFFFFu) >> 1); }
bool same_edge(uint64_t a, uint64_t b) { return (a >> 1) == (b >> 1); }

std::vector<uint64_t> all_keys(Spill& spill) {
  std::vector<uint64_t> keys;
  keys.reserve(spill.count<uint64_t>());
  spill.each<uint64_t>(
      [&](std::span<const uint64_t> piece) { keys.insert(keys.end(), piece.begin(), piece.end()); });
  return keys;
}

std::vector<double> in_order(Spill& spill, const std::vector<int64_t>& order) {
  std::vector<double> given;
  given.reserve(order.size());
  spill.each<double>(
      [&](std::span<const double> piece) { given.insert(given.end(), piece.begin(), piece.end()); });
  std::vector<double> sorted(order.size());
  for (size_t at = 0; at < order.size(); ++at) sorted[at] = given[order[at]];
  return sorted;
}

}  // namespace

// Edges of one bucket; equal ones in the order given.
struct EdgeBuckets::Sorted {
  std::vector<uint64_t> keys;
  std::vector<double> costs, weights;
};

EdgeBuckets::EdgeBuckets(const std::filesystem::path& folder, const EdgeForm& form,
                         const LoadOptions& options, std::vector<int64_t> first, std::string label)
    : form_(form),
      self_loops_(options.self_loops),
      duplicates_(options.duplicate_edges),
      label_(std::move(label)),
      first_(std::move(first)) {
  const size_t room =
      std::clamp<size_t>((size_t{64} << 20) / first_.size(), size_t{1} << 12, size_t{1} << 20);
  for (size_t k = 0; k < first_.size(); ++k) {
    const auto file = [&](const char* what) { return folder / fmt::format("bucket-{}.{}", k, what); };
    buckets_.push_back({{file("keys"), room}, {file("costs"), room}, {file("weights"), room}});
  }
}

void EdgeBuckets::add(NodeId tail, NodeId head, double cost, double weight) {
  const int64_t given = given_++;
  if (head == tail) {
    if (self_loops_ == "error") fail(fmt::format("{}: edge {} joins node {} to itself", label_, given, head));
    ++loops_;
    if (self_loops_ == "drop") return;
  }
  const bool swapped = !form_.directed && head > tail;
  if (swapped) std::swap(head, tail);
  const auto after = std::upper_bound(first_.begin(), first_.end(), int64_t{head});
  Bucket& bucket = buckets_[after - first_.begin() - 1];
  bucket.keys.put(key_of(head, tail, swapped));
  if (form_.has_costs) bucket.costs.put(cost);
  if (form_.has_weights) bucket.weights.put(weight);
}

EdgeBuckets::Sorted EdgeBuckets::load(Bucket& bucket) const {
  Sorted sorted;
  sorted.keys = all_keys(bucket.keys);
  if (!form_.has_costs && !form_.has_weights) {
    if (!std::is_sorted(sorted.keys.begin(), sorted.keys.end()))
      std::sort(sorted.keys.begin(), sorted.keys.end());
    return sorted;
  }
  std::vector<int64_t> order(sorted.keys.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return (sorted.keys[a] >> 1) < (sorted.keys[b] >> 1); });
  std::vector<uint64_t> keys(order.size());
  for (size_t at = 0; at < order.size(); ++at) keys[at] = sorted.keys[order[at]];
  sorted.keys = std::move(keys);
  if (form_.has_costs) sorted.costs = in_order(bucket.costs, order);
  if (form_.has_weights) sorted.weights = in_order(bucket.weights, order);
  return sorted;
}

// What is left of the equal edges begin .. end goes to `kept`.
void EdgeBuckets::resolve_group(Sorted& edges, size_t begin, size_t end, size_t& kept) {
  const auto swapped = [&](size_t at) { return (edges.keys[at] & 1) != 0; };
  size_t backward = 0;
  for (size_t at = begin; at < end; ++at) backward += swapped(at) ? 1 : 0;
  const size_t forward = end - begin - backward;
  const auto move = [&](size_t from, size_t to) {
    edges.keys[to] = edges.keys[from];
    if (form_.has_costs) edges.costs[to] = edges.costs[from];
    if (form_.has_weights) edges.weights[to] = edges.weights[from];
  };
  if (duplicates_ != "drop") {
    // The two directions of an undirected edge are no repetition: the one that is given more often stays.
    const bool keeps_swapped = backward > forward;
    const size_t first = kept;
    for (size_t at = begin; at < end; ++at) {
      if (swapped(at) == keeps_swapped) move(at, kept++);
    }
    if (duplicates_ == "error" && kept > first + 1) {
      fail(fmt::format("{}: the edge between nodes {} and {} is given more than once", label_,
                       head_of(edges.keys[first]), tail_of(edges.keys[first])));
    }
    return;
  }
  repeated_ += static_cast<int64_t>(forward > 1 ? forward - 1 : 0) +
               static_cast<int64_t>(backward > 1 ? backward - 1 : 0);
  const double weight = form_.has_weights ? edges.weights[begin] : 1;
  double cost = form_.has_costs ? edges.costs[begin] : 1;
  for (size_t at = begin; at < end && form_.has_costs; ++at) cost = std::min(cost, edges.costs[at]);
  for (size_t at = begin; at < end; ++at) {
    different_ +=
        (form_.has_costs && edges.costs[at] != cost) || (form_.has_weights && edges.weights[at] != weight);
  }
  move(begin, kept);
  if (form_.has_costs) edges.costs[kept] = cost;
  ++kept;
}

void EdgeBuckets::resolve(Sorted& edges) {
  size_t kept = 0;
  for (size_t begin = 0, end = 0; begin < edges.keys.size(); begin = end) {
    for (end = begin; end < edges.keys.size() && same_edge(edges.keys[end], edges.keys[begin]);) ++end;
    resolve_group(edges, begin, end, kept);
  }
  edges.keys.resize(kept);
  if (form_.has_costs) edges.costs.resize(kept);
  if (form_.has_weights) edges.weights.resize(kept);
}

void EdgeBuckets::each(const std::function<void(const EdgeBlock&)>& visit) {
  constexpr size_t kBlock = 1 << 16;
  std::vector<NodeId> heads, tails;
  for (Bucket& bucket : buckets_) {
    Sorted edges = load(bucket);
    for (Spill* spill : {&bucket.keys, &bucket.costs, &bucket.weights}) spill->clear();
    resolve(edges);
    for (size_t begin = 0; begin < edges.keys.size(); begin += kBlock) {
      const size_t count = std::min(kBlock, edges.keys.size() - begin);
      heads.resize(count);
      tails.resize(count);
      for (size_t k = 0; k < count; ++k) {
        heads[k] = head_of(edges.keys[begin + k]);
        tails[k] = tail_of(edges.keys[begin + k]);
      }
      const auto part = [&](const std::vector<double>& values) {
        return values.empty() ? std::span<const double>() : std::span(values).subspan(begin, count);
      };
      visit({heads, tails, part(edges.costs), part(edges.weights)});
    }
  }
}

EdgeBuckets::Settled EdgeBuckets::settle(const std::function<bool(NodeId head, NodeId tail)>& counted) {
  Settled all;
  for (Bucket& bucket : buckets_) {
    if (bucket.settled_keys != bucket.keys.count<uint64_t>()) {
      std::vector<uint64_t> keys = load(bucket).keys;
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      bucket.settled = {0, static_cast<int64_t>(keys.size())};
      for (const uint64_t key : keys) bucket.settled.counted += counted(head_of(key), tail_of(key));
      bucket.keys.clear();
      bucket.keys.append(std::span<const uint64_t>(keys));
      bucket.settled_keys = bucket.settled.edges;
    }
    all.counted += bucket.settled.counted;
    all.edges += bucket.settled.edges;
  }
  return all;
}

std::vector<std::string> EdgeBuckets::notes() const {
  return notes_of_building({self_loops_ == "drop" ? loops_ : 0, repeated_, different_});
}

}  // namespace qw
