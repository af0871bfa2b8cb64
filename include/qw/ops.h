// All of qw/ops: the operators on tensors (needs qw::torch).
#pragma once

#include "qw/ops/activate.h"
#include "qw/ops/adam.h"
#include "qw/ops/capture.h"
#include "qw/ops/chebyshev_filter.h"
#include "qw/ops/dense_linear.h"
#include "qw/ops/divergence.h"
#include "qw/ops/dropout.h"
#include "qw/ops/edge_values.h"
#include "qw/ops/feature_norm.h"
#include "qw/ops/flow_step.h"
#include "qw/ops/graph_attention.h"
#include "qw/ops/incidence.h"
#include "qw/ops/normalise.h"
#include "qw/ops/spmm.h"
#include "qw/ops/step_clock.h"
#include "qw/ops/wasserstein.h"
