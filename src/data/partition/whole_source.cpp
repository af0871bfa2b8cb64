#include <algorithm>
#include <utility>

#include "data/partition/source.h"

namespace qw {
namespace {

class WholeSource : public PartitionSource {
 public:
  explicit WholeSource(const Dataset& dataset) : dataset_(dataset) {}

  const Dataset& about() const override { return dataset_; }
  int64_t nodes() const override { return dataset_.graph.num_nodes(); }
  EdgeForm edge_form() const override {
    return {dataset_.graph.directed(), !dataset_.graph.costs().empty(), !dataset_.graph.weights().empty()};
  }
  int64_t feature_columns() const override { return dataset_.features.columns; }
  bool sparse_features() const override { return dataset_.features.sparse; }
  bool has_ids() const override { return !dataset_.node_ids.empty(); }
  std::string id(NodeId original) const override { return dataset_.node_id(original); }

  void each_edge(const std::function<void(const EdgeBlock&)>& visit) override {
    const Graph& graph = dataset_.graph;
    visit({graph.heads(), graph.tails(), graph.costs(), graph.weights()});
  }
  void each_features(const std::function<void(const Features&)>& visit) override { visit(dataset_.features); }

 private:
  const Dataset& dataset_;
};

}  // namespace

std::unique_ptr<PartitionSource> whole_source(const Dataset& dataset) {
  return std::make_unique<WholeSource>(dataset);
}

Features as_form(int64_t rows, int64_t columns, std::vector<float> dense, bool sparse) {
  Features features;
  features.rows = rows;
  features.columns = columns;
  features.sparse = sparse;
  if (!sparse) {
    features.dense = std::move(dense);
    return features;
  }
  features.offsets.push_back(0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const float value = dense[row * columns + column];
      if (value == 0.0f) continue;
      features.indices.push_back(static_cast<int32_t>(column));
      features.values.push_back(value);
    }
    features.offsets.push_back(static_cast<int64_t>(features.indices.size()));
  }
  return features;
}

std::vector<int64_t> bucket_begins(const std::vector<int64_t>& counts, int64_t block, const EdgeForm& form,
                                   int64_t memory_bytes) {
  // Keys are sorted where they stand; costs and weights through a list of places, which is sorted.
  constexpr int64_t kPlain = 8, kWithValues = 64;
  const int64_t most = std::max<int64_t>(
      memory_bytes / (form.has_costs || form.has_weights ? kWithValues : kPlain), int64_t{1} << 12);
  std::vector<int64_t> first{0};
  int64_t filled = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (filled > 0 && filled + counts[k] > most) {
      first.push_back(static_cast<int64_t>(k) * block);
      filled = 0;
    }
    filled += counts[k];
  }
  return first;
}

}  // namespace qw
