// What a training over parts takes, known before it runs: the memory of each process, what it sends, and how
// long an epoch is. For a partition, or for a graph of which only the size is known.
#pragma once

#include <string>
#include <vector>

#include "core/field_table.h"
#include "distributed/rehearsal.h"
#include "qw/data/partition.h"
#include "qw/learn/memory_plan.h"

namespace qw {

// A graph that is not here: "size:nodes=111059956,edges=1615685872,features=128,classes=172".
struct GraphSize {
  int64_t nodes = 0, edges = 0, features = 0, classes = 0;
  bool directed = false;
  double train = 0.6, val = 0.2;  // shares of the nodes; the rest is for the test
  double halo = -1;               // rows of other parts for each own node; -1: of parts drawn by lot
};
FieldTable fields(GraphSize& size);
bool is_size_spec(std::string_view spec);
GraphSize graph_size(std::string_view spec);  // throws qw::UsageError

// A machine with one process, and its network. docs/processes.md says where the numbers of the known ones
// come from.
struct Machine {
  std::string name;
  double gflops = 0;     // thousand million operations a second in training
  double memory = 0;     // GB/s that a training reads and writes
  double bandwidth = 0;  // of the network, Gbit/s
  double latency = 0;    // of a call that waits for the others, ms
};
FieldTable fields(Machine& machine);
Machine machine_named(std::string_view spec);  // "cpu", "h200:bandwidth=400"; throws qw::UsageError
std::vector<std::string> known_machines();

// What the plan depends on.
struct PartedGraph {
  std::string name;
  std::string how;  // it is cut: "range"; "assumed"
  int64_t nodes = 0, edges = 0;
  std::vector<PartSummary> parts;     // nodes, halo, edges and cut_edges of each
  std::vector<PartOutline> outlines;  // of each
  RehearsedData data;
};
PartedGraph parted_graph(const PartitionManifest& manifest, const TrainRequest& request);
// Cut into as many equal parts.
PartedGraph parted_graph(const GraphSize& size, int64_t parts);

// Of one process.
struct ProcessPlan {
  int process = 0;
  int64_t parts = 0;
  std::vector<MemoryItem> items;  // while it trains
  int64_t bytes = 0;              // of these
  int64_t end_bytes = 0;          // with what process 0 gathers of all nodes at the end of a run
  double sent = 0;                // bytes in an epoch
  double computing = 0;           // seconds of an epoch
};

struct PartsPlan {
  std::vector<ProcessPlan> processes;
  int64_t parameters = 0;
  double sending = 0, waiting = 0;  // seconds of an epoch

  const ProcessPlan& largest() const;  // by memory
  const ProcessPlan& loudest() const;  // by what it sends
  const ProcessPlan& slowest() const;  // by its work
  double epoch_seconds() const { return slowest().computing + sending + waiting; }
};

PartsPlan plan_of(const PartedGraph& graph, const TrainRequest& request, int processes,
                  const Machine& machine);

}  // namespace qw
