// Pages, as commands write them.
#pragma once

#include <string>

#include "cli/command.h"

namespace qw::cli {

// Writes a page and says where, as a command does whose result it is.
void write_report(const std::string& file, const std::string& html, const GlobalOptions& global);

// --report [FILE] of a command that makes a folder. `given` is for report_file().
void add_report_option(CLI::App& app, std::string& given);

// The page to write: "" where none is wanted, report.html in the folder where no file is named. Throws
// qw::UsageError where there is no folder, and where the file is not called .html: a word after --report is a
// file, not the data.
std::string report_file(const std::string& command, const std::string& given, const std::string& folder);

}  // namespace qw::cli
