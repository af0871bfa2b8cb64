// Linear models fitted to cases in JSON, one a line on standard input: a line each on standard output with
// weights, intercepts and predictions. For sklearn_oracle.py.
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "qw/baseline/linear.h"

namespace {

using nlohmann::json;

qw::Features features_of(const json& given) {
  qw::Features features;
  features.rows = given["rows"];
  features.columns = given["columns"];
  features.sparse = given["sparse"];
  features.dense = given["features"].get<std::vector<float>>();
  if (!features.sparse) return features;
  features.offsets.push_back(0);
  for (int64_t at = 0; at < features.rows * features.columns; ++at) {
    if (features.dense[at] != 0) {
      features.indices.push_back(static_cast<int32_t>(at % features.columns));
      features.values.push_back(features.dense[at]);
    }
    if ((at + 1) % features.columns == 0) {
      features.offsets.push_back(static_cast<int64_t>(features.values.size()));
    }
  }
  features.dense.clear();
  return features;
}

qw::Targets targets_of(const json& given) {
  if (given["task"] == "classification")
    return qw::class_targets(given["targets"].get<std::vector<int32_t>>());
  qw::Targets targets;
  targets.task = given["task"] == "regression" ? qw::Task::kRegression : qw::Task::kMultiLabel;
  targets.width = given["width"];
  for (const json& each : given["targets"]) {
    targets.values.push_back(each.is_null() ? std::numeric_limits<double>::quiet_NaN() : each.get<double>());
  }
  return targets;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const json given = json::parse(line);
    const qw::Features features = features_of(given);
    const std::vector<qw::NodeId> train = given["train"];
    const auto model =
        qw::fit_linear(features, targets_of(given), train, given["strength"].get<double>(), 60.0);
    if (!model) return 1;
    std::cout << json{{"weights", model->weights},
                      {"intercept", model->intercept},
                      {"prediction", model->predict(features)}}
              << '\n';
  }
}
