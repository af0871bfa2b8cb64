// Cutting a graph into parts (partition.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/load.h"
#include "qw/data/partition.h"

namespace QW_PUBLIC qw {

// How to cut.
struct PartitionOptions {
  int64_t parts = 0;  // as many; fewer where blocks of `align` nodes are fewer
  // range: consecutive nodes, which keep their numbers; metis: few edges between parts, as METIS finds them
  std::string method = "range";
  int64_t align = kPartitionBlock;  // of range: parts are multiples of so many nodes
  int64_t seed = 1;                 // of metis
  // range can read edges and features in passes that never hold them: csbm, OGB folders, edge lists of plain
  // numbers without a node table. auto: where that is so; yes: or refuse; no: read all into memory.
  std::string stream = "auto";
  int64_t memory = 1024;  // MiB that sorting edges may take, of a stream
};

// Loads `what` as load_dataset does and writes its partition, the whole folder or nothing. `notes` are what
// the reader did and what a person should know of the cut. Throws qw::UsageError on options that make no
// sense and when `out` is there already.
PartitionManifest make_partition(const std::string& what, const LoadOptions& load,
                                 const PartitionOptions& options, const std::filesystem::path& out,
                                 std::vector<std::string>& notes);

// The same of data that is loaded.
PartitionManifest make_partition(const Dataset& dataset, const PartitionOptions& options,
                                 const std::filesystem::path& out, std::vector<std::string>& notes);

// Whether this build has METIS.
bool has_metis();

}  // namespace qw
