#include <algorithm>
#include <cmath>

#include "data/load_steps.h"
#include "data/partition/stream.h"
#include "graph/csbm_parts.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kRound = 1 << 20;  // proposals, or numbers of features, at a time

class CsbmStream : public StreamSource {
 public:
  CsbmStream(const CsbmOptions& options, const LoadOptions& load, int64_t memory_bytes,
             const std::filesystem::path& folder)
      : options_(options),
        blocks_(csbm_blocks(options)),
        wanted_(csbm_edges(options, blocks_)),
        features_(options) {
    nodes_ = options.nodes;
    about_.name = "csbm";
    about_.format = "generator";
    about_.targets = class_targets(blocks_.class_of);
    about_.features.rows = options.features > 0 ? nodes_ : 0;
    about_.features.columns = options.features;
    choose_feature_form();
    finish_about(load);
    make_buckets(folder, load, bucket_begins(expected_counts(), block_size(), form_, memory_bytes), "csbm");
  }

 protected:
  // As in make_csbm: what was drawn twice is drawn again until the numbers are right.
  void fill(EdgeBuckets& buckets) override {
    uint64_t proposed = 0;
    CsbmEdges missing = wanted_;
    const int64_t all = wanted_.within + wanted_.between;
    while (true) {
      add_proposals(buckets, missing.within, true, proposed);
      add_proposals(buckets, missing.between, false, proposed);
      const auto found = buckets.settle(
          [&](NodeId head, NodeId tail) { return blocks_.class_of[head] == blocks_.class_of[tail]; });
      if (found.edges == all) return;
      missing = {wanted_.within - found.counted, wanted_.between - (found.edges - found.counted)};
    }
  }

  void each_dense(const std::function<void(int64_t, std::vector<float>)>& visit) override {
    const int64_t columns = options_.features, step = std::max<int64_t>(1, kRound / columns);
    for (int64_t begin = 0; begin < nodes_; begin += step) {
      const int64_t rows = std::min(step, nodes_ - begin);
      std::vector<float> dense(rows * columns);
      features_.fill(blocks_, begin, begin + rows, dense.data());
      visit(rows, std::move(dense));
    }
  }

 private:
  int64_t block_size() const { return nodes_ / 4096 + 1; }

  // The lower of two uniform nodes is below x with the chance 1 - (1 - x / nodes)^2.
  std::vector<int64_t> expected_counts() const {
    std::vector<int64_t> counts;
    const auto edges = static_cast<double>(wanted_.within + wanted_.between);
    const auto above = [&](int64_t node) {
      const double share = 1 - static_cast<double>(std::min(node, nodes_)) / static_cast<double>(nodes_);
      return share * share;
    };
    for (int64_t begin = 0; begin < nodes_; begin += block_size())
      counts.push_back(std::llrint(edges * (above(begin) - above(begin + block_size()))));
    return counts;
  }

  void add_proposals(EdgeBuckets& buckets, int64_t count, bool within, uint64_t& proposed) {
    const RandomStream random = csbm_edge_stream(options_);
    std::vector<uint64_t> pairs;
    for (int64_t first = 0; first < count; first += kRound) {
      pairs.resize(std::min(kRound, count - first));
      parallel_for(std::ssize(pairs), 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          pairs[i] = csbm_proposal(blocks_, random, proposed + first + i, within);
      });
      for (const uint64_t pair : pairs)
        buckets.add(static_cast<NodeId>(pair & 0xFFFFFFFFu), static_cast<NodeId>(pair >> 32));
    }
    proposed += count;
  }

  CsbmOptions options_;
  CsbmBlocks blocks_;
  CsbmEdges wanted_;
  CsbmFeatures features_;
};

}  // namespace

std::unique_ptr<PartitionSource> csbm_stream(const std::string& spec, const LoadOptions& load,
                                             int64_t memory_bytes, const std::filesystem::path& folder,
                                             std::string& reason) {
  refuse_unheeded(load, "", spec);
  if (load.directed) return nullptr;  // loading refuses it
  const size_t colon = spec.find(':');
  const CsbmOptions options = csbm_options(colon == std::string::npos ? "" : spec.substr(colon + 1));
  if (!can_make_features(options.features, load, reason)) return nullptr;
  return std::make_unique<CsbmStream>(options, load, memory_bytes, folder);
}

}  // namespace qw
