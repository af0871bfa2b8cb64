#include "study/fit/folds.h"

#include <algorithm>
#include <cmath>

#include "qw/core/error.h"
#include "study/known_targets.h"

namespace qw {
namespace {

constexpr size_t kManyLabels = 10'000;
constexpr int64_t kFewestFolds = 3, kMostFolds = 5;

}  // namespace

std::vector<Split> make_folds(const Targets& targets, const Split& given, uint32_t seed) {
  std::vector<NodeId> pool;
  std::merge(given.train.begin(), given.train.end(), given.val.begin(), given.val.end(),
             std::back_inserter(pool));
  if (pool.size() < 4) fail("qw fit needs at least 4 nodes with a label that are not held out for test");
  if (pool.size() > kManyLabels && !given.val.empty()) return {given};
  const double share =
      static_cast<double>(pool.size()) / static_cast<double>(std::max<size_t>(1, given.val.size()));
  const int64_t folds = std::clamp<int64_t>(std::llround(share), kFewestFolds, kMostFolds);
  const Targets known = known_targets(targets, pool);
  std::vector<Split> splits;
  for (int64_t fold = 0; fold < folds; ++fold) {
    Split dealt = kfold_split(known, seed, folds, fold);
    Split split{{}, std::move(dealt.test), given.test};
    std::merge(dealt.train.begin(), dealt.train.end(), dealt.val.begin(), dealt.val.end(),
               std::back_inserter(split.train));
    splits.push_back(std::move(split));
    if (pool.size() > kManyLabels) break;
  }
  return splits;
}

}  // namespace qw
