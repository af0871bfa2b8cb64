// A finished run, read once, that predicts as often as it is asked: on its data, or on that with something
// left out.
#pragma once

#include <memory>
#include <vector>

#include "core/safetensors.h"
#include "qw/learn/run.h"

namespace qw {

// What a run predicts from. Rows are nodes of one graph.
struct PredictionInput {
  Graph graph;
  GraphTensors tensors;          // of this graph
  NodeMatrix features;           // scaled
  at::Tensor flow;               // [E, C] float on the CPU, as it was learned; [0]: none
  std::vector<EdgeId> carriers;  // edges that the run had; ascending
  LabelTensors labels;           // of the training nodes
  at::Tensor edge_shares;        // [E] by which edges count; undefined: all by 1
};

class StoredRun {
 public:
  // Throws qw::Error when the run is not finished, or not as it was written. `memory` must outlive it.
  StoredRun(const std::filesystem::path& run_folder, const TrainRequest& of_folder,
            const TrainingMemory& memory);

  // Of the whole data. Throws qw::Error when its features are not the training's in number.
  PredictionInput input_of(const Dataset& dataset) const;

  Scores predict(const PredictionInput& input) const;  // in the units of the targets
  // The network's part of it, and differentiable by the features; `in_label_space` as predict() has it.
  at::Tensor network(const PredictionInput& input, bool in_label_space) const;

  const TrainRequest& request() const { return request_; }
  const SolverInfo& solver() const { return solver_; }
  const RunResult& result() const { return result_; }
  const TrainingMemory& memory() const { return memory_; }
  const at::TensorOptions& tensors() const { return tensors_; }
  Divergence kind() const { return kind_; }
  Model& model() const { return *model_; }
  std::unique_ptr<Model> take_model() { return std::move(model_); }  // and no more predictions

 private:
  void add_flow(const Dataset& dataset, PredictionInput& input) const;
  at::Tensor edge_weights(const PredictionInput& input) const;

  std::filesystem::path folder_;
  TrainRequest request_;
  RunResult result_;
  const TrainingMemory& memory_;
  const SolverInfo& solver_;
  at::TensorOptions tensors_;
  Divergence kind_;
  int64_t inputs_ = 0, outputs_ = 0;
  std::unique_ptr<Model> model_;
  std::optional<SafetensorsFile> flow_file_;
};

}  // namespace qw
