// The solution that wasserstein1_partial hands out.
#pragma once

#include <tuple>

#include "qw/ops/wasserstein.h"

namespace qw::ops {

// Of tensors on the CPU that check_wasserstein1_partial has let pass.
std::tuple<at::Tensor, at::Tensor> solve_wasserstein1_partial(const at::Tensor& values,
                                                              const at::Tensor& targets,
                                                              const TransportTensors& problem);

}  // namespace qw::ops
