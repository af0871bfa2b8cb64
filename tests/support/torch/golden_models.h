// Reference values of models, one case per file: the project's own (tests/golden/models/*.json) and those of
// the published models ($QW_GOLDEN_DIR/models/*.safetensors), both with the same tensors and metadata.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "qw/graph/graph.h"
#include "qw/graph/targets.h"
#include "qw/nn/edge_predictor.h"
#include "qw/nn/model.h"

namespace qw::test {

// A file's graph, and its tensors with the rows of what belongs to edges in the order of that graph.
class GoldenCase {
 public:
  explicit GoldenCase(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const std::string& model() const { return metadata_.at("model"); }
  bool has_predictor() const { return metadata_.at("edge_weight_predictor") == "True"; }
  double lambda() const { return std::stod(metadata_.at("lambda")); }
  ModelOptions options() const;
  const Graph& graph() const { return graph_; }

  at::Tensor tensor(const std::string& name, at::ScalarType type) const;
  int64_t classes() const;
  std::vector<NodeId> train_nodes() const;
  Targets targets() const;

  // The name under which the file has a parameter of the model or of the predictor; and the flow's.
  std::string flow_name() const;
  std::string predictor_name(const std::string& parameter) const;

  std::unique_ptr<Model> make_model(at::ScalarType type) const;  // with the file's parameters
  EdgePredictor make_predictor(ParameterSet& parameters) const;  // named edge_predictor.*, likewise

 private:
  void read_json(const std::filesystem::path& path);
  void read_safetensors(const std::filesystem::path& path);

  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, at::Tensor> tensors_;
  Graph graph_;
};

std::vector<std::filesystem::path> own_golden_model_files();  // sorted
std::vector<std::filesystem::path> golden_model_files();  // these, then the published, where they are here

// The name of a test that reads one of them: own_gcn, published_gcn.
std::string golden_file_name(const testing::TestParamInfo<std::filesystem::path>& file);

// The largest difference, relative to the largest number of `expected` or to `floor` where that is larger;
// absolute where both are 0.
double relative_error(const at::Tensor& actual, const at::Tensor& expected, double floor = 0.0);

}  // namespace qw::test
