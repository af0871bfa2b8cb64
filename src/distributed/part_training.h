// One part of a training, as learn sees it.
#pragma once

#include <vector>

#include "comm/parts.h"
#include "learn/training_part.h"
#include "qw/data/partition.h"
#include "qw/learn/learner.h"

namespace qw {

// Labels and parts of all nodes in one run, the same for all parts of the graph.
struct RunLabels {
  Targets targets;  // in the units that are learned in
  Split split;
};

class PartTraining : public TrainingPart {
 public:
  // All must outlive it; made by all parts together.
  PartTraining(Comm& parts, const PartitionManifest& manifest, const Part& part, const RunLabels& labels);

  bool is_first() const override { return parts_.rank() == 0; }
  at::Tensor sum(const at::Tensor& mine) const override { return sum_in_order(parts_, mine); }
  at::Tensor at_first(const at::Tensor& rows) const override;
  at::Tensor own_of(const at::Tensor& rows, int64_t count) const override;
  void broadcast(const at::Tensor& values) const override { parts_.broadcast(values, 0); }
  std::string broadcast(const std::string& text) const override;
  std::string id() const override { return manifest_.id; }
  ModelShape shape(int64_t inputs, int64_t outputs) const override;
  FlowTopology flow_topology(bool all_edges, const at::TensorOptions& tensors) const override;
  at::Tensor over_edges(const at::Tensor& rows) const override;
  Scores in_order(const Scores& own) const override;
  const Targets& all_targets() const override { return labels_.targets; }
  const Split& all_split() const override { return labels_.split; }

  // Those of the part's own nodes.
  Targets own_targets() const;
  Split own_split() const;

 private:
  std::vector<int64_t> counts_of(int64_t mine) const;  // of all parts
  std::vector<char> trains() const;                    // by row of the part, with its halo
  at::Tensor placed(const at::Tensor& rows) const;  // at part 0 from the order of parts to that of the data

  Comm& parts_;
  const PartitionManifest& manifest_;
  const Part& part_;
  const RunLabels& labels_;
  at::Tensor order_;  // at part 0, [N]: the number in the data of each row of all parts
};

}  // namespace qw
