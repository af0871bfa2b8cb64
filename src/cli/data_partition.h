// A partition, where a command is about data.
#pragma once

#include "cli/command.h"

namespace qw::cli {

// What a partition is, on stdout; false when the data is none.
bool show_partition(const DataArguments& arguments, const GlobalOptions& global);

}  // namespace qw::cli
