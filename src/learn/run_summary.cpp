// What all runs of a training come to together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/machine.h"
#include "core/text.h"
#include "learn/device_memory.h"
#include "learn/run_files.h"
#include "learn/single_run.h"
#include "qw/core/version.h"
#include "qw/graph/structure_features.h"
#include "qw/learn/memory_plan.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json spread(const std::vector<double>& values) {
  const Summary summary = summarise(values);
  Json runs = Json::array();
  for (const double value : values) runs.push_back(number(value));
  return {{"mean", number(summary.mean)},
          {"std", number(summary.std)},
          {"ci95", number(summary.ci95)},
          {"runs", runs}};
}

// Of what `part_of` finds in each result; empty where a run has none.
template <class PartOf>
Json part_json(const std::vector<RunResult>& results, const PartOf& part_of) {
  Json json = Json::object();
  for (size_t m = 0; m < part_of(results.front()).size(); ++m) {
    std::vector<double> values;
    values.reserve(results.size());
    for (const RunResult& result : results) values.push_back(part_of(result)[m].second);
    json[part_of(results.front())[m].first] = spread(values);
  }
  return json;
}

double mean_of(const std::vector<RunResult>& results, const Metrics& (*part_of)(const RunResult&)) {
  std::vector<double> values;
  for (const RunResult& result : results) {
    if (!part_of(result).empty()) values.push_back(part_of(result).front().second);
  }
  return values.size() == results.size() ? summarise(values).mean : std::nan("");
}

const Metrics& test_of(const RunResult& result) { return result.test; }
const Metrics& trivial_of(const RunResult& result) { return result.baselines.trivial.test; }
const Metrics& linear_of(const RunResult& result) { return result.baselines.linear.test; }

// Who trained, for readers of the times; not a part of what makes results the same.
Json machine_json(const TrainRequest& request) {
  const BuildInfo build = build_info();
  return {{"processor", processor_name()},
          {"cores", usable_cores()},
          {"gpu", device_name(device_of(request))},
          {"libtorch", build.libtorch},
          {"compiler", build.compiler}};
}

std::string as_share(double value, const MetricInfo& metric) {
  return metric.is_share ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::vector<std::string> result_warnings(const Dataset& dataset, const TrainRequest& request,
                                         const std::vector<RunResult>& results) {
  std::vector<std::string> warnings;
  for (const RunResult& result : results) {
    for (const std::string& warning : split_warnings(result.split)) {
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    }
  }
  const auto one_class = std::count_if(results.begin(), results.end(),
                                       [](const RunResult& each) { return each.classes_predicted == 1; });
  if (one_class > 0) {
    warnings.push_back(
        fmt::format("{} of {} runs predict one class only for all test nodes; --balanced, --lr or "
                    "another --model may help",
                    one_class, results.size()));
  }
  const MetricInfo& metric = find_metric(dataset.targets.task, request.learn.metric);
  const double reached = mean_of(results, test_of);
  if (std::isnan(reached)) {
    warnings.push_back(fmt::format(
        "the {} of the test nodes is undefined: too few nodes, or one class or value only", metric.name));
  }
  const auto compare = [&](const char* what, double baseline) {
    const bool better = metric.higher_is_better ? reached > baseline : reached < baseline;
    if (!std::isfinite(reached) || !std::isfinite(baseline) || better) return;
    warnings.push_back(fmt::format("test {} {} is no better than {} ({})", metric.name,
                                   as_share(reached, metric), what, as_share(baseline, metric)));
  };
  const Task task = dataset.targets.task;
  compare(task == Task::kRegression   ? "the mean of the training nodes"
          : task == Task::kMultiLabel ? "the labels that most training nodes have"
                                      : "the majority class",
          mean_of(results, trivial_of));
  compare(features_show_graph(dataset) ? "a linear model of features made from the graph"
                                       : "a linear model that does not see the graph",
          mean_of(results, linear_of));
  return warnings;
}

nlohmann::ordered_json summary_json(const TrainRequest& request, const Dataset& dataset,
                                    const std::vector<RunResult>& results) {
  Json json{{"config", to_json(request)},
            {"name", dataset.name},
            {"metric", find_metric(dataset.targets.task, request.learn.metric).name},
            {"train", part_json(results, [](const RunResult& each) -> const Metrics& { return each.train; })},
            {"val", part_json(results, [](const RunResult& each) -> const Metrics& { return each.val; })},
            {"test", part_json(results, test_of)}};
  Json epochs = Json::array(), best = Json::array(), seeds = Json::array(), flows = Json::array(),
       splits = Json::array();
  std::vector<double> step_ms, coverage, sizes, temperatures;
  for (const RunResult& result : results) {
    epochs.push_back(result.epochs);
    best.push_back(result.best_epoch);
    seeds.push_back(result.seed);
    splits.push_back(split_json(result.split));
    coverage.push_back(result.certainty.coverage);
    sizes.push_back(result.certainty.size);
    temperatures.push_back(result.temperature);
    if (result.step_ms > 0) step_ms.push_back(result.step_ms);
    if (result.flow) flows.push_back(flow_json(*result.flow));
  }
  json["baselines"] = {{trivial_name(dataset.targets.task), part_json(results, trivial_of)},
                       {"linear", part_json(results, linear_of)}};
  json["coverage"] = {{"asked", request.coverage}, {"test", spread(coverage)}, {"size", spread(sizes)}};
  json["temperature"] = temperatures;
  json["split"] = {{"spec", request.split == "auto" ? automatic_split(dataset) : request.split},
                   {"runs", splits}};
  json["warnings"] = result_warnings(dataset, request, results);
  json["epochs"] = epochs;
  json["best_epoch"] = best;
  json["seeds"] = seeds;
  json["machine"] = machine_json(request);
  json["step_ms"] = step_ms.empty() ? Json(nullptr) : Json(median(step_ms));
  if (!flows.empty()) json["flow"] = flows;
  return json;
}

}  // namespace qw
