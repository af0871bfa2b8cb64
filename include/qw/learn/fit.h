// From arrays to predictions, in memory:
//
//   qw::Dataset data;
//   data.graph = qw::Graph::build({4, {0, 1, 2}, {1, 2, 3}});                        // edges 0-1, 1-2, 2-3
//   data.features = qw::features_from_dense(4, 2, {1, 0, 1, 0, 0, 1, 0, 1});        // four rows
//   data.targets = qw::class_targets({0, -1, -1, 1});                               // -1: to be predicted
//   const qw::Fitted fitted = qw::fit(data, {.model = "gcn"});
//   const qw::NodePredictions predicted = fitted.predict(data);
//   predicted.classes;                                                              // {0, 0, 1, 1}
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/learn/explain.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// What `qw train` takes, for fit().
struct FitOptions {
  std::string model = "gcn";            // the network: see models() in qw/nn/model.h
  ModelOptions model_options;           // its layers, width, dropout, ...
  LearnOptions learn;                   // solver, lambda, learning rate, epochs, ...
  std::string split = "auto";           // who trains, validates and tests: see qw/graph/split_spec.h
  int64_t runs = 1;                     // independent ones, whose predictions are averaged
  int64_t seed = 0;                     // of the first run; 0: the published seeds
  std::string device = "cpu";           // or cuda, cuda:1
  std::string scale_features = "auto";  // see FeatureScaling
  // Told of every epoch; false stops the training, all runs of it, and fit() throws TrainingStopped.
  std::function<bool(const TrainProgress&)> progress;
};

// What is predicted for each node; the mean over the runs, or what the members of fit_best() say.
struct NodePredictions {
  Task task = Task::kNone;         // what was learned
  int64_t width = 0;               // classes, labels or values
  std::vector<std::string> names;  // of them; empty: numbers
  std::vector<double> values;      // [N * width]: probabilities, or values
  std::vector<int32_t> classes;    // [N]: the likeliest one; empty unless there are classes
};

// A finished training. Copies share their folder.
class Fitted {
 public:
  // On the data it was fitted to or on any other: features must be the same in number (and in name, where
  // they have names), nodes are known by their ids. Throws qw::Error on data that does not fit.
  NodePredictions predict(const Dataset& data) const;
  // Of one run, in the units of the targets: what the network says and what transport adds, [N, width] each.
  Scores scores(const Dataset& data, int64_t run = 0) const;
  // Of one run: what moves along each edge, [E, width], from tail to head where it is above 0; [0] without a
  // flow.
  at::Tensor flow(const Dataset& data, int64_t run = 0) const;
  // Why nodes got their predictions from one run: see qw/learn/explain.h.
  std::vector<NodeExplanation> explain(const Dataset& data, std::span<const NodeId> nodes,
                                       const ExplainOptions& options = {}, int64_t run = 0) const;
  // How data differs from what was trained on.
  DataChanges changes(const Dataset& data) const;
  // Of each run: metrics of its train, validation and test nodes, and more.
  const std::vector<RunResult>& metrics() const { return results_; }
  // What was asked for.
  const TrainRequest& request() const { return request_; }
  // How other data is read so that it fits: LoadOptions::as_trained.
  const DataSchema& schema() const { return memory_.trained_on.schema; }
  // Where it lies, as save() would write it; gone with the last copy where fit() made it.
  const std::filesystem::path& folder() const { return *folder_; }
  // A folder as `qw train --out` makes it: `qw predict`, `qw eval` and load_fitted() read it. It must not
  // exist, or be empty.
  void save(const std::filesystem::path& folder) const;

 private:
  friend Fitted fit(const Dataset& dataset, const FitOptions& options);
  friend Fitted load_fitted(const std::filesystem::path& folder);
  Fitted(std::shared_ptr<const std::filesystem::path> folder, std::vector<RunResult> results);
  Dataset conformed(const Dataset& data) const;

  std::shared_ptr<const std::filesystem::path> folder_;  // removed with the last owner where fit() made it
  TrainRequest request_;
  TrainingMemory memory_;
  std::vector<RunResult> results_;
};

// Learns the labels of a graph. What is learned lies in a folder of its own under the system's temporary
// files until the last copy of the result is gone.
Fitted fit(const Dataset& dataset, const FitOptions& options = {});

// A finished training, from `qw train --out` or Fitted::save. Throws qw::Error when it is none.
Fitted load_fitted(const std::filesystem::path& folder);

}  // namespace qw
