// Zip archives in memory, read and written with nothing but zlib.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qw {

// One file of an archive, as the central directory describes it.
struct ZipEntry {
  std::string name;
  uint64_t packed_size = 0;
  uint64_t size = 0;           // unpacked
  uint64_t header_offset = 0;  // of its local header
  uint32_t crc32 = 0;
  uint16_t method = 0;  // 0 stored, 8 deflate; others are listed but cannot be extracted
  bool encrypted = false;
};

// A read-only archive, also in the zip64 layout. All positions and lengths in it are checked against the
// bytes there are before they are used. Archives of several disks and archives with something in front of
// them are refused.
class ZipArchive {
 public:
  // Reads the directory only. `label` names the archive in errors. Throws qw::Error when the directory is
  // damaged or names an entry twice.
  ZipArchive(std::string bytes, std::string label);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the order of the directory
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The unpacked bytes of one entry, checked against its size and CRC-32. Throws qw::Error when there is no
  // such entry, or it is encrypted, damaged or packed by a method other than stored and deflate.
  std::string extract(std::string_view name) const;

 private:
  const ZipEntry* find(std::string_view name) const;
  std::string_view packed(const ZipEntry& entry) const;

  std::string bytes_;
  std::string label_;
  std::vector<ZipEntry> entries_;
};

// An archive of (name, contents) in the given order; each deflated, or stored when that is not smaller. The
// same files give the same bytes: every date is 1980-01-01. Throws qw::Error past what the plain layout
// holds: 65,534 files, 4 GiB.
std::string write_zip(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace qw
