// Nodes that a report explains.
#pragma once

#include <string>

#include "qw/report/report.h"

namespace qw::cli {

// report_html() with nodes explained: of the first run, on the data that it was trained on.
std::string explained_report(const std::string& folder, ReportOptions options = {});

}  // namespace qw::cli
