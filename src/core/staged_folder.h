// A folder that appears whole or not at all.
#pragma once

#include <filesystem>

namespace qw {

// Is made beside `target` under a name that nobody takes for it, and becomes it by publish(). Without that it
// goes when this goes; what killed processes left of the same target goes when the next one is made.
class StagedFolder {
 public:
  // Throws qw::UsageError when the target is there and is no empty folder.
  explicit StagedFolder(const std::filesystem::path& target);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  const std::filesystem::path& path() const { return path_; }
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  int lock_ = -1;  // says that somebody works in it
};

}  // namespace qw
