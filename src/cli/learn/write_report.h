// Where a page goes.
#pragma once

#include <string>

#include "cli/command.h"

namespace qw::cli {

// Writes it and says where, as a command does whose result it is.
void write_report(const std::string& file, const std::string& html, const GlobalOptions& global);

}  // namespace qw::cli
