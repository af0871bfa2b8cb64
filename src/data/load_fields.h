// The options of loading as a table: what each means stands here and nowhere else.
#pragma once

#include "core/field_table.h"
#include "qw/data/load.h"

namespace qw {

FieldTable load_fields(LoadOptions& options, std::string context);

// The first that is not as it is by itself, "--directed"; empty: none.
std::string given_option(const LoadOptions& options);

}  // namespace qw
