// The options of learning as data.
#pragma once

#include "core/field_table.h"
#include "qw/learn/options.h"

namespace qw {

FieldTable learn_fields(LearnOptions& options);

}  // namespace qw
