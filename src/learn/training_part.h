// A training of which this is one part, with some of the nodes and their edges; others have the rest. Every
// part has all of the network, and all do the same steps in the same order.
#pragma once

#include <string>

#include "qw/graph/split.h"
#include "qw/graph/targets.h"
#include "qw/learn/flow.h"
#include "qw/nn/model.h"

namespace qw {

struct Scores;

// What the parts have together. All of them call the same functions in the same order.
class TrainingPart {
 public:
  TrainingPart() = default;
  TrainingPart(const TrainingPart&) = delete;
  TrainingPart& operator=(const TrainingPart&) = delete;
  virtual ~TrainingPart() = default;

  // Part 0 measures, decides and writes.
  virtual bool is_first() const = 0;
  // The numbers of all parts, of one shape, added in the order of the parts.
  virtual at::Tensor sum(const at::Tensor& mine) const = 0;
  // At part 0 the rows of all parts in their order, elsewhere [0, ...], on the CPU; and back: of rows that
  // every part has, the `count` that are its own.
  virtual at::Tensor at_first(const at::Tensor& rows) const = 0;
  virtual at::Tensor own_of(const at::Tensor& rows, int64_t count) const = 0;
  // Those of part 0, for all.
  virtual void broadcast(const at::Tensor& values) const = 0;
  virtual std::string broadcast(const std::string& text) const = 0;

  // Names the partition: what one wrote down for its parts is of no use to another.
  virtual std::string id() const = 0;
  // Of the whole graph.
  virtual ModelShape shape(int64_t inputs, int64_t outputs) const = 0;
  virtual FlowTopology flow_topology(bool all_edges, const at::TensorOptions& tensors) const = 0;
  // Rows of a flow on all edges [carriers, C]: those of an edge that two parts have become the sum of both.
  virtual at::Tensor over_edges(const at::Tensor& rows) const = 0;
  // At part 0, in the order of the data, on the CPU: the scores, labels and split of all nodes.
  virtual Scores in_order(const Scores& own) const = 0;
  virtual const Targets& all_targets() const = 0;
  virtual const Split& all_split() const = 0;
};

}  // namespace qw
