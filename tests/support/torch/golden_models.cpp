#include "support/torch/golden_models.h"

#include <ATen/core/grad_mode.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/safetensors.h"
#include "nn/tensor_file.h"
#include "support/device.h"
#include "support/support.h"

namespace qw::test {
namespace {

using nlohmann::json;

// Which tensors have a row for each edge.
bool belongs_to_edges(const std::string& name) {
  return name == "flow" || name.ends_with("/Q") || name.ends_with(".Q");
}

void append_numbers(const json& lists, std::vector<double>& numbers) {
  if (!lists.is_array()) return numbers.push_back(lists.get<double>());
  for (const json& list : lists) append_numbers(list, numbers);
}

// Lists of lists, as deep as the tensor has dimensions. All numbers have 53 bits at most.
at::Tensor tensor_of_lists(const json& lists) {
  std::vector<int64_t> shape;
  const json* deepest = &lists;
  for (; deepest->is_array(); deepest = &deepest->front()) {
    shape.push_back(static_cast<int64_t>(deepest->size()));
  }
  std::vector<double> numbers;
  append_numbers(lists, numbers);
  return at::tensor(numbers, at::kDouble).view(shape);
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::string& extension) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

GoldenCase::GoldenCase(const std::filesystem::path& path) : name_(path.stem().string()) {
  if (path.extension() == ".json") {
    read_json(path);
  } else {
    read_safetensors(path);
  }
  const at::Tensor ends = tensors_.at("edge_index").to(at::kInt).contiguous();
  const int64_t edges = ends.size(1);
  const auto* first = ends.data_ptr<int32_t>();
  EdgeList list;
  list.num_nodes = tensors_.at("x").size(0);
  list.heads.assign(first, first + edges);
  list.tails.assign(first + edges, first + 2 * edges);
  GraphOptions options;
  options.directed = metadata_.contains("directed") && metadata_.at("directed") == "True";
  if (options.directed) std::swap(list.heads, list.tails);  // the arc (u, v) ends at v
  options.map_given_edges = true;
  BuildReport report;
  graph_ = Graph::build(list, options, &report);
  at::Tensor given_of_edge = at::empty({edges}, at::kLong);
  for (int64_t given = 0; given < edges; ++given) given_of_edge[report.edge_of_given[given]] = given;
  for (auto& [name, value] : tensors_) {
    if (belongs_to_edges(name)) value = value.index_select(0, given_of_edge);
  }
}

void GoldenCase::read_json(const std::filesystem::path& path) {
  const json document = json::parse(read_file(path));
  metadata_ = document.at("metadata").get<std::map<std::string, std::string>>();
  for (const auto& [name, value] : document.at("tensors").items()) tensors_[name] = tensor_of_lists(value);
}

void GoldenCase::read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  metadata_ = file.metadata();
  for (const StoredTensor& stored : file.tensors()) tensors_[stored.name] = tensor_from(stored);
}

ModelOptions GoldenCase::options() const {
  ModelOptions options;
  options.hidden = std::stoll(metadata_.at("hidden"));
  options.heads = std::stoll(metadata_.at("heads"));
  options.k = std::stoll(metadata_.at("K"));
  options.alpha = std::stod(metadata_.at("alpha"));
  return options;
}

at::Tensor GoldenCase::tensor(const std::string& name, at::ScalarType type) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second.to(test::options(type));
}

int64_t GoldenCase::classes() const { return tensors_.at("logits").size(1); }

std::vector<NodeId> GoldenCase::train_nodes() const {
  const at::Tensor index = tensor("train_index", at::kInt).cpu();
  return {index.data_ptr<int32_t>(), index.data_ptr<int32_t>() + index.size(0)};
}

Targets GoldenCase::targets() const {
  const at::Tensor y = tensor("y", at::kInt).cpu();
  Targets targets = class_targets({y.data_ptr<int32_t>(), y.data_ptr<int32_t>() + y.size(0)});
  targets.width = classes();
  return targets;
}

std::string GoldenCase::flow_name() const { return tensors_.contains("param/Q") ? "Q" : "prop1.Q"; }

std::string GoldenCase::predictor_name(const std::string& parameter) const {
  const std::string own = parameter.substr(std::string("edge_predictor.").size());
  return flow_name() == "Q" ? own : "prop1." + own;
}

std::unique_ptr<Model> GoldenCase::make_model(at::ScalarType type) const {
  const ModelShape shape = model_shape(graph_, tensors_.at("x").size(1), classes());
  auto model = find_model(this->model()).make(shape, options(), 1, test::options(type));
  const at::NoGradGuard no_gradient;
  for (const Parameter& parameter : model->parameters().all()) {
    parameter.value.copy_(tensors_.at("param/" + parameter.name));
  }
  return model;
}

EdgePredictor GoldenCase::make_predictor(ParameterSet& parameters) const {
  EdgePredictor predictor(parameters, "edge_predictor", classes());
  const at::NoGradGuard no_gradient;
  for (const Parameter& parameter : parameters.all()) {
    parameter.value.copy_(tensors_.at("param/" + predictor_name(parameter.name)));
  }
  return predictor;
}

std::vector<std::filesystem::path> own_golden_model_files() {
  return files_in(own_golden_folder() / "models", ".json");
}

std::vector<std::filesystem::path> golden_model_files() {
  std::vector<std::filesystem::path> files = own_golden_model_files();
  const auto published = files_in(golden_folder() / "models", ".safetensors");
  files.insert(files.end(), published.begin(), published.end());
  return files;
}

std::string golden_file_name(const testing::TestParamInfo<std::filesystem::path>& file) {
  std::string name = (file.param.extension() == ".json" ? "own_" : "published_") + file.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected, double floor) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  if (actual.sizes() != expected.sizes()) return 1.0;
  if (expected.numel() == 0) return 0.0;
  const double size = std::max(floor, expected.abs().max().item<double>());
  const double error = (actual - expected).abs().max().item<double>();
  return size > 0 ? error / size : error;
}

}  // namespace qw::test
