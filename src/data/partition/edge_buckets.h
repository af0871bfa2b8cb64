// Edges in any order and number, sorted outside of memory: by ranges of heads into files, then range by
// range. What is dropped and counted is what building a graph of the whole list would drop and count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/partition/spill.h"
#include "qw/data/load.h"
#include "qw/graph/graph.h"

namespace qw {

// Edges of a graph, in its order.
struct EdgeBlock {
  std::span<const NodeId> heads, tails;
  std::span<const double> costs, weights;  // empty: all 1
};

struct EdgeForm {
  bool directed = false;
  bool has_costs = false;
  bool has_weights = false;
};

class EdgeBuckets {
 public:
  // Bucket k gets the heads from first[k] to first[k + 1]; first[0] is 0. `label` opens errors.
  EdgeBuckets(const std::filesystem::path& folder, const EdgeForm& form, const LoadOptions& options,
              std::vector<int64_t> first, std::string label);

  void add(NodeId tail, NodeId head, double cost = 1, double weight = 1);

  // Calls visit with all edges, sorted by (head, tail), in blocks.
  void each(const std::function<void(const EdgeBlock&)>& visit);
  // What was dropped, in the words of build_graph; after each().
  std::vector<std::string> notes() const;

  // Forgets repetitions of undirected edges without costs and weights, and returns how many of those left
  // are `counted`, and how many there are. What was settled before is not looked at again.
  struct Settled {
    int64_t counted = 0, edges = 0;
  };
  Settled settle(const std::function<bool(NodeId head, NodeId tail)>& counted);

 private:
  struct Bucket {
    Spill keys, costs, weights;
    Settled settled{};
    int64_t settled_keys = -1;
  };
  struct Sorted;
  Sorted load(Bucket& bucket) const;
  void resolve(Sorted& edges);
  void resolve_group(Sorted& edges, size_t begin, size_t end, size_t& kept);

  EdgeForm form_;
  std::string self_loops_, duplicates_, label_;
  std::vector<int64_t> first_;
  std::vector<Bucket> buckets_;
  int64_t given_ = 0;
  int64_t loops_ = 0, repeated_ = 0, different_ = 0;
};

}  // namespace qw
