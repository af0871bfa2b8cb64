// What the incidence operators require; the first line of every backend, so that no way in avoids it.
#pragma once

#include <ATen/core/Tensor.h>

namespace qw::ops {

void check_incidence(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                     const at::Tensor& offsets, const at::Tensor& arcs);
void check_incidence_into(const at::Tensor& result, const at::Tensor& flow, const at::Tensor& heads,
                          const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs);
void check_incidence_transpose(const at::Tensor& potential, const at::Tensor& heads, const at::Tensor& tails,
                               const at::Tensor& offsets, const at::Tensor& arcs);

}  // namespace qw::ops
