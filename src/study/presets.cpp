#include "qw/study/presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/embedded.h"
#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/graph/statistics.h"
#include "study/known_targets.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// The flow that was best on average over the known graphs of a kind, by validation, beside the best
// traditional settings (docs/results.md): proximal steps, which leave a flow at zero that helps little; or,
// where neighbours differ, edge weights from the flow for models that follow the edges whatever they say.
Json robust_flow(const std::string& model, bool homophilic) {
  const bool follows = model == "gcn" || model == "gin" || model == "bernnet";
  if (homophilic || !follows) return {{"solver", "proximal"}, {"lambda", 1}, {"flow_lr", 0.01}};
  return {{"solver", "bregman"},
          {"lambda", 1},
          {"flow_lr", 0.01},
          {"flow_weight_decay", 0.0005},
          {"edge_weights", true}};
}

}  // namespace

nlohmann::ordered_json to_json(const std::vector<Preset>& presets) {
  Json document = Json::object();
  for (const Preset& preset : presets) {
    document[preset.name] = {
        {"data", preset.data}, {"options", preset.options}, {"found_by", preset.found_by}};
  }
  return document;
}

std::string presets_text(const std::vector<Preset>& presets) {
  std::vector<std::string> lines;
  const Json document = to_json(presets);
  for (const auto& [name, preset] : document.items()) {
    lines.push_back(fmt::format(" {}: {}", json_text(Json(name)), json_text(preset)));
  }
  return "{\n" + join(lines, ",\n") + "\n}\n";
}

std::vector<Preset> presets_from_json(const nlohmann::ordered_json& document, const std::string& file) {
  std::vector<Preset> presets;
  if (!document.is_object()) fail(fmt::format("{}: is no JSON object of presets", file));
  for (const auto& [name, preset] : document.items()) {
    const bool complete = preset.is_object() && preset.contains("data") && preset.contains("options") &&
                          preset.contains("found_by") && preset.at("found_by").is_string();
    if (!complete) {
      fail(fmt::format("{}: preset {} needs \"data\", \"options\" and \"found_by\"", file, in_quotes(name)));
    }
    TrainRequest request;
    set_options(request, preset.at("options"), fmt::format("{}: preset {}", file, in_quotes(name)));
    presets.push_back(
        {name, preset.at("data"), preset.at("options"), preset.at("found_by").get<std::string>()});
  }
  return presets;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all_presets = [] {
    const std::string file = "presets.json";
    return presets_from_json(Json::parse(embedded_share().at(file)), file);
  }();
  return all_presets;
}

Preset automatic_preset(const Dataset& dataset, const std::vector<NodeId>& training,
                        const std::string& wanted, const std::vector<Preset>& among) {
  const std::optional<double> within =
      intra_edge_rate(dataset.graph, known_targets(dataset.targets, training));
  const bool homophilic = !within || *within >= kManyWithin;
  const bool values = dataset.targets.task == Task::kRegression;
  const std::string model = !wanted.empty() ? wanted : values ? "graphsage" : "chebnetii";
  const std::string known = fmt::format("{}/{}/qw", dataset.name, model);
  for (const Preset& preset : among) {
    if (preset.name == known && preset.data == dataset.name && dataset.targets.task == Task::kClassification)
      return preset;
  }
  Preset preset{"auto", dataset.name, {{"model", model}}, ""};
  if (values) {
    preset.options.update({{"solver", "proximal"}, {"dropout", 0.0}});
    preset.found_by = "values";
  } else {
    preset.options.update({{"lr", homophilic ? 0.01 : 0.05}, {"weight_decay", 0.0005}, {"dprate", 0.5}});
    preset.options.update(robust_flow(model, homophilic));
    preset.found_by = !within ? "classes"
                              : fmt::format("{}{:.0f} % of the edges are within a class",
                                            homophilic ? "" : "only ", 100 * *within);
  }
  return preset;
}

std::vector<Preset> read_presets(const std::filesystem::path& file) {
  return presets_from_json(read_json(file), file.string());
}

const Preset& find_preset(const std::string& name, const std::vector<Preset>& among) {
  std::vector<std::string> names;
  for (const Preset& preset : among) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  const auto near = closest(name, names);
  fail_usage(fmt::format("preset {} is unknown; {}qw presets lists all, and auto suits any graph",
                         in_quotes(name), near ? fmt::format("did you mean {}? ", in_quotes(*near)) : ""));
}

}  // namespace qw
