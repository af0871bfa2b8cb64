// One run of a request: from its checkpoint if there is one, into its folder if it has one.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "qw/learn/run.h"

namespace qw {

// Made, it may be done already; else its trainer is to be run. Data set, graph and features must outlive it.
class SingleRun {
 public:
  // An empty folder keeps nothing on disk; `of_search`: see KeptSearch.
  SingleRun(const Dataset& dataset, const Training& training, Split split, const GraphTensors& graph,
            const NodeMatrix& features, const std::filesystem::path& folder = {}, bool of_search = false);
  SingleRun(const SingleRun&) = delete;
  SingleRun& operator=(const SingleRun&) = delete;

  const Training& training() const { return training_; }
  Trainer* trainer() { return trainer_.get(); }  // null when the run is done

  // To be told of every epoch.
  void epoch_done(const EpochRecord& record) const;

  // No more epochs: it counts as far as it came.
  void set_enough() { has_enough_ = true; }
  bool has_enough() const { return has_enough_; }

  // Keeps what there is, to go on from.
  void save() const;

  // Once its trainer has finished, or it has enough. Throws qw::Error when it failed.
  RunResult result();

 private:
  std::filesystem::path network_from() const;
  TargetScaling scaling_for(const Split& split) const;

  const Dataset& dataset_;
  const Training training_;
  std::filesystem::path folder_;
  bool of_search_, has_enough_ = false;
  uint64_t seed_;
  std::optional<RunResult> done_;
  Split split_;
  TargetScaling scaling_;
  Targets targets_;
  std::unique_ptr<Trainer> trainer_;
};

// What a run has come to: what summarise_run() needs beside its trainer.
struct RunEnd {
  const Dataset& dataset;
  const Split& split;
  const TargetScaling& scaling;
  const Scores& scores;  // of all nodes, in the units of the targets
  const Calibration& calibration;
  std::optional<FlowSummary> flow;  // of solvers that have one
};
RunResult summarise_run(const Training& training, Trainer& trainer, RunEnd end);

double median(std::vector<double> values);  // 0 of none

}  // namespace qw
