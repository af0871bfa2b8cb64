// The options of models as data.
#pragma once

#include "core/field_table.h"
#include "qw/nn/model.h"

namespace qw {

FieldTable model_fields(ModelOptions& options);

}  // namespace qw
