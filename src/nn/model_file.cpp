#include "qw/nn/model_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "nn/model_options.h"
#include "nn/tensor_file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLargestExtent = int64_t{1} << 40;  // sums of two still fit; memory ends far below

std::filesystem::path config_path(const std::filesystem::path& path) {
  auto config = std::filesystem::path(path).replace_extension(".json");
  if (config == path) {
    fail(fmt::format(
        "{}: is where the description goes; name the file of the tensors otherwise, as in {}.safetensors",
        path.string(), path.stem().string()));
  }
  return config;
}

std::vector<Buffer> tensors_of(const Model& model) {
  std::vector<Buffer> tensors;
  for (const Parameter& parameter : model.parameters().all())
    tensors.push_back({parameter.name, parameter.value});
  for (const Buffer& buffer : model.parameters().buffers()) tensors.push_back(buffer);
  return tensors;
}

struct ShapeField {
  const char* name;
  int64_t ModelShape::*member;
};
constexpr ShapeField kShapeFields[] = {{"nodes", &ModelShape::nodes},
                                       {"entries", &ModelShape::entries},
                                       {"inputs", &ModelShape::inputs},
                                       {"outputs", &ModelShape::outputs}};

Json to_json(const ModelConfig& config) {
  ModelOptions options = config.options;
  Json shape;
  for (const ShapeField& field : kShapeFields) shape[field.name] = config.shape.*field.member;
  return {{"schema", kModelSchema},
          {"model", config.model},
          {"options", model_fields(options).to_json()},
          {"shape", shape}};
}

const Json& member(const Json& object, const char* name, const std::string& file) {
  if (!object.is_object() || !object.contains(name)) fail(fmt::format("{}: has no \"{}\"", file, name));
  return object.at(name);
}

int64_t integer(const Json& object, const char* name, const std::string& file) {
  const Json& value = member(object, name, file);
  if (!value.is_number_integer()) fail(fmt::format("{}: \"{}\" is not a whole number", file, name));
  const auto number = value.get<int64_t>();
  if (number < 0 && value.is_number_unsigned()) {
    fail(fmt::format("{}: \"{}\" is {}, more than 64 bits can hold", file, name, json_text(value)));
  }
  return number;
}

int64_t extent(const Json& shape, const char* name, const std::string& file) {
  const int64_t value = integer(shape, name, file);
  if (value < 0) fail(fmt::format("{}: \"{}\" is negative", file, name));
  if (value > kLargestExtent) {
    fail(fmt::format("{}: \"{}\" is {}; at most {} are possible", file, name, value, kLargestExtent));
  }
  return value;
}

ModelConfig config_from(const Json& document, const std::string& file) {
  const int64_t schema = integer(document, "schema", file);
  if (schema != kModelSchema) {
    fail(fmt::format("{}: schema {} is not the {} that this qw reads{}", file, schema, kModelSchema,
                     schema > kModelSchema ? "; use a newer qw" : ""));
  }
  ModelConfig config;
  const Json& model = member(document, "model", file);
  if (!model.is_string()) fail(fmt::format("{}: \"model\" is not a name", file));
  config.model = model.get<std::string>();
  for (const ShapeField& field : kShapeFields) {
    config.shape.*field.member = extent(member(document, "shape", file), field.name, file);
  }
  try {
    find_model(config.model);
    model_fields(config.options).from_json(member(document, "options", file));
  } catch (const UsageError& error) {
    fail(fmt::format("{}: {}", file, error.what()));
  }
  return config;
}

// The weights of the layers that a description asks for, at least: to be held against what the file has,
// before anything of that size is made. A long double does not overflow where a product of the sizes would.
long double least_size(const ModelConfig& config) {
  const auto heeds = find_model(config.model).options;
  const bool has_heads = std::find(heeds.begin(), heeds.end(), "heads") != heeds.end();
  const long double inputs = config.shape.inputs, outputs = config.shape.outputs;
  const long double hidden =
      static_cast<long double>(config.options.hidden) * (has_heads ? config.options.heads : 1);
  const auto between = static_cast<long double>(std::max<int64_t>(0, config.options.layers - 2));
  if (config.options.layers == 1) return inputs * outputs;
  return inputs * hidden + between * hidden * hidden + hidden * outputs;
}

std::unique_ptr<Model> make_model(const ModelConfig& config, const std::vector<Buffer>& tensors,
                                  const at::TensorOptions& options, const std::string& file) {
  int64_t stored = 0;
  for (const Buffer& tensor : tensors) stored += tensor.value.numel();
  if (least_size(config) > static_cast<long double>(stored)) {
    fail(fmt::format("{}: the model that it describes has more weights than the {} in its file", file,
                     stored));
  }
  ModelShape shape = config.shape;
  shape.entries = std::min(shape.entries, stored + 1);  // only some models have a parameter of this size
  return find_model(config.model).make(shape, config.options, 0, options);
}

}  // namespace

void save_model(const std::filesystem::path& path, const ModelConfig& config, const Model& model) {
  write_file_atomically(config_path(path), json_text(to_json(config), 2) + "\n");
  write_tensors(path, tensors_of(model));
}

void load_parameters(const std::filesystem::path& path, const Model& model) {
  copy_by_name(read_tensors(path), tensors_of(model), path.string());
}

LoadedModel load_model(const std::filesystem::path& path, const at::TensorOptions& options) {
  const std::string config_file = config_path(path).string();
  LoadedModel loaded{config_from(read_json(config_file), config_file), nullptr};
  const std::vector<Buffer> tensors = read_tensors(path);
  loaded.model = make_model(loaded.config, tensors, options, config_file);
  copy_by_name(tensors, tensors_of(*loaded.model), path.string());
  for (const Buffer& tensor : tensors) {
    if (at::isFloatingType(tensor.value.scalar_type()) && !at::isfinite(tensor.value).all().item<bool>())
      fail(fmt::format("{}: '{}' has numbers that are not finite", path.string(), tensor.name));
  }
  return loaded;
}

}  // namespace qw
