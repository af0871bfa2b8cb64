#include "learn/stored_run.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "learn/device.h"
#include "learn/run_files.h"
#include "nn/tensor_file.h"
#include "nn/tensors.h"
#include "qw/core/error.h"
#include "qw/ops/capture.h"

namespace qw {
namespace {

constexpr const char* kFlowFile = "flow.safetensors";

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

RunResult finished_result(const std::filesystem::path& run_folder) {
  std::optional<RunResult> result = read_result(run_folder);
  if (!result) fail(fmt::format("{} has no summary.json: the run is not finished", run_folder.string()));
  return *std::move(result);
}

// Where the run was trained, which gives its bits again; on a machine that has no such device, the CPU.
at::TensorOptions tensors_of(const TrainRequest& request) {
  const at::TensorOptions here = at::TensorOptions(at::kFloat);
  return request.device == "cpu" || cuda_devices() == 0 ? here : here.device(device_named(request.device));
}

}  // namespace

StoredRun::StoredRun(const std::filesystem::path& run_folder, const TrainRequest& of_folder,
                     const TrainingMemory& memory)
    : folder_(run_folder),
      request_(read_own_request(run_folder).value_or(of_folder)),
      result_(finished_result(run_folder)),
      memory_(memory),
      solver_(find_solver(request_.learn.solver)),
      tensors_(tensors_of(request_)),
      kind_(divergence_for(memory.trained_on.schema.task)) {
  LoadedModel loaded = network_of(run_folder, request_, memory.trained_on, tensors_);
  model_ = std::move(loaded.model);
  inputs_ = loaded.config.shape.inputs;
  outputs_ = loaded.config.shape.outputs;
  if (!solver_.has_flow) return;
  check_run_file(run_folder, kFlowFile);
  flow_file_ = SafetensorsFile::read(run_folder / kFlowFile);
}

void StoredRun::add_flow(const Dataset& dataset, PredictionInput& input) const {
  input.flow = at::empty({0}, at::kFloat);
  if (!flow_file_) return;
  ReloadedFlow stored =
      full_flow(*flow_file_, (folder_ / kFlowFile).string(), outputs_, memory_.trained_on, dataset);
  input.flow = std::move(stored.values);
  input.carriers = std::move(stored.carriers);
}

PredictionInput StoredRun::input_of(const Dataset& dataset) const {
  const at::NoGradGuard no_gradient;
  if (dataset.features.columns != inputs_) {
    fail(fmt::format("{} was trained on {} features; this data has {}", folder_.string(), inputs_,
                     dataset.features.columns));
  }
  PredictionInput input{dataset.graph, GraphTensors(dataset.graph, tensors_), {}, {}, {}, {}, {}};
  input.features = NodeMatrix(memory_.scaling.apply(dataset.features), tensors_);
  add_flow(dataset, input);
  if (solver_.finish) input.labels = training_labels(result_, memory_.trained_on, dataset, tensors_);
  return input;
}

at::Tensor StoredRun::edge_weights(const PredictionInput& input) const {
  const at::NoGradGuard no_gradient;
  at::Tensor weights;
  if (flow_file_)
    weights = predicted_edge_weights(*flow_file_, input.flow.to(tensors_), (folder_ / kFlowFile).string());
  if (!input.edge_shares.defined()) return weights;
  return weights.defined() ? weights * input.edge_shares : input.edge_shares;
}

at::Tensor StoredRun::network(const PredictionInput& input, bool in_label_space) const {
  const at::Tensor said = model_->forward({input.tensors, input.features, edge_weights(input)});
  return result_.scaling.undo({in_label_space ? to_label_space(kind_, said) : said, at::empty({0}, tensors_)})
      .network;
}

Scores StoredRun::predict(const PredictionInput& input) const {
  const at::NoGradGuard no_gradient;
  Scores scores;
  scores.transport = at::empty({0}, tensors_);
  if (flow_file_) {
    const at::Tensor carriers = tensor_of(input.carriers, tensors_.device());
    scores.transport = incidence(input.flow.to(tensors_).index_select(0, carriers),
                                 incidence_of(input.graph, input.carriers, tensors_.device()));
  }
  scores.network = model_->forward({input.tensors, input.features, edge_weights(input)});
  if (request_.learn.solver == "exact") {
    scores.network = to_label_space(kind_, scores.network);
    scores.in_label_space = true;
  }
  if (solver_.finish) scores = solver_.finish(scores, {input.tensors, input.labels, kind_, request_.learn});
  return result_.scaling.undo(scores);
}

Reloaded reload(const std::filesystem::path& run_folder, const TrainRequest& of_folder,
                const TrainingMemory& memory, const Dataset& dataset) {
  StoredRun run(run_folder, of_folder, memory);
  const PredictionInput input = run.input_of(dataset);
  Reloaded reloaded;
  reloaded.trained_as = places(dataset, memory.trained_on);
  reloaded.scores = run.predict(input);
  reloaded.flow = input.flow.numel() == 0 ? input.flow : run.result().scaling.in_units(input.flow);
  reloaded.model = run.take_model();
  reloaded.calibration = read_calibration(run_folder);
  return reloaded;
}

}  // namespace qw
