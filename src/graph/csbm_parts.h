// What a contextual stochastic block model is drawn from, piece by piece: the whole graph, and a stream of it
// that no memory holds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "qw/core/random.h"
#include "qw/graph/generators.h"

namespace qw {

// Of "nodes=3000,degree=10".
CsbmOptions csbm_options(std::string_view spec);

// Nodes of class c are member[first(c)] .. member[first(c + 1)).
struct CsbmBlocks {
  std::vector<NodeId> member;
  std::vector<int32_t> class_of;
  int64_t classes = 0;

  int64_t first(int64_t c) const { return static_cast<int64_t>(member.size()) * c / classes; }
  int64_t size(int64_t c) const { return first(c + 1) - first(c); }
};
CsbmBlocks csbm_blocks(const CsbmOptions& options);

// How many edges join nodes of one class, and of two.
struct CsbmEdges {
  int64_t within = 0, between = 0;
};
// Throws qw::UsageError where there is no room for so many.
CsbmEdges csbm_edges(const CsbmOptions& options, const CsbmBlocks& blocks);

// Proposals of edges, by their number: pairs of nodes of one class, or of two, the lower node in the upper 32
// bits. Proposals repeat: drawing goes on with the next numbers for as many as were repetitions, first those
// within classes and then the others, until there are as many different pairs as wanted.
RandomStream csbm_edge_stream(const CsbmOptions& options);
uint64_t csbm_proposal(const CsbmBlocks& blocks, const RandomStream& random, uint64_t number, bool within);

// Rows of features, in any order.
class CsbmFeatures {
 public:
  explicit CsbmFeatures(const CsbmOptions& options);
  void fill(const CsbmBlocks& blocks, int64_t begin, int64_t end, float* rows) const;

 private:
  int64_t columns_;
  RandomStream noise_;
  double scale_;
  std::vector<double> means_;  // [classes * columns]
};

}  // namespace qw
