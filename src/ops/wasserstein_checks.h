// What wasserstein1_partial requires; the first line of every backend, so that no way in avoids it.
#pragma once

#include "qw/ops/wasserstein.h"

namespace qw::ops {

// Shapes, types and devices; ids and costs are checked where the graph is built.
void check_wasserstein1_partial(const at::Tensor& values, const at::Tensor& targets,
                                const TransportTensors& problem);

}  // namespace qw::ops
