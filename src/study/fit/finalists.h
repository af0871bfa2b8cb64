// Those of a race who are judged, and what they said.
#pragma once

#include <string>
#include <vector>

#include "qw/study/fit_best.h"
#include "study/fit/judge.h"
#include "study/fit/race.h"

namespace qw {

// Of candidates, the best first, the places of those to judge: the best, and of each side of a question the
// best two, which may be far behind where the answer is clear.
std::vector<size_t> judged_places(const std::vector<const Candidate*>& best_first);

// The best candidates that did the first `folds` folds, judged on the validation nodes of these.
class Finalists {
 public:
  Finalists(const Dataset& dataset, const Race& race, const std::string& metric, int64_t folds);

  int64_t folds() const { return folds_; }
  const Judge& judge() const { return judge_; }
  const std::vector<size_t>& places() const { return places_; }  // in Race::candidates(), best first
  // [n * width] of each, for the judge's nodes.
  const std::vector<std::vector<double>>& predicted() const { return predicted_; }

  std::vector<FitVerdict> verdicts() const;

 private:
  const Dataset& dataset_;
  const Race& race_;
  int64_t folds_;
  Judge judge_;
  std::vector<size_t> places_;
  std::vector<std::vector<double>> predicted_;
};

// The most folds that enough candidates did.
int64_t common_folds(const Race& race);

// Nodes that validate in these folds, and what a candidate predicts for them.
std::vector<NodeId> validation_nodes(const Race& race, const std::vector<int64_t>& folds);
std::vector<double> validation_of(const Race& race, size_t candidate, const std::vector<int64_t>& folds);

}  // namespace qw
