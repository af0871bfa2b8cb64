#include "qw/graph/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/numpy_random.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Python's round(): to the nearest integer, halves to even.
int64_t round_half_even(double value) { return std::llrint(value); }

void check_rates(double train_rate, double val_rate) {
  if (!(train_rate >= 0) || !(val_rate >= 0) || !(train_rate + val_rate <= 1.0 + 1e-12)) {
    fail_usage(fmt::format(
        "a split needs train and validation shares of at least 0 that sum to at most 1, not {} and {}",
        train_rate, val_rate));
  }
}

// Without one, validation takes what rounding leaves.
bool has_test_share(double train_rate, double val_rate) { return 1.0 - train_rate - val_rate > 1e-9; }

void check_classes(const Targets& targets, const char* split) {
  if (targets.classes.empty()) {
    fail_usage(fmt::format("the {} split draws from each class, but the target is {}; use a random split",
                           split, task_name(targets.task)));
  }
}

std::vector<std::vector<NodeId>> nodes_by_class(const Targets& targets) {
  std::vector<std::vector<NodeId>> members(targets.width);
  for (size_t node = 0; node < targets.classes.size(); ++node) {
    if (targets.classes[node] >= 0) members[targets.classes[node]].push_back(static_cast<NodeId>(node));
  }
  return members;
}

// The known nodes that are in none of `taken`, ascending.
std::vector<NodeId> known_nodes_without(const Targets& targets,
                                        std::initializer_list<const std::vector<NodeId>*> taken) {
  std::vector<bool> is_taken(targets.size(), false);
  for (const auto* part : taken) {
    for (const NodeId node : *part) is_taken[node] = true;
  }
  std::vector<NodeId> rest;
  for (int64_t node = 0; node < targets.size(); ++node) {
    if (!is_taken[node] && targets.known(node)) rest.push_back(static_cast<NodeId>(node));
  }
  return rest;
}

std::vector<NodeId> draw_per_class(const Targets& targets, NumpyRandomState& random, int64_t per_class) {
  std::vector<NodeId> drawn;
  for (const std::vector<NodeId>& members : nodes_by_class(targets)) {
    const bool whole = static_cast<int64_t>(members.size()) < per_class;
    const std::vector<NodeId> chosen = whole ? members : random.choice(members, per_class);
    drawn.insert(drawn.end(), chosen.begin(), chosen.end());
  }
  return drawn;
}

Split sorted(Split split) {
  for (auto* part : {&split.train, &split.val, &split.test}) std::sort(part->begin(), part->end());
  return split;
}

}  // namespace

Split published_split(const Targets& targets, uint32_t seed, double train_rate, double val_rate) {
  check_classes(targets, "published");
  check_rates(train_rate, val_rate);
  NumpyRandomState random(seed);
  const auto nodes = static_cast<double>(targets.size());
  const auto classes = static_cast<double>(std::max<int64_t>(1, targets.width));
  Split split;
  split.train = draw_per_class(targets, random, round_half_even(train_rate * nodes / classes));
  const std::vector<NodeId> rest = known_nodes_without(targets, {&split.train});
  const int64_t wanted = round_half_even(val_rate * nodes);
  if (wanted > static_cast<int64_t>(rest.size())) {
    fail_usage(fmt::format(
        "the published split wants {} validation nodes, but only {} labelled nodes are left after "
        "training took {}; use a random split",
        wanted, rest.size(), split.train.size()));
  }
  split.val = random.choice(rest, wanted);
  split.test = known_nodes_without(targets, {&split.train, &split.val});
  return sorted(std::move(split));
}

