#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "learn/device.h"
#include "learn/run_files.h"
#include "nn/tensor_file.h"
#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/learn/run.h"
#include "qw/ops/capture.h"

namespace qw {
namespace {

// The edge between two nodes, or the one `repeat` places after it where several join them; -1: none.
EdgeId find_edge(const Graph& graph, NodeId head, NodeId tail, int64_t repeat) {
  const auto heads = graph.heads(), tails = graph.tails();
  const auto [first, last] = std::equal_range(heads.begin(), heads.end(), head);
  const auto begin = tails.begin() + (first - heads.begin()), end = tails.begin() + (last - heads.begin());
  const auto found = std::lower_bound(begin, end, tail);
  if (end - found <= repeat || *(found + repeat) != tail) return -1;
  return found + repeat - tails.begin();
}

struct ReloadedFlow {
  at::Tensor values;             // on the edges of a graph [E, C]
  std::vector<EdgeId> carriers;  // of these, those that the run had; ascending
};

// The flow of a run on the edges of `dataset`: zero on edges that were not there, turned around where the
// ends of an edge changed their order.
ReloadedFlow full_flow(const SafetensorsFile& file, const std::string& name, int64_t columns,
                       const TrainedOn& trained_on, const Dataset& dataset) {
  const std::vector<float> flow = file.values<float>("flow");
  const std::vector<int32_t> heads = file.values<int32_t>("heads"), tails = file.values<int32_t>("tails");
  if (heads.size() != tails.size() || flow.size() != heads.size() * static_cast<size_t>(columns)) {
    fail(fmt::format("{}: {} heads, {} tails and {} numbers are no flow for {} columns", name, heads.size(),
                     tails.size(), flow.size(), columns));
  }
  const std::vector<NodeId> place = places(trained_on, dataset);
  ReloadedFlow result{at::zeros({dataset.graph.num_edges(), columns}, at::kFloat), {}};
  int64_t repeat = 0;
  for (size_t k = 0; k < heads.size(); ++k) {
    if (std::min(heads[k], tails[k]) < 0 ||
        std::max(heads[k], tails[k]) >= static_cast<int64_t>(place.size())) {
      fail(fmt::format("{}: has an edge from {} to {}, which the data it was trained on has not", name,
                       tails[k], heads[k]));
    }
    repeat = k > 0 && heads[k] == heads[k - 1] && tails[k] == tails[k - 1] ? repeat + 1 : 0;
    const NodeId head = place[heads[k]], tail = place[tails[k]];
    if (head < 0 || tail < 0) continue;
    EdgeId edge = find_edge(dataset.graph, head, tail, repeat);
    float sign = 1;
    if (edge < 0 && !dataset.graph.directed()) {
      edge = find_edge(dataset.graph, tail, head, repeat);
      sign = -1;
    }
    if (edge < 0) continue;
    const float* from = flow.data() + k * columns;
    std::transform(from, from + columns, result.values.data_ptr<float>() + edge * columns,
                   [sign](float value) { return sign * value; });
    result.carriers.push_back(edge);
  }
  std::sort(result.carriers.begin(), result.carriers.end());
  return result;
}

// The labels that a run was trained with, as it was, at the nodes that are still there.
LabelTensors training_labels(const RunResult& result, const TrainedOn& trained_on, const Dataset& dataset,
                             const at::TensorOptions& tensors) {
  const std::vector<NodeId> place = places(trained_on, dataset);
  std::vector<NodeId> nodes, now;
  for (const NodeId node : trained_on.splits.at(result.run).train) {
    if (place[node] < 0) continue;
    nodes.push_back(node);
    now.push_back(place[node]);
  }
  LabelTensors labels = label_tensors(result.scaling.apply(trained_on.targets), nodes, tensors);
  labels.nodes = tensor_of(now, tensors.device());
  return labels;
}

LoadedModel network_of(const std::filesystem::path& run_folder, const TrainRequest& request,
                       const TrainedOn& trained_on, const at::TensorOptions& tensors) {
  check_run_file(run_folder, "model.json");
  check_run_file(run_folder, "model.safetensors");
  if (find_solver(request.learn.solver).has_network)
    return load_model(run_folder / "model.safetensors", tensors);
  const ModelShape shape = model_shape(trained_on.graph, trained_on.schema.features, trained_on.schema.width);
  return {{request.model, request.model_options, shape},
          find_model(request.model).make(shape, request.model_options, 0, tensors)};
}

// By the edge predictor of a run, if it has one.
at::Tensor predicted_edge_weights(const SafetensorsFile& file, const at::Tensor& flow,
                                  const std::string& name) {
  if (file.find("edge_predictor.lin1.weight") == nullptr) return {};
  ParameterSet parameters(0, flow.options());
  const EdgePredictor predictor(parameters, "edge_predictor", flow.size(1));
  std::vector<Buffer> stored, into;
  for (const Parameter& parameter : parameters.all()) {
    into.push_back({parameter.name, parameter.value});
    stored.push_back({parameter.name, tensor_from(file.get(parameter.name))});
  }
  copy_by_name(stored, into, name);
  return predictor.forward(flow);
}

// Where the run was trained, which gives its bits again; on a machine that has no such device, the CPU.
at::TensorOptions tensors_of(const TrainRequest& request) {
  const at::TensorOptions here = at::TensorOptions(at::kFloat);
  return request.device == "cpu" || cuda_devices() == 0 ? here : here.device(device_named(request.device));
}

}  // namespace

Reloaded reload(const std::filesystem::path& run_folder, const TrainRequest& of_folder,
                const TrainingMemory& memory, const Dataset& dataset) {
  const at::NoGradGuard no_gradient;
  const TrainRequest request = read_own_request(run_folder).value_or(of_folder);
  const std::optional<RunResult> result = read_result(run_folder);
  if (!result) fail(fmt::format("{} has no summary.json: the run is not finished", run_folder.string()));
  const TrainedOn& trained_on = memory.trained_on;
  const SolverInfo& solver = find_solver(request.learn.solver);
  const at::TensorOptions tensors = tensors_of(request);
  Reloaded reloaded;
  LoadedModel loaded = network_of(run_folder, request, trained_on, tensors);
  if (dataset.features.columns != loaded.config.shape.inputs) {
    fail(fmt::format("{} was trained on {} features; this data has {}", run_folder.string(),
                     loaded.config.shape.inputs, dataset.features.columns));
  }
  reloaded.trained_as = places(dataset, trained_on);
  const GraphTensors graph(dataset.graph, tensors);
  const NodeMatrix features(memory.scaling.apply(dataset.features), tensors);
  at::Tensor edge_weights;
  reloaded.scores.transport = at::empty({0}, tensors);
  reloaded.flow = at::empty({0}, at::kFloat);
  if (solver.has_flow) {
    const std::filesystem::path flow_path = run_folder / "flow.safetensors";
    check_run_file(run_folder, "flow.safetensors");
    const SafetensorsFile file = SafetensorsFile::read(flow_path);
    const ReloadedFlow stored =
        full_flow(file, flow_path.string(), loaded.config.shape.outputs, trained_on, dataset);
    const at::Tensor flow = stored.values.to(tensors);
    const at::Tensor carriers = tensor_of(stored.carriers, tensors.device());
    reloaded.scores.transport = incidence(flow.index_select(0, carriers),
                                          incidence_of(dataset.graph, stored.carriers, tensors.device()));
    reloaded.flow = result->scaling.in_units(stored.values);
    edge_weights = predicted_edge_weights(file, flow, flow_path.string());
  }
  reloaded.scores.network = loaded.model->forward({graph, features, edge_weights});
  const Divergence kind = divergence_for(trained_on.schema.task);
  if (request.learn.solver == "exact") {
    reloaded.scores.network = to_label_space(kind, reloaded.scores.network);
    reloaded.scores.in_label_space = true;
  }
  if (solver.finish) {
    const LabelTensors labels = training_labels(*result, trained_on, dataset, tensors);
    reloaded.scores = solver.finish(reloaded.scores, {graph, labels, kind, request.learn});
  }
  reloaded.scores = result->scaling.undo(reloaded.scores);
  reloaded.model = std::move(loaded.model);
  reloaded.calibration = read_calibration(run_folder);
  return reloaded;
}

}  // namespace qw
