// What is cut: edges and features come as they are asked for, all else is there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/partition/edge_buckets.h"
#include "qw/data/make_partition.h"
#include "qw/graph/dataset.h"

namespace qw {

// New numbers: part p has begins[p] .. begins[p + 1].
struct Cut {
  std::vector<int64_t> begins;
  std::vector<NodeId> original;  // of each new number; empty: the same

  NodeId original_of(int64_t node) const {
    return original.empty() ? static_cast<NodeId>(node) : original[node];
  }
};

class PartitionSource {
 public:
  PartitionSource() = default;
  PartitionSource(const PartitionSource&) = delete;
  PartitionSource& operator=(const PartitionSource&) = delete;
  virtual ~PartitionSource() = default;

  // Name, columns, targets and splits by original numbers; what its graph, features and ids hold means
  // nothing. Notes are complete when all edges have been visited.
  virtual const Dataset& about() const = 0;
  virtual int64_t nodes() const = 0;
  virtual EdgeForm edge_form() const = 0;
  virtual int64_t feature_columns() const = 0;
  virtual bool sparse_features() const = 0;
  virtual bool has_ids() const = 0;
  virtual std::string id(NodeId original) const = 0;

  // In blocks, in the order of the original graph.
  virtual void each_edge(const std::function<void(const EdgeBlock&)>& visit) = 0;
  virtual void each_features(const std::function<void(const Features&)>& visit) = 0;
};

// Blocks of rows that are dense become what features_from_dense() would make of the whole.
Features as_form(int64_t rows, int64_t columns, std::vector<float> dense, bool sparse);

// A loaded data set, which must outlive the source.
std::unique_ptr<PartitionSource> whole_source(const Dataset& dataset);

// A source that reads in passes, its temporary files in `folder`; nothing where the data has to be read as a
// whole, and then `reason` says why.
std::unique_ptr<PartitionSource> stream_source(const std::string& what, const LoadOptions& load,
                                               int64_t memory_bytes, const std::filesystem::path& folder,
                                               std::string& reason);

// The streams; `load` as load_dataset has it.
std::unique_ptr<PartitionSource> csbm_stream(const std::string& spec, const LoadOptions& load,
                                             int64_t memory_bytes, const std::filesystem::path& folder,
                                             std::string& reason);
// `data`: a folder with edges.csv, or empty where the options name the files.
std::unique_ptr<PartitionSource> csv_stream(const std::filesystem::path& data, const LoadOptions& load,
                                            int64_t memory_bytes, const std::filesystem::path& folder,
                                            std::string& reason);
std::unique_ptr<PartitionSource> ogb_stream(const std::filesystem::path& data, const LoadOptions& load,
                                            int64_t memory_bytes, const std::filesystem::path& folder,
                                            std::string& reason);

// Where to begin buckets of heads, so that each of them can be sorted in this memory: `counts` has the edges
// with a head in each block of `block` nodes.
std::vector<int64_t> bucket_begins(const std::vector<int64_t>& counts, int64_t block, const EdgeForm& form,
                                   int64_t memory_bytes);

}  // namespace qw
