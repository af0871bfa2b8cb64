#include "data/file_set.h"

#include <algorithm>

#include "core/file.h"
#include "data/formats/gzip.h"
#include "qw/core/error.h"

namespace qw {

namespace fs = std::filesystem;

std::string FileSet::read_text(const std::string& name) const {
  if (name.ends_with(".gz")) return gunzip(read(name), label(name));
  return read(name);
}

fs::path FolderFiles::path_of(const std::string& name) const {
  return folder_ == "." ? fs::path(name) : folder_ / name;
}

bool FolderFiles::has(const std::string& name) const {
  std::error_code ignored;
  return fs::is_regular_file(path_of(name), ignored);
}

std::string FolderFiles::read(const std::string& name) const { return read_file(path_of(name)); }

std::string FolderFiles::label(const std::string& name) const { return path_of(name).string(); }

std::vector<std::string> FolderFiles::names() const {
  std::vector<std::string> result;
  std::error_code error;
  for (fs::directory_iterator each(folder_, error), end; !error && each != end; each.increment(error)) {
    std::error_code ignored;
    if (each->is_regular_file(ignored)) result.push_back(each->path().filename().string());
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string MemoryFiles::read(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) fail(name + ": cannot read: no such file");
  return found->second;
}

std::vector<std::string> MemoryFiles::names() const {
  std::vector<std::string> result;
  for (const auto& [name, contents] : files_) {
    if (name.find('/') == std::string::npos) result.push_back(name);
  }
  return result;
}

}  // namespace qw
