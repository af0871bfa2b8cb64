// Trainings as a person asks for them: several runs over several splits, in a folder that survives anything.
//
//   DIR/config.json        what was asked for, with the schema's version
//   DIR/schema.json, split.csv, trained_on.safetensors, manifest.json
//                          what it was trained on (qw/learn/memory.h)
//   DIR/summary.json       the result, once all runs are done
//   DIR/run-0/ ...         one per run:
//     checkpoint.safetensors  everything, every few epochs; gone when the run is done
//     metrics.jsonl           one line per epoch
//     model.safetensors, model.json, flow.safetensors
//     calibration.json        what the validation nodes say of how sure predictions are
//     predictions.csv         one row for each node (qw/learn/predictions.h)
//     manifest.json           checksums of the files here
//     summary.json            the result of this run; its presence says that the run is done
//
// Every file is written atomically, and checked against its checksum when it is read. One process at a time
// writes to a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/export.h"
#include "qw/graph/split_spec.h"
#include "qw/learn/baselines.h"
#include "qw/learn/certainty.h"
#include "qw/learn/memory.h"
#include "qw/learn/predictions.h"
#include "qw/learn/scaling.h"
#include "qw/learn/trainer.h"

namespace QW_PUBLIC qw {

// What to train: the contents of config.json.
struct TrainRequest {
  nlohmann::ordered_json data;          // how to load the data again: kept in config.json, not read
  std::string command;                  // as it was written: kept in schema.json, not read
  std::string model = "gcn";            // the network: see models() in qw/nn/model.h
  ModelOptions model_options;           // its width, layers, dropout, ...
  LearnOptions learn;                   // solver, lambda, learning rate, epochs, ...
  std::string split = "published";      // who trains, validates and tests: see qw/graph/split_spec.h
  int64_t runs = 1;                     // independent ones, each with a split and a seed of its own
  int64_t seed = 0;                     // 0: the ten published seeds, one per run; else seed, seed + 1, ...
  std::string device = "cpu";           // cpu, cuda or cuda:N
  std::string scale_features = "auto";  // see FeatureScaling
  int64_t checkpoint_every = 50;        // epochs
  double coverage = 0.9;                // of the sets or intervals in predictions.csv
  std::string baselines = "auto";  // what else is fitted: all; none; auto: what takes a tenth of the time
  // The folder of an earlier training: its networks are taken as they are, run by run, and only the flow is
  // fitted, to the labels as they are now. Its model, model_options and seed must be those of that training;
  // parts and scales are (see make_memory).
  std::string refit_flow;
};

// As in config.json, and back; throws qw::Error that begins with `file` on what is no request.
nlohmann::ordered_json to_json(const TrainRequest& request);
TrainRequest request_from_json(const nlohmann::ordered_json& document, const std::string& file);

// The options of a request by name, whichever of its parts they belong to: what differs from the defaults,
// without the data and what changes no training (runs, device, checkpoint_every, coverage, baselines).
nlohmann::ordered_json options_json(const TrainRequest& request);
// Sets options by name; throws qw::UsageError that begins with `context`.
void set_options(TrainRequest& request, const nlohmann::ordered_json& options, const std::string& context);

// The seed of a run, for its split, its initial values and its dropouts.
uint64_t seed_of_run(const TrainRequest& request, int64_t run);

// The split of a run: what request.split says (see qw/graph/split_spec.h).
Split split_of(const TrainRequest& request, const Dataset& dataset, int64_t run);

// What came out of one run: the contents of its summary.json.
struct RunResult {
  int64_t run = 0;         // from 0
  uint64_t seed = 0;       // see seed_of_run
  int64_t epochs = 0;      // that were run
  int64_t best_epoch = 0;  // the one that counts
  // At the best epoch.
  Metrics train, val, test;
  std::vector<ClassRow> classes;    // of the test nodes
  int64_t parameters = 0;           // of the network and its edge predictor; 0 when not known
  double step_ms = 0;               // median; 0 when the run was done by an earlier process
  std::optional<FlowSummary> flow;  // of solvers that have one
  TargetScaling scaling;            // in which the model learned
  SplitSizes split;                 // nodes of each part
  double temperature = 1;           // see Calibration
  MeasuredCoverage certainty;       // of the test nodes' sets
  int64_t classes_predicted = 0;    // different ones, on the test nodes; 0 for values
  Baselines baselines;              // empty in what is read from a run folder
};

// One run of a request.
struct Training {
  TrainRequest request;  // what is trained
  int64_t run = 0;       // which of its runs
};

// As in summary.json of a run.
nlohmann::ordered_json to_json(const RunResult& result);
// Throws nlohmann::json::exception on what is no such thing.
RunResult result_from_json(const nlohmann::ordered_json& json);

// One epoch of one run, as it ends.
struct TrainProgress {
  int64_t run = 0;     // whose epoch it is
  int64_t runs = 1;    // of the request
  EpochRecord record;  // of this epoch
  int64_t epochs = 0;  // at most
  // Of this run, up to this epoch, also those of an earlier process; valid during the call.
  std::span<const EpochRecord> history;
  bool is_last = false;  // no epoch of this run follows
};

// A training that was told to stop. Its folder, if it has one, has all runs as far as they had come.
class TrainingStopped : public Error {
 public:
  TrainingStopped() : Error("the training was stopped before its end") {}
};

// Does all runs that are not done yet, in parallel when the graph is small, and gives all results in order;
// the same bits whatever was done before, for any number of threads. An empty folder keeps nothing on disk;
// one that was begun goes on, and throws qw::Error when the data is not what it was.
// `progress` is called by one thread at a time, and stops all runs with `false`: then TrainingStopped is
// thrown.
std::vector<RunResult> train(const Dataset& dataset, const TrainRequest& request,
                             const std::filesystem::path& folder,
                             const std::function<bool(const TrainProgress&)>& progress = {});

// Where trainings come from and go to, each function called by one thread at a time.
struct TrainingFeed {
  // Up to `most` more; none: that was all. On a GPU those that are taken together train together: they should
  // have the same model and solver.
  std::function<std::vector<Training>(int64_t most)> take;
  std::function<void(const Training&, const RunResult&)> done;  // what it throws ends all
  // One that went wrong, with the error's text; others go on. Without it the error ends all, as an
  // InternalError always does.
  std::function<void(const Training&, const std::string&)> failed;
  // May be empty; false stops them all. The trainer has this epoch in its history.
  std::function<bool(const Training&, const EpochRecord&, const Trainer&)> epoch;
  // May be empty; true: this one has had enough epochs, and counts as far as it came.
  std::function<bool(const Training&, const EpochRecord&)> enough;
};

// Does them all, side by side where the graph is small; each gives the result it would give alone, to the
// bit. All must ask for this `device` and these `scale_features`. Nothing is kept on disk.
void train_all(const Dataset& dataset, const std::string& device, const std::string& scale_features,
               const TrainingFeed& feed);

// A search among trainings of different requests, kept in one folder.
struct KeptSearch {
  // Of each training: run-<run>, as train() makes it, with config.json, its own request, and
  // validation.safetensors, read by read_validation(), but without predictions.csv.
  std::filesystem::path folder;
  FeatureScaling scaling;                       // of the features, for all
  std::function<Split(const Training&)> split;  // who trains
};

// The same, kept: what is done already is read, and what was begun goes on.
void train_all(const Dataset& dataset, const std::string& device, const KeptSearch& search,
               const TrainingFeed& feed);

// [n * width]: what a kept training predicts for its validation nodes: calibrated probabilities, or values.
std::vector<double> read_validation(const std::filesystem::path& run_folder);

// {"train": {"accuracy": {"mean", "std", "ci95", "runs"}}, ...} and what else a summary says.
nlohmann::ordered_json summary_json(const TrainRequest& request, const Dataset& dataset,
                                    const std::vector<RunResult>& results);

// The model and the flow of a finished run, on the data it was trained on or on other data, read as that was
// (LoadOptions::as_trained, or conform()): nodes are matched by their ids, edges by their ends; nodes that
// are new get what the network says, and nothing by transport. On the same data scores have the bits of the
// training's end. A run folder with a request of its own (see KeptSearch) goes by that.
struct Reloaded {
  std::unique_ptr<Model> model;    // the network
  Scores scores;                   // in the units of the targets
  at::Tensor flow;                 // [E, C] on the edges of the data, in the units of the targets; [0]: none
  std::vector<NodeId> trained_as;  // [N]: the node in the training's data, -1: new
  Calibration calibration;         // of this run
};
Reloaded reload(const std::filesystem::path& run_folder, const TrainRequest& request,
                const TrainingMemory& memory, const Dataset& dataset);

// What makes the numbers of a training doubtful, one sentence each: classes that are missing from a part,
// one class predicted for all, results no better than a baseline's.
std::vector<std::string> result_warnings(const Dataset& dataset, const TrainRequest& request,
                                         const std::vector<RunResult>& results);

}  // namespace qw
