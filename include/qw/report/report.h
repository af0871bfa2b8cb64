// What finished trainings have to say, as one HTML file that needs nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Folders that `qw train --out` or `qw fit --out` made; the first is told in full, and the others are
// compared with it. An empty title says what was learned. Throws qw::Error when a folder is no finished
// training.
std::string report_html(const std::vector<std::filesystem::path>& folders, const std::string& title = {});

}  // namespace qw
