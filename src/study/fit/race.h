// The race: candidates are trained on folds until the time, or the number of trials, is used up.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "qw/learn/run.h"
#include "qw/study/fit_best.h"
#include "study/fit/portfolio.h"

namespace qw {

// One training of the race.
struct RacedTrial {
  size_t candidate = 0;  // its place in Race::candidates()
  int64_t fold = 0;
  int64_t run = 0;      // search/run-<run>
  double score = 0;     // validation metric, more is better; NaN: it failed
  bool done = false;    // perhaps by an earlier call
  bool counts = false;  // from the place in the race on where it would have been done without an interruption
};

class Race {
 public:
  // Goes on with what `folder` has. Everything must outlive it.
  Race(const Dataset& dataset, const std::vector<Split>& folds, const FitBestOptions& options,
       const std::filesystem::path& folder);

  // Until the end. Throws TrainingStopped.
  void run();

  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<RacedTrial>& trials() const { return trials_; }
  // The trial of a candidate on a fold if it counts and went well, else null.
  const RacedTrial* find(size_t candidate, int64_t fold) const;
  // How many folds from the first on it has.
  int64_t folds_of(size_t candidate) const;
  // Over these folds; NaN without one.
  double mean_score(size_t candidate) const;
  std::filesystem::path folder_of(const RacedTrial& trial) const;
  int64_t trials_done() const;
  double seconds() const;  // since the beginning, earlier calls included

 private:
  struct Wanted {
    Candidate candidate;
    int64_t fold;
  };
  using Batch = std::vector<Wanted>;

  void explore();
  void confirm();
  Batch next_samples();
  std::vector<size_t> ranked(int64_t fold) const;  // candidates that did this fold, best first
  void run_batch(const Batch& batch);
  void train(std::vector<size_t> queue);
  size_t place_of(const Candidate& candidate);
  size_t trial_of(const Wanted& wanted);
  TrainRequest request_of(const Candidate& candidate) const;
  bool fits(const TrainRequest& request) const;
  bool is_over(double share) const;  // of the time or the trials
  bool too_late() const;             // to go on training
  void load_index();
  void write_index() const;
  bool tell();

  const Dataset& dataset_;
  const std::vector<Split>& folds_;
  const FitBestOptions& options_;
  std::filesystem::path folder_;
  nlohmann::ordered_json data_;  // its fingerprint: other data does not go on in this folder
  Portfolio portfolio_;
  FeatureScaling scaling_;
  std::vector<Candidate> candidates_;
  std::vector<RacedTrial> trials_;
  std::map<std::string, int64_t> samples_;  // drawn from each family
  double spent_before_ = 0;
  double begin_ = 0;
  double step_seconds_ = 0;  // of the slowest training so far
  bool out_of_time_ = false, interrupted_ = false;
};

}  // namespace qw
