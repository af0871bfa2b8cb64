// Models on disk: the tensors in a safetensors file, and beside it a JSON file that says what they are.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "qw/core/export.h"
#include "qw/nn/model.h"

namespace QW_PUBLIC qw {

// What it takes to make a model again.
struct ModelConfig {
  std::string model;     // a name of models()
  ModelOptions options;  // as it was made with
  ModelShape shape;      // as it was made for
};

// The version of the JSON file; other versions are refused.
inline constexpr int kModelSchema = 1;

// Writes `path` (tensors by name: parameters, then buffers) and, first, the same name with the extension
// .json (schema, model, options, shape), each atomically. The same model gives the same bytes.
void save_model(const std::filesystem::path& path, const ModelConfig& config, const Model& model);

// A model and what it was made with.
struct LoadedModel {
  ModelConfig config;            // from the JSON file
  std::unique_ptr<Model> model;  // with the tensors of the file
};

// The model of a file that save_model wrote. Throws qw::Error naming the file on anything that does not fit:
// a schema from the future, an unknown model or option, a tensor missing, left over or of another shape or
// type.
LoadedModel load_model(const std::filesystem::path& path, const at::TensorOptions& options);

// Only the tensors, into a model that is there: also those of a file that PyTorch Geometric's models were
// saved to, since names and shapes are the same. Numbers are converted to the model's type. Throws as above.
void load_parameters(const std::filesystem::path& path, const Model& model);

}  // namespace qw
