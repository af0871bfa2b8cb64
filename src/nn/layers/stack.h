// What all models share around their layers: dropout, bias, norm, activation, residual.
#pragma once

#include <functional>
#include <vector>

#include "qw/nn/model.h"
#include "qw/ops/activate.h"

namespace qw {

// The places where a model drops values, as layers of DropoutKey: each has random numbers of its own.
enum class DropoutPlace : int64_t { kLayer = 0, kAttention = 1000, kPropagation = 2000 };
DropoutKey dropout_key(const ModelInput& input, DropoutPlace place, int64_t layer = 0);

// Whether x is the features as they are, dense, and the matrix over the nodes is the graph's own: then their
// product is the same in every pass, and GraphTensors keeps it.
bool is_constant(const ModelInput& input, const NodeMatrix& x);

// A layer's output, its bias not yet added.
struct LayerOutput {
  at::Tensor rows;
  at::Tensor bias;  // [C], or undefined for none
};

struct StackStyle {
  Activation activation = Activation::kRelu;
  bool drop_input = false;
};

// widths[l - 1] -> widths[l] for layers l = 1 .. L. Between layers: norm, activation, dropout; with
// `residual` the input of a layer, through a learned matrix skip<l>.weight where widths differ, is added to
// its output.
class LayerStack {
 public:
  LayerStack(ParameterSet& parameters, const ModelOptions& options, std::vector<int64_t> widths,
             StackStyle style = {});

  using Layer = std::function<LayerOutput(int64_t layer, const NodeMatrix& x)>;
  at::Tensor run(const ModelInput& input, const Layer& layer) const;

  // Of what the stack does around its layers; `kept` is what each layer keeps per column of its output.
  PassMemory pass_memory(int64_t kept = 0) const;

 private:
  struct Norm {
    at::Tensor weight, bias, running_mean, running_var;
  };
  at::Tensor between(const ModelInput& input, int64_t layer, const LayerOutput& output) const;

  double dropout_;
  std::string norm_;
  StackStyle style_;
  std::vector<int64_t> widths_;
  int64_t layers_;
  bool residual_;
  std::vector<at::Tensor> skips_;  // by layer; undefined: the identity
  std::vector<Norm> norms_;
};

// inputs, hidden, ..., hidden, outputs
std::vector<int64_t> layer_widths(const ModelShape& shape, const ModelOptions& options);

}  // namespace qw
