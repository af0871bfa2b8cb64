#include "study/fit/finalists.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "qw/core/random.h"
#include "study/fit/verdicts.h"

namespace qw {
namespace {

constexpr size_t kFewComplete = 3;  // candidates on all folds, that make an ensemble of them worth while
constexpr size_t kMostJudged = 30;  // candidates, beside those that stand for a side
constexpr int kOfEachSide = 2;
constexpr int kGroupsOfOneFold = 5;

std::vector<int64_t> first_folds(int64_t count) {
  std::vector<int64_t> folds(count);
  std::iota(folds.begin(), folds.end(), int64_t{0});
  return folds;
}

}  // namespace

int64_t common_folds(const Race& race) {
  for (int64_t folds = race.folds(); folds > 1; --folds) {
    size_t complete = 0;
    for (size_t k = 0; k < race.candidates().size(); ++k) complete += race.folds_of(k) >= folds;
    if (complete >= kFewComplete) return folds;
  }
  return 1;
}

std::vector<NodeId> validation_nodes(const Race& race, const std::vector<int64_t>& folds) {
  std::vector<NodeId> nodes;
  for (const int64_t fold : folds) {
    const Split split = race.split_of_fold(fold);
    nodes.insert(nodes.end(), split.val.begin(), split.val.end());
  }
  return nodes;
}

std::vector<double> validation_of(const Race& race, size_t candidate, const std::vector<int64_t>& folds) {
  std::vector<double> all;
  for (const int64_t fold : folds) {
    const std::vector<double> some =
        read_validation(race.folder_with(*race.find(candidate, fold), {"validation.safetensors"}));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<size_t> judged_places(const std::vector<const Candidate*>& best_first) {
  std::vector<bool> judged(best_first.size());
  int without_edges = 0, without_features = 0;
  std::map<Variant, int> of_variant;
  std::vector<const Candidate*> variants;
  for (size_t k = 0; k < best_first.size(); ++k) {
    const Candidate& each = *best_first[k];
    const bool is_plain = each.variant == Variant::kPlain;
    judged[k] = k < kMostJudged || (!is_plain && of_variant[each.variant] < kOfEachSide) ||
                (!each.uses_edges() && without_edges < kOfEachSide) ||
                (!each.uses_features() && without_features < kOfEachSide);
    ++of_variant[each.variant];
    without_edges += !each.uses_edges();
    without_features += !each.uses_features();
    if (judged[k] && !is_plain) variants.push_back(&each);
  }
  std::vector<size_t> places;
  for (size_t k = 0; k < best_first.size(); ++k) {
    const Candidate& each = *best_first[k];
    const auto is_its_network = [&](const Candidate* other) { return is_same_network(*other, each); };
    const bool beside_variant =
        each.variant == Variant::kPlain && std::any_of(variants.begin(), variants.end(), is_its_network);
    if (judged[k] || beside_variant) places.push_back(k);
  }
  return places;
}

Finalists::Finalists(const Dataset& dataset, const Race& race, const std::string& metric, int64_t folds)
    : dataset_(dataset),
      race_(race),
      folds_(folds),
      judge_(dataset.targets, validation_nodes(race, first_folds(folds)), metric) {
  std::vector<size_t> complete;
  for (size_t k = 0; k < race.candidates().size(); ++k) {
    if (race.folds_of(k) >= folds) complete.push_back(k);
  }
  std::stable_sort(complete.begin(), complete.end(),
                   [&](size_t a, size_t b) { return race.mean_score(a) > race.mean_score(b); });
  std::vector<const Candidate*> best_first;
  best_first.reserve(complete.size());
  for (const size_t place : complete) best_first.push_back(&race.candidates()[place]);
  for (const size_t k : judged_places(best_first)) places_.push_back(complete[k]);
  for (const size_t place : places_) predicted_.push_back(validation_of(race, place, first_folds(folds)));
}

std::vector<FitVerdict> Finalists::verdicts() const {
  std::vector<JudgedCandidate> judged;
  for (size_t k = 0; k < places_.size(); ++k)
    judged.push_back({&race_.candidates()[places_[k]], predicted_[k], race_.cut_off(places_[k], folds_)});
  std::vector<int> groups;
  const RandomStream random(1, 0);
  for (int64_t fold = 0; fold < folds_; ++fold) {
    const size_t nodes = race_.split_of_fold(fold).val.size();
    for (size_t i = 0; i < nodes; ++i) {
      groups.push_back(folds_ > 1 ? static_cast<int>(fold)
                                  : static_cast<int>(random.below(i, kGroupsOfOneFold)));
    }
  }
  return make_verdicts(judge_, groups, judged, questions_for(dataset_));
}

}  // namespace qw