Split per_class_split(const Targets& targets, uint32_t seed, int64_t per_class, int64_t val, int64_t test) {
  check_classes(targets, "per-class");
  NumpyRandomState random(seed);
  Split split;
  split.train = draw_per_class(targets, random, per_class);
  const std::vector<NodeId> rest = known_nodes_without(targets, {&split.train});
  if (val + test > static_cast<int64_t>(rest.size())) {
    fail_usage(fmt::format(
        "the per-class split wants {} validation and {} test nodes, but only {} labelled nodes are "
        "left after training took {}",
        val, test, rest.size(), split.train.size()));
  }
  const std::vector<NodeId> drawn = random.choice(rest, val + test);
  split.val.assign(drawn.begin(), drawn.begin() + val);
  split.test.assign(drawn.begin() + val, drawn.end());
  return sorted(std::move(split));
}

Split random_split(const Targets& targets, uint32_t seed, double train_rate, double val_rate) {
  check_rates(train_rate, val_rate);
  NumpyRandomState random(seed);
  const std::vector<NodeId> known = known_nodes_without(targets, {});
  const auto count = static_cast<int64_t>(known.size());
  if (count == 0)
    fail_usage("a split needs labels, but no node has one; name the column to learn with --target");
  const std::vector<NodeId> order = random.choice(known, count);
  const int64_t train = std::min(count, round_half_even(train_rate * static_cast<double>(count)));
  const int64_t val = has_test_share(train_rate, val_rate)
                          ? std::min(count - train, round_half_even(val_rate * static_cast<double>(count)))
                          : count - train;
  Split split;
  split.train.assign(order.begin(), order.begin() + train);
  split.val.assign(order.begin() + train, order.begin() + train + val);
  split.test.assign(order.begin() + train + val, order.end());
  return sorted(std::move(split));
}

namespace {

constexpr int64_t kValueGroups = 10;
constexpr int64_t kSmallestValueGroup = 5;

std::vector<std::vector<NodeId>> nodes_by_value(const Targets& targets) {
  std::vector<NodeId> known = known_nodes_without(targets, {});
  const auto value = [&](NodeId node) {
    const double* row = targets.values.data() + node * targets.width;
    return *std::find_if(row, row + targets.width, [](double each) { return !std::isnan(each); });
  };
  std::stable_sort(known.begin(), known.end(), [&](NodeId a, NodeId b) { return value(a) < value(b); });
  const auto count = static_cast<int64_t>(known.size());
  const int64_t groups = std::clamp<int64_t>(count / kSmallestValueGroup, 1, kValueGroups);
  std::vector<std::vector<NodeId>> strata;
  for (int64_t group = 0; group < groups; ++group) {
    strata.emplace_back(known.begin() + count * group / groups, known.begin() + count * (group + 1) / groups);
  }
  return strata;
}

// The last stratum holds the nodes without any label that is 1.
std::vector<std::vector<NodeId>> nodes_by_rarest_label(const Targets& targets) {
  std::vector<int64_t> count(targets.width, 0);
  const auto has = [&](int64_t node, int64_t label) {
    return targets.values[node * targets.width + label] > 0.5;
  };
  for (int64_t node = 0; node < targets.size(); ++node) {
    for (int64_t label = 0; label < targets.width; ++label) count[label] += has(node, label);
  }
  std::vector<std::vector<NodeId>> strata(targets.width + 1);
  for (const NodeId node : known_nodes_without(targets, {})) {
    int64_t rarest = targets.width;
    for (int64_t label = 0; label < targets.width; ++label) {
      if (has(node, label) && (rarest == targets.width || count[label] < count[rarest])) rarest = label;
    }
    strata[rarest].push_back(node);
  }
  return strata;
}

// The labelled nodes, those that should be spread evenly over the parts together.
std::vector<std::vector<NodeId>> strata_of(const Targets& targets) {
  if (!targets.classes.empty()) return nodes_by_class(targets);
  return targets.task == Task::kRegression ? nodes_by_value(targets) : nodes_by_rarest_label(targets);
}

struct PartSizes {
  int64_t train = 0, val = 0, test = 0;
};

// One at least in every part with a share, taken from the largest, where there are three nodes.
PartSizes part_sizes(int64_t count, double train_rate, double val_rate) {
  const auto share = [&](double rate) { return round_half_even(rate * static_cast<double>(count)); };
  PartSizes sizes;
  sizes.train = std::min(count, share(train_rate));
  sizes.val = has_test_share(train_rate, val_rate) ? std::min(count - sizes.train, share(val_rate))
                                                   : count - sizes.train;
  sizes.test = count - sizes.train - sizes.val;
  const double rates[] = {train_rate, val_rate, 1.0 - train_rate - val_rate};
  int64_t* parts[] = {&sizes.train, &sizes.val, &sizes.test};
  if (count == 2 && rates[0] > 0 && rates[2] > 1e-9) return {1, 0, 1};
  if (count < 3) return sizes;
  for (int part = 0; part < 3; ++part) {
    if (*parts[part] > 0 || rates[part] <= 1e-9) continue;
    --**std::max_element(parts, parts + 3, [](const int64_t* a, const int64_t* b) { return *a < *b; });
    ++*parts[part];
  }
  return sizes;
}

void check_labels(const Targets& targets) {
  if (targets.labelled() == 0)
    fail_usage("a split needs labels, but no node has one; name the column to learn with --target");
}

}  // namespace

