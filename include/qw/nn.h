// All of qw/nn: the networks (needs qw::learn).
#pragma once

#include "qw/nn/edge_predictor.h"
#include "qw/nn/graph_tensors.h"
#include "qw/nn/model.h"
#include "qw/nn/model_file.h"
#include "qw/nn/node_matrix.h"
#include "qw/nn/parameters.h"
