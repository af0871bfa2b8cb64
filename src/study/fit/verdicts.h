// What a race says about the graph, the features and the loss.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qw/study/fit_best.h"
#include "study/fit/judge.h"
#include "study/fit/portfolio.h"

namespace qw {

// A candidate with its predictions for the judge's nodes.
struct JudgedCandidate {
  const Candidate* candidate;
  std::vector<double> predicted;
};

// `group` [n] says for each of the judge's nodes in which group it is judged: its fold, or one of several by
// chance where there is one fold.
std::vector<FitVerdict> make_verdicts(const Judge& judge, const std::vector<int>& group,
                                      const std::vector<JudgedCandidate>& candidates);

}  // namespace qw
