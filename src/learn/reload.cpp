#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "learn/run_files.h"
#include "nn/tensor_file.h"
#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

// Where each node of `from` is in `to`, by id; -1: nowhere.
std::vector<NodeId> places(const Dataset& from, const Dataset& to) {
  std::unordered_map<std::string, NodeId> place;
  for (NodeId node = 0; node < to.graph.num_nodes(); ++node) place.emplace(to.node_id(node), node);
  std::vector<NodeId> result;
  for (NodeId node = 0; node < from.graph.num_nodes(); ++node) {
    const auto found = place.find(from.node_id(node));
    result.push_back(found == place.end() ? -1 : found->second);
  }
  return result;
}

std::map<std::pair<NodeId, NodeId>, EdgeId> edges_by_ends(const Graph& graph) {
  std::map<std::pair<NodeId, NodeId>, EdgeId> edges;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) edges[{graph.heads()[e], graph.tails()[e]}] = e;
  return edges;
}

// The flow of a run on the edges of `dataset` [E, C]: zero on edges that were not there, turned around where
// the ends of an edge changed their order.
at::Tensor full_flow(const SafetensorsFile& file, const Dataset& trained_on, const Dataset& dataset) {
  const at::Tensor flow = tensor_from(file.get("flow"));
  const std::vector<int32_t> heads = file.values<int32_t>("heads"), tails = file.values<int32_t>("tails");
  const std::vector<NodeId> place = places(trained_on, dataset);
  const auto edges = edges_by_ends(dataset.graph);
  at::Tensor result = at::zeros({dataset.graph.num_edges(), flow.size(1)}, flow.options());
  for (size_t k = 0; k < heads.size(); ++k) {
    if (heads[k] < 0 || tails[k] < 0 || heads[k] >= trained_on.graph.num_nodes() ||
        tails[k] >= trained_on.graph.num_nodes()) {
      fail("the flow has edges that the data it was trained on has not");
    }
    const NodeId head = place[heads[k]], tail = place[tails[k]];
    if (head < 0 || tail < 0) continue;
    const auto same = edges.find({head, tail});
    const auto turned = edges.find({tail, head});
    const auto row = static_cast<int64_t>(k);
    if (same != edges.end()) {
      result[same->second] = flow[row];
    } else if (turned != edges.end() && !dataset.graph.directed()) {
      result[turned->second] = -flow[row];
    }
  }
  return result;
}

}  // namespace

Reloaded reload(const std::filesystem::path& run_folder, const TrainRequest& request,
                const Dataset& trained_on, const Dataset& dataset) {
  const at::NoGradGuard no_gradient;
  Reloaded reloaded;
  LoadedModel loaded = load_model(run_folder / "model.safetensors", at::kFloat);
  if (dataset.features.columns != loaded.config.shape.inputs) {
    fail(fmt::format("{} was trained on {} features; this data has {}", run_folder.string(),
                     loaded.config.shape.inputs, dataset.features.columns));
  }
  if (&dataset != &trained_on) {
    reloaded.is_new.assign(dataset.graph.num_nodes(), 1);
    for (const NodeId node : places(trained_on, dataset)) {
      if (node >= 0) reloaded.is_new[node] = 0;
    }
  }
  const GraphTensors graph(dataset.graph, at::kFloat);
  const NodeMatrix features(FeatureScaling(request.scale_features, trained_on).apply(dataset.features),
                            at::kFloat);
  at::Tensor edge_weights;
  reloaded.scores.transport = at::empty({0}, at::kFloat);
  const std::filesystem::path flow_path = run_folder / "flow.safetensors";
  if (std::filesystem::exists(flow_path)) {
    const SafetensorsFile file = SafetensorsFile::read(flow_path);
    const at::Tensor flow = full_flow(file, trained_on, dataset);
    reloaded.scores.transport = incidence(flow, graph.incidence());
    if (file.find("edge_predictor.lin1.weight") != nullptr) {
      ParameterSet parameters(0, at::kFloat);
      const EdgePredictor predictor(parameters, "edge_predictor", flow.size(1));
      std::vector<Buffer> tensors, into;
      for (const Parameter& parameter : parameters.all()) {
        into.push_back({parameter.name, parameter.value});
        tensors.push_back({parameter.name, tensor_from(file.get(parameter.name))});
      }
      copy_by_name(tensors, into, flow_path.string());
      edge_weights = predictor.forward(flow);
    }
  }
  reloaded.scores.network = loaded.model->forward({graph, features, edge_weights});
  const std::optional<RunResult> result = read_result(run_folder);
  if (!result) fail(fmt::format("{} has no summary.json: the run is not finished", run_folder.string()));
  reloaded.scores = result->scaling.undo(reloaded.scores);
  reloaded.model = std::move(loaded.model);
  return reloaded;
}

}  // namespace qw
