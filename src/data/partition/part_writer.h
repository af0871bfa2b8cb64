// The files of a partition, from edges and features that come as a stream.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/partition/output.h"
#include "data/partition/source.h"
#include "data/partition/spill.h"
#include "qw/data/partition.h"

namespace qw {

class PartWriter {
 public:
  // Temporary files stand in `work`, what stays in `folder`.
  PartWriter(std::filesystem::path folder, const std::filesystem::path& work, const PartitionSource& source,
             const Cut& cut);

  // In the order of the renumbered graph.
  void add_edges(const EdgeBlock& block);
  // Rows in the order of new numbers.
  void add_features(const Features& block);

  // Once, when all edges and features are there.
  PartSummary write(int64_t part, const std::string& partition_id);
  std::string write_labels(const std::string& partition_id);  // returns the checksum
  int64_t cut_edges() const { return cut_edges_; }
  int64_t edges() const { return edges_; }

 private:
  struct Pieces {
    Spill edges, costs, weights, features, row_ends, indices, values;
    int64_t row_end = 0, cut_edges = 0;
  };
  struct Halo;
  class Sections;
  Pieces& pieces_of(int64_t node) { return pieces_[part_of(node)]; }
  int64_t part_of(int64_t node) const;
  Halo halo_of(int64_t part);
  void add_edge_sections(int64_t part, const Halo& halo, Sections& sections);
  void add_feature_sections(int64_t part, Sections& sections);
  void add_node_sections(int64_t part, const Halo& halo, Sections& sections) const;

  std::filesystem::path folder_;
  const PartitionSource& source_;
  const Cut& cut_;
  EdgeForm form_;
  std::vector<Pieces> pieces_;
  std::vector<std::vector<uint8_t>> marks_;  // of each stored split, by original number
  int64_t edges_ = 0, cut_edges_ = 0;
  int64_t feature_rows_ = 0;
};

}  // namespace qw
