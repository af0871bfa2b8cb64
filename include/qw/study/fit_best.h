// The best prediction for a graph in a given time: candidates of all kinds race on folds of the labelled
// nodes, and the best of them speak together.
//
//   const qw::FitBestResult best = qw::fit_best(dataset, {.seconds = 60}, "runs/teams");
//   qw::load_fitted("runs/teams").predict(dataset);
//
// The folder is that of a training (qw/learn/run.h) whose runs have requests of their own; besides it has
//
//   DIR/ensemble.json   who speaks, and how loudly (qw/learn/ensemble.h)
//   DIR/fit.json        what came out: the race, the verdicts, the metrics
//   DIR/predictions.csv what all together predict, for each node
//   DIR/search/         the race: trials.json, and run-<n> of each trial, without the models of the losers;
//                       with a store, of those that were trained or needed here
//
// Killed, it goes on when it is called again with the same options.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/learn/certainty.h"
#include "qw/learn/metrics.h"

namespace QW_PUBLIC qw {

// How the race stands.
struct FitProgress {
  int64_t trials = 0;        // trainings that are done
  std::string best;          // the leader: "gcn, hidden 128"
  double score = 0;          // its validation metric
  double seconds_left = 0;   // of the time; NaN where trials are counted
  int64_t trials_left = -1;  // where they are counted
};

// What is asked for.
struct FitBestOptions {
  double seconds = 300;         // for everything; used where `trials` is 0
  int64_t trials = 0;           // so many trainings instead: the same result every time
  double spent = 0;             // seconds that are gone already, as for reading the data
  std::string metric = "auto";  // what counts; see qw/metrics/metrics.h
  std::string split = "auto";   // who is held out for test; who validates is drawn anew for every fold
  int64_t seed = 0;             // of split, folds, samples and trainings
  std::string device = "cpu";   // or cuda, cuda:1
  std::string scale_features = "auto";  // see FeatureScaling
  double coverage = 0.9;                // of sets and intervals
  nlohmann::ordered_json data = {};     // how to load the data again: kept, not read
  std::string command = {};             // as it was written: kept, not read
  // Where the trials are shared with all who ask for the same, each with a folder of its own: a file, or
  // postgresql://host/database (qw/study/store.h). Empty: with nobody.
  std::string store = {};
  nlohmann::ordered_json data_in_store = {};  // the name of the data there; null: `data`
  // Told of every training, and several times in it; false stops all, and TrainingStopped is thrown.
  std::function<bool(const FitProgress&)> progress = {};
};

// One who raced.
struct RankedCandidate {
  std::string name;                // "gcn, hidden 128, proximal"
  nlohmann::ordered_json options;  // of qw train, that differ from its defaults
  int64_t folds = 0;               // on which it was trained
  double score = 0;                // validation metric over these folds
  double weight = 0;               // in the ensemble; they sum to 1
};

// A question, answered by pairs of predictions for the same validation nodes. Both sides are chosen on folds
// other than the one they are judged on.
struct FitVerdict {
  std::string question;   // "does the graph help?"
  std::string answer;     // yes, no (it brings less than half a point for sure) or undecided
  std::string candidate;  // who stands for it; "..., cut off" where time ended its training
  std::string against;    // and who against
  double difference = 0;  // in the metric of `measure`
  double half_width = 0;  // of the 95 % interval
  std::string measure;    // accuracy, or r2
};

// How good the best candidate is when it learns from so many labels.
struct LearningPoint {
  int64_t labels = 0;  // of training nodes
  double score = 0;    // validation metric
};

// What came out.
struct FitBestResult {
  std::vector<RankedCandidate> candidates;    // best first
  Metrics validation;                         // of the ensemble, on the validation nodes of all folds
  Metrics test;                               // of the ensemble; empty without test nodes
  Metrics single_test;                        // of the best candidate alone
  double coverage_asked = 0;                  // of sets and intervals
  MeasuredCoverage certainty;                 // what they are on the test nodes
  std::vector<FitVerdict> verdicts;           // in the order of docs/fit.md
  std::vector<std::string> warnings;          // of leakage, one sentence each
  std::vector<LearningPoint> learning_curve;  // fewest labels first; empty: there was no time for it
  double seconds_asked = 0;                   // 0: trials were asked for
  int64_t trials_asked = 0;                   // 0: a time was
  int64_t folds = 0;                          // of the race
  int64_t trials = 0;                         // trainings that were done
  double seconds = 0;                         // that it took, earlier calls included
};

// Called again with the same options when all is done, it gives the result of the first call. Throws
// qw::Error on data without labels, and TrainingStopped.
FitBestResult fit_best(const Dataset& dataset, const FitBestOptions& options,
                       const std::filesystem::path& folder);

// As in fit.json, and back; throws nlohmann::json::exception on what is no such thing.
nlohmann::ordered_json to_json(const FitBestResult& result);
FitBestResult fit_result_from_json(const nlohmann::ordered_json& document);

}  // namespace qw
