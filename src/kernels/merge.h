// Several captured graphs of CUDA as one: side by side, and where they launch the same kernel at the same
// place, with their own data, one launch does it for two of them (launch.cuh).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/stream.h"

struct CUgraph_st;
struct CUgraphExec_st;

namespace qw::kernels {

using CapturedGraph = CUgraph_st*;   // cudaGraph_t
using ReadyGraph = CUgraphExec_st*;  // cudaGraphExec_t

struct MergeReport {
  int64_t nodes = 0;  // of all graphs
  int64_t left = 0;   // nodes of the result
};

// Does what all the graphs do, in any order between them; each must stay until the result has been made.
// Graphs that are not chains of the same steps run side by side as they are.
ReadyGraph merge_graphs(const std::vector<CapturedGraph>& graphs, MergeReport& report);

void launch_graph(ReadyGraph graph, Stream stream);
void destroy_graph(ReadyGraph graph);

}  // namespace qw::kernels
