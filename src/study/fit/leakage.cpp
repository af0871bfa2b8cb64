#include "study/fit/leakage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/text.h"
#include "qw/core/parallel.h"
#include "study/fit/folds.h"

namespace qw {
namespace {

constexpr double kManyCopies = 0.02;     // of the test nodes
constexpr double kGivenAway = 0.99;      // F1 of one feature alone, or its correlation
constexpr double kMostOfOneClass = 0.9;  // a class that nearly all have is no secret
constexpr size_t kFewestOfClass = 10;
constexpr size_t kMostWarnings = 5;
constexpr size_t kMostNodes = 5000;  // that are looked at
constexpr size_t kMostBins = 16,
                 kNodesPerBin = 20;  // of a feature's values: few would tell a class by chance

class Mixer {
 public:
  void add(const void* bytes, size_t size) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < size; ++i) hash_ = (hash_ ^ at[i]) * 0x100000001b3u;
  }
  template <class T>
  void add(const T& value) {
    add(&value, sizeof(value));
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

// Equal for nodes with the same features, neighbours and label; 0 for those that have no edges or no features
// of their own.
uint64_t print_of(const Dataset& dataset, NodeId node) {
  const auto& in = dataset.graph.in();
  const int64_t begin = in.offsets[node], end = in.offsets[node + 1];
  if (begin == end || dataset.made_features) return 0;  // twins in the graph are twins in what it made
  Mixer mixer;
  for (int64_t k = begin; k < end; ++k) mixer.add(in.neighbours[k]);
  const Features& features = dataset.features;
  if (features.sparse) {
    for (int64_t k = features.offsets[node]; k < features.offsets[node + 1]; ++k) {
      mixer.add(features.indices[k]);
      mixer.add(features.values[k]);
    }
  } else {
    mixer.add(features.dense.data() + node * features.columns, features.columns * sizeof(float));
  }
  const Targets& targets = dataset.targets;
  if (!targets.classes.empty()) mixer.add(targets.classes[node]);
  if (!targets.values.empty())
    mixer.add(targets.values.data() + node * targets.width, targets.width * sizeof(double));
  return mixer.hash() | 1;
}

void warn_of_copies(const Dataset& dataset, const std::vector<NodeId>& pool, const std::vector<NodeId>& test,
                    std::vector<std::string>& warnings) {
  std::unordered_map<uint64_t, int> known;
  for (const NodeId node : pool) ++known[print_of(dataset, node)];
  const auto copies = std::count_if(test.begin(), test.end(), [&](NodeId node) {
    const uint64_t print = print_of(dataset, node);
    return print != 0 && known.contains(print);
  });
  if (static_cast<double>(copies) < kManyCopies * static_cast<double>(test.size()) || copies == 0) return;
  warnings.push_back(fmt::format(
      "{} of {} test nodes are copies of nodes to learn from (features, neighbours and label): what is "
      "measured on them is too good",
      copies, test.size()));
}

// The values of one feature at some nodes.
class Columns {
 public:
  Columns(const Features& features, const std::vector<NodeId>& nodes) : features_(features), nodes_(nodes) {
    if (!features.sparse) return;
    entries_.resize(features.columns);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (int64_t k = features.offsets[nodes[i]]; k < features.offsets[nodes[i] + 1]; ++k)
        entries_[features.indices[k]].emplace_back(i, features.values[k]);
    }
  }

  std::vector<float> operator[](int64_t column) const {
    std::vector<float> values(nodes_.size(), 0);
    if (features_.sparse) {
      for (const auto& [place, value] : entries_[column]) values[place] = value;
    } else {
      for (size_t i = 0; i < nodes_.size(); ++i)
        values[i] = features_.dense[nodes_[i] * features_.columns + column];
    }
    return values;
  }

 private:
  const Features& features_;
  const std::vector<NodeId>& nodes_;
  std::vector<std::vector<std::pair<size_t, float>>> entries_;
};

// [n]: which of a few groups of neighbouring values each is in; those that are equal are together.
std::vector<size_t> bins_of(const std::vector<float>& values) {
  std::vector<float> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const size_t bins = std::clamp<size_t>(sorted.size() / kNodesPerBin, 2, kMostBins);
  std::vector<float> bounds;
  for (size_t k = 1; k < bins; ++k) bounds.push_back(sorted[k * sorted.size() / bins]);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<size_t> of_value;
  for (const float value : values) {
    const auto bound = std::lower_bound(bounds.begin(), bounds.end(), value);
    const bool is_bound = bound != bounds.end() && *bound == value;  // a bin of its own: often a category
    of_value.push_back(2 * (bound - bounds.begin()) + (is_bound ? 1 : 0));
  }
  return of_value;
}

// F1 of telling a class by "at most t" or "more than t", for the best t.
double best_by_threshold(const std::vector<std::pair<float, int32_t>>& sorted, int32_t which, size_t all) {
  double best = 0;
  size_t below = 0;
  for (size_t k = 0; k + 1 < sorted.size(); ++k) {
    below += sorted[k].second == which;
    if (sorted[k].first == sorted[k + 1].first) continue;
    const size_t said = k + 1, rest = sorted.size() - said;
    best = std::max({best, 2.0 * static_cast<double>(below) / static_cast<double>(said + all),
                     2.0 * static_cast<double>(all - below) / static_cast<double>(rest + all)});
  }
  return best;
}

// The class that this feature tells by itself; -1: none.
int32_t class_told(const std::vector<float>& values, const std::vector<int32_t>& classes, int64_t width) {
  const std::vector<size_t> bins = bins_of(values);
  std::vector<std::vector<size_t>> counts(2 * kMostBins + 1, std::vector<size_t>(width, 0));
  std::vector<size_t> of_class(width, 0);
  for (size_t i = 0; i < bins.size(); ++i) {
    ++counts[bins[i]][classes[i]];
    ++of_class[classes[i]];
  }
  std::vector<std::pair<float, int32_t>> sorted;
  for (size_t i = 0; i < values.size(); ++i) sorted.emplace_back(values[i], classes[i]);
  std::sort(sorted.begin(), sorted.end());
  for (int32_t each = 0; each < width; ++each) {
    const size_t all = of_class[each];
    if (all < kFewestOfClass || static_cast<double>(all) > kMostOfOneClass * static_cast<double>(bins.size()))
      continue;
    size_t hits = 0, said = 0;
    for (const std::vector<size_t>& bin : counts) {
      size_t inside = 0;
      for (const size_t count : bin) inside += count;
      if (2 * bin[each] <= inside) continue;
      hits += bin[each];
      said += inside;
    }
    if (2.0 * static_cast<double>(hits) >= kGivenAway * static_cast<double>(said + all)) return each;
    if (best_by_threshold(sorted, each, all) >= kGivenAway) return each;
  }
  return -1;
}

double correlation(const std::vector<float>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mx += x[i] / static_cast<double>(x.size());
    my += y[i] / static_cast<double>(x.size());
  }
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
    xy += (x[i] - mx) * (y[i] - my);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::string quoted_name(const Features& features, int64_t column) {
  return features.names.empty() ? fmt::format("{}", column) : in_quotes(features.names[column]);
}

void warn_of_features(const Dataset& dataset, std::vector<NodeId> nodes, std::vector<std::string>& warnings) {
  const Targets& targets = dataset.targets;
  const bool classes = targets.task == Task::kClassification;
  if (!classes && (targets.task != Task::kRegression || targets.width != 1)) return;
  if (nodes.size() > kMostNodes) nodes.resize(kMostNodes);
  if (nodes.size() < 2 * kFewestOfClass) return;
  std::vector<int32_t> truth;
  std::vector<double> values;
  for (const NodeId node : nodes) {
    if (classes) truth.push_back(targets.classes[node]);
    if (!classes) values.push_back(targets.values[node]);
  }
  const Columns columns(dataset.features, nodes);
  std::vector<std::string> found(dataset.features.columns);
  parallel_for(dataset.features.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) {
      const std::vector<float> feature = columns[column];
      const std::string name = quoted_name(dataset.features, column);
      const int32_t told = classes ? class_told(feature, truth, targets.width) : -1;
      if (told >= 0) {
        found[column] = fmt::format(
            "feature {} alone tells class {}: was it made from the label? --drop leaves it out", name,
            targets.names.empty() ? fmt::format("{}", told) : in_quotes(targets.names[told]));
      } else if (!classes && std::abs(correlation(feature, values)) > kGivenAway) {
        found[column] = fmt::format(
            "feature {} is nearly the value itself: was it made from it? --drop leaves it out", name);
      }
    }
  });
  for (std::string& warning : found) {
    if (!warning.empty() && warnings.size() < kMostWarnings) warnings.push_back(std::move(warning));
  }
}

}  // namespace

std::vector<std::string> leakage_warnings(const Dataset& dataset, const Split& split) {
  const std::vector<NodeId> pool = pool_of(split);
  std::vector<std::string> warnings;
  warn_of_copies(dataset, pool, split.test, warnings);
  warn_of_features(dataset, pool, warnings);
  return warnings;
}

}  // namespace qw
