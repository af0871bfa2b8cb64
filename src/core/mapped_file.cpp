#include "core/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/file.h"
#include "qw/core/error.h"

namespace qw {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const auto refuse = [&](int error) {
    fail(fmt::format("{}: cannot read: {}", path.string(), reason_of(error)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(errno);
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(status.st_size);
  void* start = known && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : nullptr;
  const int error = errno;
  ::close(file);
  if (!known) refuse(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  if (start == MAP_FAILED) refuse(error);
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(start), start == nullptr ? 0 : size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::done_before(size_t end) const {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t whole = std::min(end, bytes_.size()) / page * page;
  if (whole > 0) ::madvise(const_cast<std::byte*>(bytes_.data()), whole, MADV_DONTNEED);
}

}  // namespace qw
