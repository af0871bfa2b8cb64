// flow.safetensors of a run, read without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "qw/data/trained_on.h"
#include "qw/transport/paths.h"

namespace qw {

// Flow on the edges that may carry some.
struct StoredFlow {
  Graph graph;                // those edges alone, between all nodes
  int64_t columns = 0;        // classes, labels or values
  std::vector<float> values;  // [edges * columns]
};

// Throws qw::Error when the file is damaged or is not about this graph.
StoredFlow read_flow(const std::filesystem::path& file, const TrainedOn& trained_on);

// A path of the flow of one column.
struct ColumnPath {
  int64_t column = 0;
  FlowPath path;  // its edges are those of StoredFlow::graph
};
// The largest first; amounts below 1e-7 of the largest flow count as nothing, as they are rounding.
std::vector<ColumnPath> largest_paths(const StoredFlow& flow, size_t most);

}  // namespace qw
