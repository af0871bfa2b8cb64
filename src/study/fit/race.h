// The race: candidates are trained on folds until the time, or the number of trials, is used up.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qw/learn/run.h"
#include "qw/study/fit_best.h"
#include "study/fit/portfolio.h"
#include "study/fit/shared_trials.h"

namespace qw {

// The error of a trial that needs more memory than there is.
inline constexpr const char* kTooLarge = "does not fit in the memory";

// Of the training nodes, in the learning curve beside all of them.
inline constexpr std::array kCurveShares{0.5, 0.25};

// One training of the race.
struct RacedTrial {
  size_t candidate = 0;     // its place in Race::candidates()
  int64_t fold = 0;         // see Race::thinned_fold
  int64_t run = 0;          // search/run-<run>
  double score = 0;         // validation metric, more is better; NaN: it failed
  std::string error = {};   // why it did
  double step_seconds = 0;  // of one of its steps; 0: unknown
  bool cut_off = false;     // there was no time for all its epochs
  bool done = false;        // perhaps by an earlier call
  bool counts = false;  // from the place in the race on where it would have been done without an interruption
};

class Race {
 public:
  // Goes on with what `folder` has. Everything must outlive it. `shared`: others race, too; null: nobody.
  Race(const Dataset& dataset, const std::vector<Split>& folds, const FitBestOptions& options,
       const std::filesystem::path& folder, SharedTrials* shared);

  // Until the end. Throws TrainingStopped.
  void run();

  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<RacedTrial>& trials() const { return trials_; }
  // The trial of a candidate on a fold if it counts and went well, else null.
  const RacedTrial* find(size_t candidate, int64_t fold) const;
  int64_t folds() const { return static_cast<int64_t>(folds_.size()); }
  // The fold with fewer labels to learn from: level 0 is itself, level k has kCurveShares[k - 1] of them.
  int64_t thinned_fold(int64_t fold, size_t level) const {
    return fold + static_cast<int64_t>(level) * folds();
  }
  Split split_of_fold(int64_t fold) const;
  // Who was trained with fewer labels.
  std::optional<size_t> curve_candidate() const;
  // How many folds from the first on it has.
  int64_t folds_of(size_t candidate) const;
  // Over these folds; NaN without one.
  double mean_score(size_t candidate) const;
  // Whether it was cut off in one of the first so many folds.
  bool cut_off(size_t candidate, int64_t folds) const;
  // Why trainings failed: the first reason, or an empty text.
  std::string first_error() const;
  std::filesystem::path folder_of(const RacedTrial& trial) const;
  // The same, with these files of it also where another process did the trial.
  std::filesystem::path folder_with(const RacedTrial& trial, const std::vector<std::string>& names) const;
  TrainRequest request_of(const Candidate& candidate) const;
  int64_t trials_done() const;
  double seconds() const;  // since the beginning, earlier calls included

 private:
  struct Wanted {
    Candidate candidate;
    int64_t fold;
  };
  using Batch = std::vector<Wanted>;
  // Places in trials().
  struct Queue {
    std::vector<size_t> ours;
    std::vector<size_t> free;  // which others may take, too
  };

  void run_on(const std::vector<Candidate>& candidates, int64_t folds);  // the first so many
  void compare_on_all_folds();
  void explore();
  // Each adds to what is known; none does when there is nothing left to do for it.
  void confirm();
  void draw_curve();
  void repeat_winner();
  void sample_more();
  std::vector<Candidate> next_samples();
  std::vector<size_t> ranked() const;  // candidates that were compared, best first
  void add_untried_variants(std::vector<Candidate>& candidates) const;
  size_t candidates_tried() const;
  void run_batch(const Batch& batch);
  void train(Queue queue);
  std::vector<Training> take(Queue& queue, int64_t most);
  bool go_together(const TrainRequest& one, const TrainRequest& other) const;
  void finish(size_t place, StoredResult result);
  void set_score(RacedTrial& trial, double metric) const;
  // With others.
  void train_shared(std::vector<size_t> lacking);
  void claim(Queue& queue, int64_t most);
  void learn_of_others(std::vector<size_t>& lacking);
  SharedTrial shared_trial(const RacedTrial& trial) const;
  size_t place_of(const Candidate& candidate);
  size_t trial_of(const Wanted& wanted);
  // Of memory, that the training is planned to need beside those at work; nothing where it would not fit
  // alone.
  std::optional<int64_t> memory_of(const TrainRequest& request) const;
  bool has_room(int64_t bytes) const;
  bool is_over(double share) const;  // of the time or the trials
  bool too_late() const;             // to go on training
  void reserve_time();               // for what comes after the race
  void load_index();
  void write_index() const;
  bool tell();

  const Dataset& dataset_;
  const std::vector<Split>& folds_;
  const FitBestOptions& options_;
  SharedTrials* shared_;
  double begin_;  // before what takes long: members are made in this order
  std::filesystem::path folder_;
  nlohmann::ordered_json data_;  // its fingerprint: other data does not go on in this folder
  FeatureScaling scaling_;
  Portfolio portfolio_;
  std::vector<Candidate> candidates_;
  std::vector<RacedTrial> trials_;
  std::map<std::string, int64_t> samples_;  // drawn from each family
  double spent_before_ = 0;
  double reserved_ = 0;                     // seconds, for what comes after the race
  double slowest_end_ = 0;                  // seconds, of a training after its last epoch
  std::map<size_t, double> last_epoch_;     // when it was, of trials at work
  int64_t compared_folds_ = 1;              // on which candidates are compared
  int64_t memory_ = 0;                      // that there was at the beginning; 0: unknown
  std::map<size_t, double> trained_since_;  // trials at work
  std::map<size_t, int64_t> memory_at_work_;
  bool out_of_time_ = false, interrupted_ = false;
};

}  // namespace qw
