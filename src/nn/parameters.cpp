#include "qw/nn/parameters.h"

#include <ATen/Functions.h>

#include <cmath>

#include "qw/core/error.h"
#include "qw/core/random.h"

namespace qw {
namespace {

// Drawn in double and in row-major order of the shape, then rounded: the same numbers for every type and
// layout.
at::Tensor uniform(at::IntArrayRef shape, double bound, const RandomStream& stream,
                   const at::TensorOptions& options) {
  if (options.device().is_meta()) return at::empty(shape, options);  // a model that is only counted
  at::Tensor values = at::empty(shape, at::kDouble);
  auto* out = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    out[i] = bound * (2.0 * stream.uniform(static_cast<uint64_t>(i)) - 1.0);
  }
  return values.to(options);
}

}  // namespace

double glorot_bound(int64_t in, int64_t out) { return std::sqrt(6.0 / static_cast<double>(in + out)); }
double linear_bound(int64_t in) { return in == 0 ? 0.0 : 1.0 / std::sqrt(static_cast<double>(in)); }

at::Tensor ParameterSet::add(std::string name, at::Tensor value, ParameterRole role) {
  QW_ASSERT(!find(name).defined());
  value.requires_grad_();
  parameters_.push_back({std::move(name), value, role});
  return value;
}

at::Tensor ParameterSet::add_weight(std::string name, int64_t out, int64_t in, double bound,
                                    ParameterRole role) {
  const RandomStream stream(seed_, parameters_.size());
  return add(std::move(name), uniform({out, in}, bound, stream, options_).t().contiguous().t(), role);
}

at::Tensor ParameterSet::add_uniform(std::string name, at::IntArrayRef shape, double bound,
                                     ParameterRole role) {
  const RandomStream stream(seed_, parameters_.size());
  return add(std::move(name), uniform(shape, bound, stream, options_), role);
}

at::Tensor ParameterSet::add_constant(std::string name, at::IntArrayRef shape, double value,
                                      ParameterRole role) {
  return add(std::move(name), at::full(shape, value, options_), role);
}

at::Tensor ParameterSet::add_buffer(std::string name, const at::Tensor& value) {
  QW_ASSERT(!find(name).defined());
  buffers_.push_back({std::move(name), value});
  return value;
}

int64_t ParameterSet::count() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.value.numel();
  return count;
}

void ParameterSet::drop_gradients() {
  for (Parameter& parameter : parameters_) parameter.value.mutable_grad() = at::Tensor();
}

at::Tensor ParameterSet::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter.value;
  }
  for (const Buffer& buffer : buffers_) {
    if (buffer.name == name) return buffer.value;
  }
  return {};
}

}  // namespace qw
