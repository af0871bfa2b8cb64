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
  bool cut_off = false;  // it had no time to learn all it could
};

// What one side of a question is wrong by.
struct JudgedSide {
  std::vector<double> errors = {};  // [n], see Judge::errors; empty: nobody stands for it
  std::string name = {};            // who does
  bool cut_off = false;             // it could be better than it is
};

// What can be asked of the data: features that were made from the graph say nothing about either.
struct Questions {
  bool graph = true;
  bool features = true;
};
Questions questions_for(const Dataset& dataset);

// Who is right more often, by errors for the same nodes, that were judged in so many groups. Who was cut off
// can win, but that it lost says nothing.
FitVerdict compare_sides(const std::string& question, const JudgedSide& with, const JudgedSide& without,
                         const Judge& judge, int groups);

// `group` [n] says for each of the judge's nodes in which group it is judged: its fold, or one of several by
// chance where there is one fold.
std::vector<FitVerdict> make_verdicts(const Judge& judge, const std::vector<int>& group,
                                      const std::vector<JudgedCandidate>& candidates,
                                      const Questions& questions = {});

}  // namespace qw
