// Does a data set hold what its card says?
#pragma once

#include <filesystem>

#include "qw/core/export.h"
#include "qw/data/card.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// Throws qw::Error naming the first count that differs.
void check_counts(const DatasetCard& card, const Dataset& dataset);

// For DownloadOptions::check_contents: reads `path` in the format of the card and checks its counts.
void check_downloaded_file(const DatasetCard& card, const FileCard& file, const std::filesystem::path& path);

}  // namespace qw
