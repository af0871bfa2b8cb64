// What a finished training has to say, as one HTML file that needs nothing else.
#pragma once

#include <filesystem>
#include <string>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Of a folder that `qw train --out` or `qw fit --out` made. An empty title says what was learned. Throws
// qw::Error when the folder is no finished training, or is damaged.
std::string report_html(const std::filesystem::path& folder, const std::string& title = {});

}  // namespace qw
