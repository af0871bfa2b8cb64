#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(const fs::path& path, std::string_view action, int error_number) {
  fail(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(error_number)));
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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void write_all(const fs::path& path, std::string_view contents) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  while (!contents.empty()) {
    const ssize_t written = ::write(file.value(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system(path, "write", errno);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  file.sync();
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.value(), &status) != 0) fail_system(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail_system(path, "read", EISDIR);
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
  const fs::path temporary = temporary_beside(path);
  try {
    write_all(temporary, contents);
    publish_file(temporary, path);
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

}  // namespace qw
