// What this build is and what it runs on.
#pragma once

#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// What `qw --version` prints.
struct BuildInfo {
  std::string version;                    // of qw
  std::string libtorch;                   // version built against; empty: built without
  bool cuda = false;                      // built with CUDA
  std::string architecture;               // "aarch64", "x86_64"
  std::string compiler;                   // its name and version
  std::vector<std::string> cpu_features;  // of this machine, those that matter for numeric code
};

// Of the library that is loaded.
BuildInfo build_info();

}  // namespace qw
