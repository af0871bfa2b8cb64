// All of qw/graph: graphs, features, targets, splits, data sets.
#pragma once

#include "qw/graph/dataset.h"
#include "qw/graph/features.h"
#include "qw/graph/generators.h"
#include "qw/graph/graph.h"
#include "qw/graph/matrix.h"
#include "qw/graph/node_explanation.h"
#include "qw/graph/split.h"
#include "qw/graph/split_spec.h"
#include "qw/graph/statistics.h"
#include "qw/graph/structure_features.h"
#include "qw/graph/targets.h"
