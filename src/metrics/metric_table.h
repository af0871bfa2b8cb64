// A table of metrics of one kind of predictions: what is told of each, and the function that measures it.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/metrics/metrics.h"

namespace qw {

template <class Predictions>
struct MetricEntry {
  MetricInfo info;
  double (*measure)(const Predictions&);
};

template <class Predictions>
std::vector<MetricInfo> infos(const std::vector<MetricEntry<Predictions>>& table) {
  std::vector<MetricInfo> all;
  all.reserve(table.size());
  for (const auto& entry : table) all.push_back(entry.info);
  return all;
}

// `kind` is "classes", "labels" or "values".
template <class Predictions>
const MetricEntry<Predictions>& find_metric(const std::vector<MetricEntry<Predictions>>& table,
                                            std::string_view name, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  fail_usage(fmt::format("metric of {}: {}", kind, unknown_name(name, names)));
}

inline void require_probabilities(const MetricInfo& info, bool known, std::string_view kind) {
  if (!info.needs_probabilities || known) return;
  fail_usage(fmt::format("metric '{}' needs the probabilities of the {}, and only predicted {} are known",
                         info.name, kind, kind));
}

}  // namespace qw
