// Metrics of cases in JSON, one a line on standard input: a line of names and values each on standard output,
// null where a metric is undefined. For sklearn_oracle.py.
#include <cmath>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/metrics/metrics.h"

namespace {

using nlohmann::json;

std::vector<double> numbers(const json& given) {
  std::vector<double> all;
  for (const json& each : given) {
    all.push_back(each.is_null() ? std::numeric_limits<double>::quiet_NaN() : each.get<double>());
  }
  return all;
}

template <class Measure>
json values(const std::vector<qw::MetricInfo>& metrics, const Measure& measure) {
  json all;
  for (const qw::MetricInfo& metric : metrics) {
    const double value = measure(metric.name);
    all[metric.name] = std::isnan(value) ? json() : json(value);
  }
  return all;
}

json measured(const json& given) {
  const auto weights = numbers(given["weights"]);
  const int64_t width = given["width"];
  if (given["kind"] == "classes") {
    const std::vector<int32_t> truth = given["truth"], predicted = given["predicted"];
    const auto probability = numbers(given["probability"]);
    return values(qw::class_metrics(), [&](const std::string& name) {
      return qw::class_metric(name, {width, truth, predicted, probability, weights});
    });
  }
  const auto truth = numbers(given["truth"]);
  if (given["kind"] == "labels") {
    const std::vector<int> guesses = given["predicted"];
    const std::vector<char> predicted(guesses.begin(), guesses.end());
    const auto probability = numbers(given["probability"]);
    return values(qw::label_metrics(), [&](const std::string& name) {
      return qw::label_metric(name, {width, truth, predicted, probability, weights});
    });
  }
  const auto predicted = numbers(given["predicted"]);
  return values(qw::value_metrics(), [&](const std::string& name) {
    return qw::value_metric(name, {width, truth, predicted, weights});
  });
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << measured(json::parse(line)) << '\n';
}
