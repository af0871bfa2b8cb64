// What an epoch of a training over parts sends and computes. It is counted, not worked out: the training runs
// for a few epochs on graphs of some dozen nodes in two parts, and every count is a sum over sizes of a part.
// So no network and no solver has to say what it does.
#pragma once

#include <array>
#include <cstdint>

#include "qw/graph/targets.h"
#include "qw/learn/run.h"

namespace qw {

// What the counts depend on besides the sizes of parts.
struct RehearsedData {
  Task task = Task::kClassification;
  int64_t outputs = 0;                  // classes, labels or values
  int64_t inputs = 0;                   // columns of the features
  bool sparse = false;                  // the form of the features
  double stored_per_node = 0;           // numbers of the features: all columns, or the non-zeros
  bool directed = false;                // the graph
  bool weighted = false;                // its edges
  bool has_costs = false;               // its edges
  double train = 0, val = 0, test = 0;  // shares of the nodes
};

// Sizes of a part.
enum PartMeasure {
  kOne,        // a part
  kNodes,      // that it owns
  kEntries,    // of its rows of A
  kFlowEdges,  // with one end in it, that carry flow
  kCutEdges,   // to other parts
  kHalo,       // rows that it receives in a propagation
  kSent,       // rows that it sends then
  kMeasures
};
using PartMeasures = std::array<double, kMeasures>;

// Of one part in one epoch: for each measure what each unit of it adds.
struct EpochCounts {
  PartMeasures exchanged{};  // bytes of rows for other parts; those for each node go to part 0
  PartMeasures flops{};
  PartMeasures bytes{};    // read and written
  double gathered = 0;     // bytes that every other process gets
  double calls = 0;        // each waits for the other processes
  double widest = 0;       // bytes of the widest row that is exchanged
  double widest_once = 0;  // the same where the first epoch makes what is kept
};

double sum_of(const PartMeasures& counts, const PartMeasures& sizes);

// Takes a second or so, with files in the folder for temporary ones. Throws as a training does.
EpochCounts rehearse(const RehearsedData& data, const TrainRequest& request);

}  // namespace qw
