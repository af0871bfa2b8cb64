// The options of learning as data.
#pragma once

#include "core/field_table.h"
#include "qw/learn/options.h"

namespace qw {

struct TrainRequest;

// What is neither of the network nor of the solver.
FieldTable request_fields(TrainRequest& request);

FieldTable learn_fields(LearnOptions& options);

}  // namespace qw
