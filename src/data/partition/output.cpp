#include "data/partition/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "core/file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags)
      : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (file_ < 0) refuse(flags == O_RDONLY ? "read" : "write");
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(file_); }

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse("write");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  // Fills the room unless the file ends.
  size_t read(std::span<std::byte> room) const {
    size_t filled = 0;
    while (filled < room.size()) {
      const ssize_t got = ::read(file_, room.data() + filled, room.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse("read");
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }

 private:
  [[noreturn]] void refuse(const char* action) const {
    fail(fmt::format("{}: cannot {}: {}", path_.string(), action, reason_of(errno)));
  }

  fs::path path_;
  int file_;
};

}  // namespace

int64_t append_to_file(const fs::path& path, std::span<const std::byte> bytes, bool anew) {
  OpenFile(path, O_WRONLY | O_CREAT | (anew ? O_TRUNC : O_APPEND)).write(bytes);
  return static_cast<int64_t>(bytes.size());
}

void read_pieces(const fs::path& path, size_t piece,
                 const std::function<void(std::span<const std::byte>)>& visit) {
  const OpenFile file(path, O_RDONLY);
  std::vector<std::byte> room(piece);
  while (const size_t got = file.read(room)) visit(std::span(room).first(got));
}

void HashedFile::append_bytes(std::span<const std::byte> bytes) {
  constexpr size_t kRoom = size_t{1} << 20;
  hash_.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kRoom) flush();
}

void HashedFile::flush() {
  written_ += append_to_file(path_, buffer_, written_ == 0);
  buffer_.clear();
}

HashedFile::Summary HashedFile::finish() {
  flush();
  return {hash_.hex(), written_};
}

}  // namespace qw
