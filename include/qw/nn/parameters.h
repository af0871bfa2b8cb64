// The parameters of a model: tensors with names, and what each is for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// What a parameter is for decides which learning rate and weight decay it gets.
enum class ParameterRole { kBackbone, kFilter, kTransport, kEdgePredictor };

// One tensor that is learned.
struct Parameter {
  std::string name;                               // PyTorch Geometric's: "conv1.lin.weight"
  at::Tensor value;                               // a leaf that requires a gradient
  ParameterRole role = ParameterRole::kBackbone;  // decides its rates
};

// State that is saved with a model but not learned by gradients: running means of a batch norm.
struct Buffer {
  std::string name;  // PyTorch Geometric's, as of parameters
  // In the type of the parameters.
  at::Tensor value;
};

// Owns the parameters in the order in which they were added. Initial values are random numbers keyed by
// (seed, position in this order): the same on every platform, whatever the number of threads.
class ParameterSet {
 public:
  // Type and device of all tensors are those of `options`.
  explicit ParameterSet(uint64_t seed, at::TensorOptions options) : seed_(seed), options_(options) {}

  // A matrix [out, in] as PyTorch has it, stored so that its transpose is row-major, which is what products
  // with sparse rows read. Uniform in [-bound, bound).
  at::Tensor add_weight(std::string name, int64_t out, int64_t in, double bound,
                        ParameterRole role = ParameterRole::kBackbone);
  // Uniform in [-bound, bound).
  at::Tensor add_uniform(std::string name, at::IntArrayRef shape, double bound,
                         ParameterRole role = ParameterRole::kBackbone);
  // The same value everywhere.
  at::Tensor add_constant(std::string name, at::IntArrayRef shape, double value,
                          ParameterRole role = ParameterRole::kBackbone);
  // A buffer that begins as `value`.
  at::Tensor add_buffer(std::string name, const at::Tensor& value);

  // In the order in which they were added.
  const std::vector<Parameter>& all() const { return parameters_; }
  // In the order in which they were added.
  const std::vector<Buffer>& buffers() const { return buffers_; }
  int64_t count() const;  // numbers in all parameters together
  // Type and device of all tensors.
  const at::TensorOptions& options() const { return options_; }

  void drop_gradients();  // as if backward() had not been called

  // Parameters and buffers by name; undefined when there is none.
  at::Tensor find(std::string_view name) const;

 private:
  at::Tensor add(std::string name, at::Tensor value, ParameterRole role);

  uint64_t seed_;
  at::TensorOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
};

// Bounds of the usual initial values: glorot (Xavier) uniform, and torch.nn.Linear's.
double glorot_bound(int64_t in, int64_t out);
double linear_bound(int64_t in);

}  // namespace qw
