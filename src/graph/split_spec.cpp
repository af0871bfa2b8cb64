#include "qw/graph/split_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/field_table.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

struct Shares {
  double train = 0.6;
  double val = 0.2;
};

FieldTable fields(Shares& shares, const char* context) {
  FieldTable table(context);
  table.add("train", shares.train, {0, 1}, "share of the nodes to train on");
  table.add("val", shares.val, {0, 1}, "share of the nodes to validate on; the rest is for test");
  return table;
}

struct PerClass {
  int64_t train = 20;
  int64_t val = 500;
  int64_t test = 1000;
};

FieldTable fields(PerClass& counts, const char* context) {
  FieldTable table(context);
  table.add("train", counts.train, {1, static_cast<double>(kMaxNodes)}, "nodes of each class to train on");
  table.add("val", counts.val, {0, static_cast<double>(kMaxNodes)}, "nodes to validate on");
  table.add("test", counts.test, {0, static_cast<double>(kMaxNodes)}, "nodes to test on");
  return table;
}

struct Folds {
  int64_t k = 5;
  int64_t fold = 0;
};

FieldTable fields(Folds& folds, const char* context) {
  FieldTable table(context);
  table.add("k", folds.k, {3, 1e6}, "number of folds");
  table.add("fold", folds.fold, {0, 1e6}, "the fold to test on; the next one validates; run r has fold r");
  return table;
}

struct Stored {
  int64_t index = 0;
};

FieldTable fields(Stored& stored, const char* context) {
  FieldTable table(context);
  table.add("index", stored.index, {0, 1e6}, "which of the splits stored with the data, from 0");
  return table;
}

template <class Options>
Options parsed(std::string_view spec, const char* method) {
  Options options;
  fields(options, method).parse_spec(spec);
  return options;
}

template <class Options>
std::string defaults() {
  Options options;
  return fields(options, "").to_spec();
}

Split make_stratified(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const auto shares = parsed<Shares>(spec, "stratified");
  return stratified_split(dataset.targets, seed, shares.train, shares.val);
}

Split make_kfold(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const auto folds = parsed<Folds>(spec, "kfold");
  return kfold_split(dataset.targets, seed, folds.k, folds.fold);
}

Split make_published(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const auto shares = parsed<Shares>(spec, "published");
  return published_split(dataset.targets, seed, shares.train, shares.val);
}

Split make_per_class(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const auto counts = parsed<PerClass>(spec, "per-class");
  return per_class_split(dataset.targets, seed, counts.train, counts.val, counts.test);
}

Split make_random(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const auto shares = parsed<Shares>(spec, "random");
  return random_split(dataset.targets, seed, shares.train, shares.val);
}

Split take_stored(const Dataset& dataset, std::string_view spec, uint32_t /*seed*/) {
  const auto index = static_cast<size_t>(parsed<Stored>(spec, "stored").index);
  if (index >= dataset.splits.size()) {
    fail_usage(fmt::format("{} has {} stored splits, so there is none of index {}", dataset.name,
                           dataset.splits.size(), index));
  }
  return dataset.splits[index];
}

}  // namespace

const std::vector<SplitMethod>& split_methods() {
  static const std::vector<SplitMethod> all = {
      {"stratified", "the same shares of each class, or of low to high values", defaults<Shares>(),
       make_stratified},
      {"kfold", "k parts: one tests, the next validates, the others train", defaults<Folds>(), make_kfold},
      {"published", "the paper's protocol: a share of N/C nodes per class", defaults<Shares>(),
       make_published},
      {"per-class", "a number of nodes per class", defaults<PerClass>(), make_per_class},
      {"random", "shares of the labelled nodes, for any task", defaults<Shares>(), make_random},
      {"stored", "a split that came with the data (masks, a split column)", defaults<Stored>(), take_stored}};
  return all;
}

Split make_split(const Dataset& dataset, std::string_view spec, uint32_t seed) {
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  std::vector<std::string> known;
  for (const SplitMethod& method : split_methods()) {
    if (method.name == name) {
      return method.make(dataset,
                         colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1), seed);
    }
    known.push_back(method.name);
  }
  fail_usage("split " + unknown_name(name, known));
}

namespace {

std::string_view method_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }

}  // namespace

std::string automatic_split(const Dataset& dataset) {
  if (!dataset.default_split.empty()) return dataset.default_split;
  return dataset.splits.empty() ? "stratified" : "stored";
}

RunSplit split_of_run(const Dataset& dataset, std::string_view given, int64_t run) {
  const std::string spec = given == "auto" ? automatic_split(dataset) : std::string(given);
  if (spec == "stored") {
    const auto stored = static_cast<int64_t>(std::max<size_t>(1, dataset.splits.size()));
    return {fmt::format("stored:index={}", run % stored), true};
  }
  if (method_of(spec) != "kfold") return {spec, false};
  if (spec.find("fold=", spec.find(':')) != std::string::npos) return {spec, true};
  return {fmt::format("{}{}fold={}", spec, spec == "kfold" ? ":" : ",", run), true};
}

SplitSizes split_sizes(const Targets& targets, const Split& split) {
  SplitSizes sizes;
  const bool has_classes = !targets.classes.empty();
  if (has_classes || targets.task == Task::kMultiLabel) {
    for (int64_t c = 0; c < targets.width; ++c) {
      sizes.classes.push_back({targets.names.empty() ? std::to_string(c) : targets.names[c]});
    }
  }
  const auto count = [&](const std::vector<NodeId>& nodes, int64_t SplitSizes::Row::*part) {
    sizes.all.*part = static_cast<int64_t>(nodes.size());
    for (const NodeId node : nodes) {
      if (has_classes && targets.classes[node] >= 0) ++(sizes.classes[targets.classes[node]].*part);
      for (int64_t c = 0; c < targets.width && targets.task == Task::kMultiLabel; ++c) {
        sizes.classes[c].*part += targets.values[node * targets.width + c] > 0.5;
      }
    }
  };
  count(split.train, &SplitSizes::Row::train);
  count(split.val, &SplitSizes::Row::val);
  count(split.test, &SplitSizes::Row::test);
  return sizes;
}

std::vector<std::string> split_warnings(const SplitSizes& sizes) {
  struct Part {
    const char* name;
    int64_t SplitSizes::Row::*count;
    const char* consequence;
  };
  static const Part parts[] = {{"train", &SplitSizes::Row::train, "it cannot be learned"},
                               {"val", &SplitSizes::Row::val, "the choice of the epoch does not see it"},
                               {"test", &SplitSizes::Row::test, "test numbers say nothing about it"}};
  std::vector<std::string> warnings;
  for (const Part& part : parts) {
    if (sizes.all.*part.count == 0) {
      warnings.push_back(fmt::format("no node is in the part {}; --split decides", part.name));
      continue;
    }
    std::vector<std::string> missing;
    for (const SplitSizes::Row& row : sizes.classes) {
      const bool occurs = row.train + row.val + row.test > 0;
      if (occurs && row.*part.count == 0) missing.push_back(in_quotes(row.name));
    }
    if (missing.empty()) continue;
    const size_t count = missing.size();
    constexpr size_t kMostNamed = 5;
    if (count > kMostNamed) missing.resize(kMostNamed);
    warnings.push_back(fmt::format("{} {}{} missing from {}: {}; --split decides",
                                   count == 1 ? "class" : fmt::format("{} classes,", count),
                                   join(missing, ", "),
                                   count == 1           ? " is"
                                   : count > kMostNamed ? ", ..., are"
                                                        : ", are",
                                   part.name, part.consequence));
  }
  return warnings;
}

}  // namespace qw
