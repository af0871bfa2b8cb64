#include "qw/nn/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/graph/matrix.h"

namespace qw {
namespace {

std::vector<ModelInfo>& registry() {
  static std::vector<ModelInfo> models;
  return models;
}

}  // namespace

FieldTable model_fields(ModelOptions& options) {
  FieldTable table("model");
  table.add("hidden", options.hidden, {1, 1e6}, "width of the hidden layers (of each head in gat)");
  table.add("layers", options.layers, {1, 1000}, "number of layers");
  table.add("dropout", options.dropout, {0, 0.999}, "share of values dropped before and between layers");
  table.add_choice("norm", options.norm, {"none", "batch", "layer"}, "normalisation between layers");
  table.add("residual", options.residual, "add the input of a layer to its output");
  table.add("heads", options.heads, {1, 1024}, "attention heads of all but the last layer (gat)");
  table.add("k", options.k, {1, 1000}, "propagation steps (appnp, bernnet, chebnetii)");
  table.add("alpha", options.alpha, {0, 1}, "probability to return to the start (appnp)");
  table.add("dprate", options.dprate, {0, 0.999}, "share of values dropped before propagation");
  return table;
}

PropagationMatrix Model::learned_adjacency(const ModelInput&) { return {}; }

const std::vector<ModelInfo>& models() { return registry(); }

const ModelInfo& find_model(std::string_view name) {
  std::vector<std::string> known;
  for (const ModelInfo& info : registry()) {
    if (info.name == name) return info;
    known.push_back(info.name);
  }
  fail_usage(fmt::format("model {}", unknown_name(name, known)));
}

ModelShape model_shape(const Graph& graph, int64_t inputs, int64_t outputs) {
  return {graph.num_nodes(), offsets_with_diagonal(graph).back(), inputs, outputs};
}

ModelRegistration::ModelRegistration(ModelInfo info) {
  auto& models = registry();
  const auto place = std::find_if(models.begin(), models.end(),
                                  [&](const ModelInfo& other) { return other.name > info.name; });
  models.insert(place, std::move(info));
}

}  // namespace qw
