#include "study/fit/folds.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "qw/core/error.h"
#include "qw/core/random.h"
#include "study/known_targets.h"

namespace qw {
namespace {

constexpr size_t kManyLabels = 10'000;
constexpr int64_t kFewestFolds = 3, kMostFolds = 5;

}  // namespace

std::vector<Split> make_folds(const Targets& targets, const Split& given, uint32_t seed) {
  const std::vector<NodeId> pool = pool_of(given);
  if (pool.size() < 4) fail("qw fit needs at least 4 nodes with a label that are not held out for test");
  if (pool.size() > kManyLabels && !given.val.empty()) return {given};
  const double share =
      static_cast<double>(pool.size()) / static_cast<double>(std::max<size_t>(1, given.val.size()));
  const int64_t folds = std::clamp<int64_t>(std::llround(share), kFewestFolds, kMostFolds);
  const Targets known = known_targets(targets, pool);
  std::vector<Split> splits;
  for (int64_t fold = 0; fold < folds; ++fold) {
    Split dealt = kfold_split(known, seed, folds, fold);
    splits.push_back({pool_of(dealt), std::move(dealt.test), given.test});
    if (pool.size() > kManyLabels) break;
  }
  return splits;
}

std::vector<NodeId> pool_of(const Split& split) {
  std::vector<NodeId> pool;
  std::merge(split.train.begin(), split.train.end(), split.val.begin(), split.val.end(),
             std::back_inserter(pool));
  return pool;
}

Split thinned(const Targets& targets, const Split& fold, double share, uint32_t seed) {
  std::map<int32_t, std::vector<NodeId>> of_class;
  for (const NodeId node : fold.train) {
    of_class[targets.task == Task::kClassification ? targets.classes[node] : 0].push_back(node);
  }
  const RandomStream random(seed, 0);
  Split some{{}, fold.val, fold.test};
  for (auto& [name, nodes] : of_class) {
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return random.uniform(a) < random.uniform(b); });
    nodes.resize(static_cast<size_t>(std::ceil(share * static_cast<double>(nodes.size()))));
    some.train.insert(some.train.end(), nodes.begin(), nodes.end());
  }
  std::sort(some.train.begin(), some.train.end());
  return some;
}

}  // namespace qw
