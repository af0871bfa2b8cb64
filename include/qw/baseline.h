// All of qw/baseline: linear models without a graph.
#pragma once

#include "qw/baseline/linear.h"