Split stratified_split(const Targets& targets, uint32_t seed, double train_rate, double val_rate) {
  check_rates(train_rate, val_rate);
  check_labels(targets);
  NumpyRandomState random(seed);
  Split split;
  for (const std::vector<NodeId>& stratum : strata_of(targets)) {
    const std::vector<NodeId> order = random.choice(stratum, static_cast<int64_t>(stratum.size()));
    const PartSizes sizes = part_sizes(static_cast<int64_t>(order.size()), train_rate, val_rate);
    const auto validates = order.begin() + sizes.train, tests = validates + sizes.val;
    split.train.insert(split.train.end(), order.begin(), validates);
    split.val.insert(split.val.end(), validates, tests);
    split.test.insert(split.test.end(), tests, order.end());
  }
  return sorted(std::move(split));
}

Split kfold_split(const Targets& targets, uint32_t seed, int64_t folds, int64_t fold) {
  if (folds < 3)
    fail_usage("a kfold split needs k of at least 3: one fold tests, one validates, the rest trains");
  if (fold < 0 || fold >= folds) {
    fail_usage(
        fmt::format("kfold:k={} has the folds 0 to {}, so there is no run {}: give --runs {} at most, or a "
                    "larger k",
                    folds, folds - 1, fold, folds));
  }
  check_labels(targets);
  NumpyRandomState random(seed);
  Split split;
  int64_t dealt = 0;
  for (const std::vector<NodeId>& stratum : strata_of(targets)) {
    for (const NodeId node : random.choice(stratum, static_cast<int64_t>(stratum.size()))) {
      const int64_t its_fold = dealt++ % folds;
      (its_fold == fold                 ? split.test
       : its_fold == (fold + 1) % folds ? split.val
                                        : split.train)
          .push_back(node);
    }
  }
  return sorted(std::move(split));
}

void check_split(const Split& split, const Targets& targets) {
  std::vector<const char*> part_of(targets.size(), nullptr);
  const auto claim = [&](const std::vector<NodeId>& part, const char* name) {
    for (const NodeId node : part) {
      if (node < 0 || node >= targets.size()) {
        fail(fmt::format("the {} part of the split has node {}, but nodes are 0 to {}", name, node,
                         targets.size() - 1));
      }
      if (!targets.known(node))
        fail(fmt::format("the {} part of the split has node {}, which has no label", name, node));
      if (part_of[node] != nullptr) {
        fail(fmt::format("node {} stands in the {} part and in the {} part of the split", node, part_of[node],
                         name));
      }
      part_of[node] = name;
    }
  };
  claim(split.train, "train");
  claim(split.val, "validation");
  claim(split.test, "test");
}

}  // namespace qw
