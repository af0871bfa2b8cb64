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
  const int64_t val = std::min(count - train, round_half_even(val_rate * static_cast<double>(count)));
  Split split;
  split.train.assign(order.begin(), order.begin() + train);
  split.val.assign(order.begin() + train, order.begin() + train + val);
  split.test.assign(order.begin() + train + val, order.end());
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
