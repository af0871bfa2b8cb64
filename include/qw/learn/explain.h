// Why nodes got their predictions: by which paths transport reached them, which features moved the network's
// scores, and what changes when a neighbour, a column of features or a training label is left out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/node_explanation.h"
#include "qw/learn/memory.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// What is explained, and how much of it is listed.
struct ExplainOptions {
  std::vector<int64_t> columns;  // classes, labels or values; empty: those that are predicted
  int64_t top = 10;              // entries of each list, the largest first; 0: all that were computed
  // At most so many neighbours, columns and labels are left out one by one; on large graphs, where each costs
  // a pass over all of it, fewer.
  int64_t most_left_out = 40;
};

// Of a finished run, on data as reload() takes it; scores are those of reload(). What is left out is left out
// of what the run predicts from, and the run predicts again:
//
//   a neighbour  all edges between it and the node, and what flows over them
//   a column     its numbers at every node are 0 as the network sees them: the mean of a column that is
//                brought to mean 0, else no such thing. Of a categorical column all categories.
//   a label      of a training node, for solvers that spread labels over the edges
//
// Without an edge the scores are those of reload() on data without that edge. Candidates are neighbours and
// columns with the largest gradient times input, and the nearest labels.
std::vector<NodeExplanation> explain_nodes(const std::filesystem::path& run_folder,
                                           const TrainRequest& request, const TrainingMemory& memory,
                                           const Dataset& dataset, std::span<const NodeId> nodes,
                                           const ExplainOptions& options = {});

// As `qw explain --json` prints it; see docs/learning.md.
nlohmann::ordered_json to_json(const NodeExplanation& explanation);

}  // namespace qw
