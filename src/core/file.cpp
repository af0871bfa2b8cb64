#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core/memory.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(const fs::path& path, std::string_view action, int error_number) {
  fail(fmt::format("{}: cannot {}: {}", path.string(), action, reason_of(error_number)));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : path_(path), value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (value_ < 0) fail_system(path, (flags & (O_WRONLY | O_RDWR)) != 0 ? "write" : "read", errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }

  int value() const { return value_; }
  void sync() const {
    if (::fsync(value_) != 0) fail_system(path_, "sync", errno);
  }

 private:
  fs::path path_;
  int value_;
};

// Devices such as /dev/zero; /dev/null and a terminal do end.
bool is_endless(const struct stat& status) {
  if (S_ISBLK(status.st_mode)) return true;
  if (!S_ISCHR(status.st_mode)) return false;
  constexpr unsigned kMemoryDevices = 1;  // major number of null, zero, full, random and their like
  constexpr unsigned kNull = 3;
  return major(status.st_rdev) == kMemoryDevices && minor(status.st_rdev) != kNull;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void write_all(const Descriptor& file, const fs::path& path, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(file.value(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system(path, "write", errno);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  file.sync();
}

// The process of a name that temporary_beside() made, ".file.PID.SERIAL.part".
std::optional<pid_t> writer_of(const std::string& name) {
  if (!name.starts_with('.') || !name.ends_with(".part")) return std::nullopt;
  const std::vector<std::string> parts = split(name, '.');
  if (parts.size() < 5) return std::nullopt;
  const auto process = parse_integer(parts[parts.size() - 3]);
  const auto serial = parse_integer(parts[parts.size() - 2]);
  if (!process || !serial || *process <= 0 || *process > std::numeric_limits<pid_t>::max())
    return std::nullopt;
  return static_cast<pid_t>(*process);
}

void remove_abandoned_parts(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  std::error_code error;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(fs::absolute(folder, error)).second) return;
  }
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    if (is_abandoned(each->path())) abandoned.push_back(each->path());
  }
  for (const fs::path& part : abandoned) fs::remove(part, error);
}

}  // namespace

bool is_abandoned(const fs::path& part) {
  const std::optional<pid_t> writer = writer_of(part.filename().string());
  if (!writer || ::kill(*writer, 0) == 0 || errno != ESRCH) return false;
  const int file = ::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return false;
  const bool unlocked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return unlocked;
}

std::string reason_of(int error_number) {
  const std::string reason = std::strerror(error_number);
  return error_number == EFBIG ? reason + " (the limit of ulimit -f is reached)" : reason;
}

std::string read_file(const fs::path& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.value(), &status) != 0) fail_system(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail_system(path, "read", EISDIR);
  if (is_endless(status)) fail(path.string() + ": cannot read: it is a device, and those have no end");
  require_memory(static_cast<double>(status.st_size), path.string(), "give a smaller file");
  std::string contents(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  while (true) {
    // A file that grows, or a pipe, reports no useful size: keep room for more until the end is seen.
    if (filled == contents.size()) {
      char probe = 0;
      const ssize_t more = ::read(file.value(), &probe, 1);
      if (more == 0) break;
      if (more < 0 && errno != EINTR) fail_system(path, "read", errno);
      if (more > 0) {
        // The old and the new text are both there while one is copied.
        require_memory(2.0 * static_cast<double>(filled), path.string() + ": what it gives",
                       "give a file that ends earlier");
        contents.resize(filled * 2 + 4096);
        contents[filled++] = probe;
      }
      continue;
    }
    const ssize_t got = ::read(file.value(), contents.data() + filled, contents.size() - filled);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) fail_system(path, "read", errno);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> serial{0};
  return folder_of(path) / fmt::format(".{}.{}.{}.part", path.filename().string(), ::getpid(), serial++);
}

void publish_file(const fs::path& from, const fs::path& to) {
  Descriptor(from, O_RDONLY).sync();
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_system(to, "rename a finished file to this name", error.value());
  Descriptor(folder_of(to), O_RDONLY | O_DIRECTORY).sync();
}

void write_file_atomically(const fs::path& given, std::string_view contents) {
  std::error_code error;
  // A link stays a link: what it points to is replaced.
  const fs::path path = fs::is_symlink(given, error) ? fs::weakly_canonical(given, error) : given;
  const bool replaceable = !fs::exists(path, error) || fs::is_regular_file(path, error);
  if (!replaceable) fail(fmt::format("{}: cannot write: it exists and is no regular file", path.string()));
  fs::create_directories(folder_of(path), error);
  if (error) fail_system(folder_of(path), "make this folder", error.value());
  remove_abandoned_parts(folder_of(path));
  const fs::path temporary = temporary_beside(path);
  const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  ::flock(file.value(), LOCK_EX | LOCK_NB);  // nobody else has its name: only file systems without locks fail
  try {
    write_all(file, temporary, contents);
    publish_file(temporary, path);
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

}  // namespace qw
