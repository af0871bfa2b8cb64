// Training over the parts of a partition: each part has its nodes, their edges and the flow on these, and all
// of the network. What comes out has the same bits for any number of processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "qw/data/partition.h"
#include "qw/learn/run.h"

namespace qw {

// Why a request can only be trained over the joined graph, by one process: "--model gat"; empty: it need not.
std::string needs_joined_graph(const TrainRequest& request);

struct PartitionTraining {
  const PartitionManifest& manifest;
  // Of the partition: partition_labels() with a graph that has its nodes and no edges.
  const Dataset& labels;
  const TrainRequest& request;
  std::filesystem::path folder;  // as train() has it; empty: nothing is kept
  // By process 0 alone: what the features were scaled by, and every epoch; false stops all.
  std::function<void(const FeatureScaling&)> scaled;
  std::function<bool(const TrainProgress&)> progress;
  // By every process, once for each part: whether it was told to stop, and all with it.
  std::function<bool()> is_told_to_stop = {};
  at::Device device = at::kCPU;  // of this process; parts of one process share it
};

// The results at process 0, elsewhere an empty list; nothing where progress() stopped all. All processes call
// it together. Throws as train() does.
std::optional<std::vector<RunResult>> train_partition(Comm& processes, const PartitionTraining& training);

// The labels for PartitionTraining.
Dataset labels_of_partition(const PartitionManifest& manifest);

}  // namespace qw
