// The operator behind qw::divergence, for operators that contain it, and the names of its kinds.
#pragma once

#include <string>
#include <tuple>

#include "ops/backend.h"
#include "qw/ops/divergence.h"

namespace qw::ops {

// Throws c10::Error that has the known names.
Divergence divergence_kind(const char* op, const std::string& name);
std::string name_of(Divergence kind);

// As in the schema.
std::tuple<at::Tensor, at::Tensor> divergence_backend(std::string kind, const at::Tensor& predictions,
                                                      const at::Tensor& nodes, const OptionalTensor& classes,
                                                      const OptionalTensor& targets,
                                                      const OptionalTensor& shift,
                                                      const OptionalTensor& class_weights, double scale,
                                                      bool with_gradient, const OptionalTensor& addend);

}  // namespace qw::ops
