#include "graph/csbm_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

// Streams of random numbers under one seed.
enum Stream : uint64_t { kAssignmentStream, kMeanStream, kNoiseStream, kEdgeStream };

struct PairCounts {
  double within = 0;  // one class
  double between = 0;
};

PairCounts possible_pairs(const CsbmBlocks& blocks) {
  double within = 0;
  const auto nodes = static_cast<double>(blocks.member.size());
  for (int64_t c = 0; c < blocks.classes; ++c) {
    const auto size = static_cast<double>(blocks.size(c));
    within += size * (size - 1) / 2;
  }
  return {within, nodes * (nodes - 1) / 2 - within};
}

void check_room(const CsbmOptions& options, const CsbmBlocks& blocks, int64_t within, int64_t between) {
  const PairCounts room = possible_pairs(blocks);
  const auto check = [&](int64_t wanted, double pairs, const char* where) {
    if (static_cast<double>(wanted) > 0.5 * pairs) {
      fail_usage(fmt::format(
          "csbm: degree={} and homophily={} want {} edges {} classes, but only {} pairs are there and "
          "at most half of them are drawn; lower the degree",
          options.degree, options.homophily, wanted, where, pairs));
    }
  };
  check(within, room.within, "within");
  check(between, room.between, "between");
}

}  // namespace

CsbmBlocks csbm_blocks(const CsbmOptions& options) {
  if (options.classes > options.nodes) {
    fail_usage(
        fmt::format("csbm: {} classes need at least as many nodes, not {}", options.classes, options.nodes));
  }
  CsbmBlocks blocks;
  blocks.classes = options.classes;
  blocks.member.resize(options.nodes);
  for (int64_t i = 0; i < options.nodes; ++i) blocks.member[i] = static_cast<NodeId>(i);
  const RandomStream random(options.seed, kAssignmentStream);
  for (int64_t i = options.nodes - 1; i > 0; --i)
    std::swap(blocks.member[i], blocks.member[random.below(i, i + 1)]);
  blocks.class_of.resize(options.nodes);
  for (int64_t c = 0; c < options.classes; ++c) {
    std::sort(blocks.member.begin() + blocks.first(c), blocks.member.begin() + blocks.first(c + 1));
    for (int64_t i = blocks.first(c); i < blocks.first(c + 1); ++i) {
      blocks.class_of[blocks.member[i]] = static_cast<int32_t>(c);
    }
  }
  return blocks;
}

CsbmEdges csbm_edges(const CsbmOptions& options, const CsbmBlocks& blocks) {
  const int64_t wanted = std::llrint(static_cast<double>(options.nodes) * options.degree / 2);
  const int64_t within = std::llrint(static_cast<double>(wanted) * options.homophily);
  check_room(options, blocks, within, wanted - within);
  return {within, wanted - within};
}

RandomStream csbm_edge_stream(const CsbmOptions& options) {
  return {static_cast<uint64_t>(options.seed), kEdgeStream};
}

uint64_t csbm_proposal(const CsbmBlocks& blocks, const RandomStream& random, uint64_t counter, bool within) {
  const auto nodes = static_cast<uint64_t>(blocks.member.size());
  while (true) {
    // A uniform first end and a uniform end of its class: pairs of a class are equally likely when classes
    // have the same size, which they have to one node.
    const NodeId a = blocks.member[random.below(counter * 4, nodes)];
    const int64_t c = blocks.class_of[a];
    const int64_t pick = random.below(counter * 4 + 1, within ? blocks.size(c) : nodes - blocks.size(c));
    const int64_t skipped = pick < blocks.first(c) ? pick : pick + blocks.size(c);
    const NodeId b = blocks.member[within ? blocks.first(c) + pick : skipped];
    if (a != b) return (static_cast<uint64_t>(std::min(a, b)) << 32) | static_cast<uint32_t>(std::max(a, b));
    counter += uint64_t{1} << 40;
  }
}

CsbmFeatures::CsbmFeatures(const CsbmOptions& options)
    : columns_(options.features),
      noise_(options.seed, kNoiseStream),
      scale_(columns_ == 0 ? 0 : 1.0 / std::sqrt(static_cast<double>(columns_))),
      means_(options.classes * columns_) {
  const RandomStream random(options.seed, kMeanStream);
  for (int64_t c = 0; c < options.classes; ++c) {
    double square = 0;
    for (int64_t k = 0; k < columns_; ++k) {
      means_[c * columns_ + k] = random.normal(c * columns_ + k);
      square += means_[c * columns_ + k] * means_[c * columns_ + k];
    }
    for (int64_t k = 0; k < columns_; ++k) means_[c * columns_ + k] *= options.signal / std::sqrt(square);
  }
}

void CsbmFeatures::fill(const CsbmBlocks& blocks, int64_t begin, int64_t end, float* rows) const {
  parallel_for(end - begin, 256, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last; ++at) {
      const int64_t node = begin + at;
      const double* mean = means_.data() + blocks.class_of[node] * columns_;
      for (int64_t k = 0; k < columns_; ++k) {
        rows[at * columns_ + k] = static_cast<float>(mean[k] + noise_.normal(node * columns_ + k) * scale_);
      }
    }
  });
}

}  // namespace qw
