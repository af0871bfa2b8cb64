#include "data/cache.h"

#include <algorithm>
#include <cstdlib>

#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

}  // namespace

fs::path cache_folder() {
  if (fs::path chosen = variable("QW_CACHE_DIR"); !chosen.empty()) return chosen;
  if (const fs::path caches = variable("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "qw";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "qw";
  fail("no folder for downloaded data: set QW_CACHE_DIR (XDG_CACHE_HOME and HOME are not set either)");
}

fs::path dataset_folder(const DatasetCard& card) { return cache_folder() / "datasets" / card.name; }

bool is_cached(const DatasetCard& card) {
  const fs::path folder = dataset_folder(card);
  return std::all_of(card.files.begin(), card.files.end(), [&](const FileCard& file) {
    std::error_code ignored;
    return fs::is_regular_file(folder / file.name, ignored);
  });
}

}  // namespace qw
