#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "learn/learn_options.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/learn/run.h"
#include "qw/nn/model.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRunSchema = 2;  // 1: folders that kept nothing of their data

}  // namespace

FieldTable request_fields(TrainRequest& request) {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  FieldTable table("qw train");
  table.add_choice("model", request.model, names, "the network (listed below)");
  table.add(
      "split", request.split, "SPEC",
      "who trains (see qw data split); auto: the data's own split, or as in the paper for its graphs, else "
      "stratified 60/20/20");
  table.add("runs", request.runs, {1, 1e6}, "independent runs, each with a split and a seed of its own");
  table.add("seed", request.seed, {0, 9e18},
            "seed of the first run, the next has one more; 0: the ten published seeds");
  table.add("device", request.device, "NAME", "where to learn: cpu, cuda or cuda:N");
  table.add_choice(
      "scale_features", request.scale_features, {"auto", "rows", "columns", "none"},
      "divide rows by their sum, bring columns to mean 0 and deviation 1, or neither; auto: rows for the "
      "paper's graphs, else columns, but for those of 0 and 1 and of word counts");
  table.add("checkpoint_every", request.checkpoint_every, {0, 1e9},
            "epochs between checkpoints in --out; 0: none");
  table.add("coverage", request.coverage, {0.01, 0.999},
            "share of the nodes whose truth the sets (or intervals) of predictions.csv should hold");
  table.add_choice(
      "baselines", request.baselines, {"auto", "all", "none"},
      "what to compare with: the trivial prediction and, in auto where it takes a tenth of the time "
      "at most, a linear model without the graph");
  table.add("refit_flow", request.refit_flow, "DIR",
            "keep the networks of this training and fit only the flow, to labels that changed since; what is "
            "not chosen here is as it was there");
  return table;
}

nlohmann::ordered_json to_json(const TrainRequest& given) {
  TrainRequest request = given;
  Json document{{"schema", kRunSchema}, {"data", request.data}};
  document["request"] = request_fields(request).to_json();
  document["model_options"] = model_fields(request.model_options).to_json();
  document["learn"] = learn_fields(request.learn).to_json();
  return document;
}

TrainRequest request_from_json(const nlohmann::ordered_json& document, const std::string& file) {
  const auto member = [&](const char* name) -> const Json& {
    if (!document.is_object() || !document.contains(name)) fail(fmt::format("{}: has no \"{}\"", file, name));
    return document.at(name);
  };
  if (member("schema") != kRunSchema && member("schema") != 1) {
    fail(fmt::format("{}: schema {} is not the {} that this qw reads", file, json_text(member("schema")),
                     kRunSchema));
  }
  TrainRequest request;
  request.data = member("data");
  try {
    request_fields(request).from_json(member("request"));
    model_fields(request.model_options).from_json(member("model_options"));
    learn_fields(request.learn).from_json(member("learn"));
  } catch (const UsageError& error) {
    fail(fmt::format("{}: {}", file, error.what()));
  }
  return request;
}

nlohmann::ordered_json options_json(const TrainRequest& given) {
  TrainRequest request = given, defaults;
  Json changed = Json::object();
  const auto compare = [&](const FieldTable& now, const FieldTable& before) {
    const Json values = now.to_json(), unchanged = before.to_json();
    for (const auto& [name, value] : values.items()) {
      if (value != unchanged.at(name)) changed[name] = value;
    }
  };
  compare(request_fields(request), request_fields(defaults));
  compare(model_fields(request.model_options), model_fields(defaults.model_options));
  compare(learn_fields(request.learn), learn_fields(defaults.learn));
  for (const char* name : {"runs", "device", "checkpoint_every", "coverage", "baselines"})
    changed.erase(name);
  return changed;
}

void set_options(TrainRequest& request, const nlohmann::ordered_json& options, const std::string& context) {
  FieldTable all(context);
  for (const FieldTable& table :
       {request_fields(request), model_fields(request.model_options), learn_fields(request.learn)}) {
    for (const Field& field : table.fields()) all.add(field);
  }
  all.from_json(options);
}

uint64_t seed_of_run(const TrainRequest& request, int64_t run) {
  constexpr auto kCount = static_cast<int64_t>(kPublishedSeeds.size());
  if (request.seed != 0) return static_cast<uint64_t>(request.seed + run);
  return kPublishedSeeds[run % kCount] + static_cast<uint64_t>(run / kCount);
}

}  // namespace qw
