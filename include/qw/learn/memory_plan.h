// How much memory a training will need, known before anything runs.
//
// Sizes follow from shapes: what is kept is counted exactly, what a pass over the network needs is estimated
// by Model::pass_memory. The data as it was loaded is on the host already and is not counted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// What of a data set the plan depends on.
struct TrainingSize {
  int64_t nodes = 0;               // of the graph
  int64_t edges = 0;               // each once
  int64_t entries = 0;             // of A
  int64_t entries_with_loops = 0;  // of A + I
  bool directed = false;           // then matrices keep their transpose
  bool weighted = false;           // the adjacency has values other than 1
  bool has_costs = false;          // edges cost other than 1
  int64_t inputs = 0;              // columns of the features
  int64_t stored_features = 0;     // numbers: all of them, or the non-zeros
  bool sparse_features = false;    // see Features
  int64_t outputs = 0;             // classes, labels or values
  bool classes = true;             // else one number per output
  int64_t split_nodes = 0;         // in any part of the split
  int64_t train_nodes = 0;         // in the first run
  int64_t edges_at_labels = 0;     // that touch a training node
};
// With the split of the first run; those of others are about the same.
TrainingSize training_size(const Dataset& dataset, const TrainRequest& request);

// One line of the plan.
struct MemoryItem {
  std::string what;     // in words, for a person
  int64_t bytes = 0;    // of one run, or of all
  bool per_run = true;  // else once for all runs
};

// What a training needs, item by item.
struct MemoryPlan {
  TrainingSize size;              // that was planned for
  TrainRequest request;           // that was planned for
  std::vector<MemoryItem> items;  // what once() and each_run() sum up
  int64_t parameters = 0;         // of one network, and of its edge predictor
  int64_t flow_edges = 0;         // that may carry flow; 0 without one
  int64_t runs_at_once = 1;       // side by side on the device

  int64_t once() const;  // bytes
  // Bytes of the items that every run has, and of all runs at once.
  int64_t each_run() const;
  int64_t total() const { return once() + runs_at_once * each_run(); }
};

// How many trainings are done side by side where memory allows: on small graphs as many as the CPU has
// threads, or as a GPU gains by; large ones keep a device busy one at a time.
int64_t most_at_once(const at::Device& device, int64_t edges);

// Runs at once: the most, and on a GPU with so many `available` bytes (0: not known) no more than fit.
MemoryPlan memory_plan(const TrainingSize& size, const TrainRequest& request, int64_t available = 0);

// Bytes that the device has: of the CPU what the system would give now, of a GPU all. 0: not known here.
int64_t device_memory(const at::Device& device);
at::Device device_of(const TrainRequest& request);  // throws qw::UsageError

// One line for a training that does not fit: what it needs, what there is, and which changes would make it
// fit, each found by planning again; several together where none is enough.
std::string what_would_fit(const MemoryPlan& plan, int64_t available);

}  // namespace qw
