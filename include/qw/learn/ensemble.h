// One run of a training read again, or several as an ensemble.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "qw/core/export.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// Which runs of a folder speak for it together, and how loudly: its ensemble.json, made by fit_best().
struct EnsembleMembers {
  std::vector<int64_t> runs;       // of the folder
  std::vector<double> weights;     // of their predictions; above 0
  std::vector<int64_t> single;     // those of the best candidate alone, all of the same weight
  Calibration calibration;         // of all together
  Calibration single_calibration;  // of the best candidate alone
};
void write_members(const std::filesystem::path& folder, const EnsembleMembers& members);
// Nothing: the folder has no such file.
std::optional<EnsembleMembers> read_members(const std::filesystem::path& folder);

// Predictions of one or more runs, and what the training knows of every node.
class Ensemble {
 public:
  // Run folders of one training that are finished, on data as reload() takes it; all of the same weight
  // unless given.
  Ensemble(const std::vector<std::filesystem::path>& run_folders, const TrainRequest& request,
           const TrainingMemory& memory, const Dataset& dataset, std::vector<double> weights = {});

  // Means over the runs of what networks say and what transport adds, in the units of the targets.
  const Scores& scores() const { return scores_; }
  // [N * width]: mean of calibrated probabilities, or of values, and their standard deviation between runs.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& spread() const { return spread_; }
  // mean() as scores.
  Scores predicted() const;

  // As the training had them, whatever was labelled since. A node that trains in any run is a training node;
  // one that validates in any, a validation node; test nodes are so in every run.
  const std::vector<NodePart>& parts() const { return parts_; }
  std::vector<NodeId> nodes_of(NodePart part) const;

  // Of one run its own. Of several the temperature is 1, since their probabilities are calibrated already,
  // and strangeness is that of nodes that validate in every run; empty: there is none.
  const Calibration& calibration() const { return calibration_; }
  // What is known of it from elsewhere; see EnsembleMembers.
  void use_calibration(Calibration calibration) { calibration_ = std::move(calibration); }

 private:
  void add_parts(const std::vector<NodePart>& parts, bool first);

  Task task_;
  int64_t width_;
  Scores scores_;
  std::vector<double> mean_, spread_;
  std::vector<NodePart> parts_;
  Calibration calibration_;
};

}  // namespace qw
