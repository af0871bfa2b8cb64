#include "qw/graph/split_spec.h"

#include <fmt/format.h>

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

}  // namespace qw
