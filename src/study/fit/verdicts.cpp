#include "study/fit/verdicts.h"

#include <algorithm>
#include <cmath>

#include "qw/graph/structure_features.h"
#include "qw/report/paired.h"

namespace qw {
namespace {

using Group = std::vector<int>;
using Suits = std::function<bool(const Candidate&)>;

constexpr double kNothing = 0.005;  // a difference that nobody would pay for

class Sides {
 public:
  Sides(const Judge& judge, const Group& group, const std::vector<JudgedCandidate>& candidates)
      : group_(group), candidates_(candidates) {
    groups_ = 1 + *std::max_element(group.begin(), group.end());
    for (const JudgedCandidate& each : candidates) errors_.push_back(judge.errors(each.predicted));
  }

  int groups() const { return groups_; }

  // Each node is judged by the best on the other groups; the name is that of the best on all.
  JudgedSide of(const Suits& suits) const {
    std::vector<size_t> places;
    for (size_t k = 0; k < candidates_.size(); ++k) {
      if (suits(*candidates_[k].candidate)) places.push_back(k);
    }
    JudgedSide side;
    if (places.empty()) return side;
    side.errors.resize(group_.size());
    side.name = candidates_[best(places, -1)].candidate->name();
    for (int left_out = 0; left_out < groups_; ++left_out) {
      const size_t chosen = best(places, left_out);
      const std::vector<double>& errors = errors_[chosen];
      side.cut_off = side.cut_off || candidates_[chosen].cut_off;
      for (size_t i = 0; i < group_.size(); ++i) {
        if (group_[i] == left_out) side.errors[i] = errors[i];
      }
    }
    return side;
  }

 private:
  size_t best(const std::vector<size_t>& places, int left_out) const {
    size_t found = places.front();
    double least = INFINITY;
    for (const size_t place : places) {
      double sum = 0;
      for (size_t i = 0; i < group_.size(); ++i) sum += group_[i] == left_out ? 0.0 : errors_[place][i];
      if (sum < least) {
        least = sum;
        found = place;
      }
    }
    return found;
  }

  const Group& group_;
  const std::vector<JudgedCandidate>& candidates_;
  std::vector<std::vector<double>> errors_;
  int groups_ = 1;
};

// Half the width of the interval of a difference of two shares: half an observation is added to each cell of
// their two by two table (Agresti and Min, 2005), so that a few nodes that all agree prove nothing.
double half_width_of_shares(const PairedComparison& paired) {
  const auto n = static_cast<double>(paired.pairs);
  const double t = student_t(0.95, paired.pairs - 1);
  const double squares = paired.half_width * paired.half_width / (t * t) * n * (n - 1);
  return t * std::sqrt((squares + 1) / ((n + 2) * (n + 1)));
}

}  // namespace

Questions questions_for(const Dataset& dataset) {
  return {!features_show_graph(dataset), !dataset.made_features && dataset.features.columns > 0};
}

// The interval is widened as Nadeau and Bengio (2003) do, since what the groups say is not independent: who
// is chosen for one is judged by the others, and folds share training nodes.
FitVerdict compare_sides(const std::string& question, const JudgedSide& with, const JudgedSide& without,
                         const Judge& judge, int groups) {
  const auto named = [](const JudgedSide& side) { return side.name + (side.cut_off ? ", cut off" : ""); };
  FitVerdict verdict{question, "undecided", named(with), named(without), 0, 0, judge.error_measure()};
  const PairedComparison paired = compare_paired(with.errors, without.errors, true);
  verdict.difference = paired.difference;  // what `without` is wrong by and `with` is not
  const bool of_shares = verdict.measure == "accuracy";
  verdict.half_width = (of_shares ? half_width_of_shares(paired) : paired.half_width) *
                       std::sqrt(1 + static_cast<double>(groups) / std::max(1, groups - 1));
  const bool wins = verdict.difference - verdict.half_width > 0 && verdict.difference > kNothing;
  const bool loses = verdict.difference + verdict.half_width < kNothing;
  if (wins && !without.cut_off) verdict.answer = "yes";
  if (loses && !with.cut_off) verdict.answer = "no";
  return verdict;
}

std::vector<FitVerdict> make_verdicts(const Judge& judge, const std::vector<int>& group,
                                      const std::vector<JudgedCandidate>& candidates,
                                      const Questions& questions) {
  std::vector<FitVerdict> verdicts;
  if (group.size() < 2) return verdicts;
  const Sides sides(judge, group, candidates);
  const auto ask = [&](const std::string& question, const Suits& with, const Suits& without) {
    const JudgedSide one = sides.of(with), other = sides.of(without);
    if (!one.errors.empty() && !other.errors.empty())
      verdicts.push_back(compare_sides(question, one, other, judge, sides.groups()));
  };
  if (questions.graph) {
    ask(
        "does the graph help?", [](const Candidate& each) { return each.uses_edges(); },
        [](const Candidate& each) { return !each.uses_edges(); });
  }
  if (questions.features) {
    ask(
        "do the features help?", [](const Candidate& each) { return each.uses_features(); },
        [](const Candidate& each) { return !each.uses_features(); });
  }
  const auto ask_of = [&](const std::string& question, Variant variant) {
    const auto has_both = [&](const Candidate& plain) {
      return std::any_of(candidates.begin(), candidates.end(), [&](const JudgedCandidate& each) {
        return each.candidate->variant == variant && is_same_network(*each.candidate, plain);
      });
    };
    ask(
        question, [&](const Candidate& each) { return each.variant == variant; },
        [&](const Candidate& each) { return each.variant == Variant::kPlain && has_both(each); });
  };
  ask_of("does QW help?", Variant::kQw);
  ask_of("do edge weights from the flow help?", Variant::kEdgeWeights);
  return verdicts;
}

}  // namespace qw
