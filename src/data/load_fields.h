// The options of loading as a table: what each means stands here and nowhere else.
#pragma once

#include "core/field_table.h"
#include "qw/data/load.h"

namespace qw {

FieldTable load_fields(LoadOptions& options, std::string context);

}  // namespace qw
