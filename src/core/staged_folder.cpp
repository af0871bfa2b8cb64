#include "core/staged_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void remove_abandoned(const fs::path& target) {
  const std::string beginning = "." + target.filename().string() + ".";
  std::vector<fs::path> abandoned;
  std::error_code error;
  for (fs::directory_iterator each(parent_of(target), error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().filename().string().starts_with(beginning) && is_abandoned(each->path()))
      abandoned.push_back(each->path());
  }
  for (const fs::path& folder : abandoned) fs::remove_all(folder, error);
}

// "out" for "out/": its name is needed. A folder that stands there already goes by its own name.
fs::path named(const fs::path& path) {
  std::error_code error;
  const fs::path target = path.has_filename() ? path : path.parent_path();
  return fs::is_directory(target, error) ? fs::canonical(target) : target;
}

// The finished folder takes the place of an empty one, which a mounted file system or the current folder
// cannot leave.
bool can_be_replaced(const fs::path& target) {
  struct stat own = {}, above = {}, current = {};
  if (::stat(target.c_str(), &own) != 0) return true;  // nothing is there
  if (::stat(parent_of(target).c_str(), &above) != 0 || ::stat(".", &current) != 0) return false;
  return own.st_dev == above.st_dev && (own.st_ino != current.st_ino || own.st_dev != current.st_dev);
}

}  // namespace

StagedFolder::StagedFolder(const fs::path& target) : target_(named(target)) {
  std::error_code error;
  const bool free = !fs::exists(fs::symlink_status(target_, error)) ||
                    (fs::is_directory(target_, error) && fs::is_empty(target_, error));
  if (!free) {
    fail_usage(
        fmt::format("{}: is there already; name another folder, or remove it first", target_.string()));
  }
  if (!can_be_replaced(target_)) {
    fail_usage(
        fmt::format("{}: is the current folder, or where a file system is mounted; name a folder in it",
                    target_.string()));
  }
  fs::create_directories(parent_of(target_), error);
  remove_abandoned(target_);
  path_ = temporary_beside(target_);
  if (error || !fs::create_directory(path_, error)) {
    fail(fmt::format("{}: cannot make this folder: {}", target_.string(), reason_of(error.value())));
  }
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void StagedFolder::publish() {
  for (const fs::directory_entry& each : fs::directory_iterator(path_)) {
    const int file = ::open(each.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    const int error = errno;
    if (file >= 0) ::close(file);
    if (!synced) fail(fmt::format("{}: cannot sync: {}", target_.string(), reason_of(error)));
  }
  publish_file(path_, target_);
  path_.clear();
}

}  // namespace qw
