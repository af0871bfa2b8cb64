// Datasets back into files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// A format that data sets can be written in.
struct Writer {
  std::string name;    // "csv"
  std::string writes;  // what appears at `path`, in words
  std::string ending;  // of the file's name; "": a folder
  // Every file is written atomically. Throws qw::Error when the format cannot hold the data.
  void (*write)(const Dataset& dataset, const std::filesystem::path& path);
};

// Every format that can be written.
const std::vector<Writer>& writers();

// The format for a file of this name: what the ending says, or csv, a folder, when it says nothing. `asked`
// (empty: nobody asked) must agree. Throws qw::UsageError, naming the formats, on a contradiction, an unknown
// format and the ending of a table, which csv does not write as one file.
std::string format_for(const std::filesystem::path& path, const std::string& asked);

// Returns what the format did not keep and what reading it back needs, one sentence each. Throws
// qw::UsageError on an unknown format, listing the known ones.
std::vector<std::string> save_dataset(const Dataset& dataset, const std::string& format,
                                      const std::filesystem::path& path);

}  // namespace qw
