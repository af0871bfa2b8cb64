// Datasets back into files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/graph/dataset.h"

namespace qw {

struct Writer {
  std::string name;    // "csv"
  std::string writes;  // what appears at `path`, in words
  // Every file is written atomically. Throws qw::Error when the format cannot hold the data.
  void (*write)(const Dataset& dataset, const std::filesystem::path& path);
};

const std::vector<Writer>& writers();

// Returns what the format did not keep and what reading it back needs, one sentence each. Throws
// qw::UsageError on an unknown format, listing the known ones.
std::vector<std::string> save_dataset(const Dataset& dataset, const std::string& format,
                                      const std::filesystem::path& path);

}  // namespace qw
