#include "data/formats/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "core/text.h"
#include "data/formats/gzip.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;

constexpr uint64_t kLocalSize = 30;
constexpr uint64_t kCentralSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kLocator64Size = 20;

constexpr uint32_t kSaturated32 = 0xffffffff;
constexpr uint16_t kSaturated16 = 0xffff;
constexpr uint16_t kZip64Extra = 1;
constexpr uint16_t kEncryptedFlag = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

constexpr uint16_t kVersion = 20;
constexpr uint16_t kFirstOfJanuary1980 = (1 << 5) | 1;

// Little-endian fields of an archive; every access is checked.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& label) : bytes_(bytes), label_(label) {}

  std::string_view slice(uint64_t offset, uint64_t size, const char* what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      fail_at_byte(label_, offset,
                   fmt::format("{} needs {} bytes; the archive has {}", what, size, bytes_.size()));
    }
    return bytes_.substr(offset, size);
  }

  // A record of `size` bytes that starts with `signature`.
  std::string_view record(uint64_t offset, uint64_t size, uint32_t signature, const char* what) const {
    const std::string_view found = slice(offset, size, what);
    if (number<uint32_t>(found, 0) != signature)
      fail_at_byte(label_, offset, fmt::format("expected {}", what));
    return found;
  }

  template <class Number>
  static Number number(std::string_view record, size_t at) {
    Number value = 0;
    for (size_t k = sizeof(Number); k-- > 0;) {
      value = static_cast<Number>((static_cast<uint64_t>(value) << 8) |
                                  static_cast<unsigned char>(record[at + k]));
    }
    return value;
  }

 private:
  std::string_view bytes_;
  const std::string& label_;
};

struct Directory {
  uint64_t entries = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

uint64_t find_end(std::string_view bytes, const std::string& label) {
  if (bytes.size() >= kEndSize) {
    const uint64_t last = bytes.size() - kEndSize;
    const uint64_t first = last > kSaturated16 ? last - kSaturated16 : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (bytes[at] != 'P' || Fields::number<uint32_t>(bytes, at) != kEndSignature) continue;
      if (Fields::number<uint16_t>(bytes, at + 20) <= last - at) return at;
    }
  }
  fail(fmt::format("{}: not a zip archive, or cut short: its {} bytes do not end in a central directory",
                   label, bytes.size()));
}

Directory find_directory(std::string_view bytes, const std::string& label) {
  const Fields fields(bytes, label);
  const uint64_t end_at = find_end(bytes, label);
  const std::string_view end = bytes.substr(end_at, kEndSize);
  Directory directory{Fields::number<uint16_t>(end, 10), Fields::number<uint32_t>(end, 12),
                      Fields::number<uint32_t>(end, 16)};
  uint64_t disks = Fields::number<uint16_t>(end, 4) | Fields::number<uint16_t>(end, 6);
  const bool saturated =
      directory.entries == kSaturated16 || directory.size == kSaturated32 || directory.offset == kSaturated32;
  if (saturated && end_at >= kLocator64Size &&
      Fields::number<uint32_t>(bytes, end_at - kLocator64Size) == kLocator64Signature) {
    const auto end64_at = Fields::number<uint64_t>(bytes, end_at - kLocator64Size + 8);
    const std::string_view end64 = fields.record(end64_at, kEnd64Size, kEnd64Signature, "a zip64 end record");
    directory = {Fields::number<uint64_t>(end64, 32), Fields::number<uint64_t>(end64, 40),
                 Fields::number<uint64_t>(end64, 48)};
    disks = Fields::number<uint32_t>(end64, 16) | Fields::number<uint32_t>(end64, 20);
  }
  if (disks != 0) fail(label + ": an archive of several disks; only whole archives can be read");
  fields.slice(directory.offset, directory.size, "the central directory");
  if (directory.entries > directory.size / kCentralSize) {
    fail_at_byte(label, directory.offset,
                 fmt::format("the central directory claims {} entries in {} bytes", directory.entries,
                             directory.size));
  }
  return directory;
}

// Sizes that do not fit 32 bits stand in an extra field, in this order, those that do not fit only.
void read_zip64_extra(std::string_view extra, ZipEntry& entry, uint64_t offset, const std::string& label) {
  for (size_t at = 0; extra.size() - at >= 4;) {
    const auto id = Fields::number<uint16_t>(extra, at);
    const auto size = Fields::number<uint16_t>(extra, at + 2);
    at += 4;
    if (size > extra.size() - at) break;
    if (id == kZip64Extra) {
      size_t field = at;
      for (uint64_t* value : {&entry.size, &entry.packed_size, &entry.header_offset}) {
        if (*value != kSaturated32) continue;
        if (at + size - field < 8) fail_at_byte(label, offset, "a zip64 extra field is too short");
        *value = Fields::number<uint64_t>(extra, field);
        field += 8;
      }
    }
    at += size;
  }
}

std::vector<ZipEntry> read_directory(std::string_view bytes, const std::string& label) {
  const Fields fields(bytes, label);
  const Directory directory = find_directory(bytes, label);
  std::vector<ZipEntry> entries;
  entries.reserve(directory.entries);
  uint64_t at = directory.offset;
  for (uint64_t k = 0; k < directory.entries; ++k) {
    const std::string_view record =
        fields.record(at, kCentralSize, kCentralSignature, "a central directory entry");
    ZipEntry& entry = entries.emplace_back();
    entry.encrypted = (Fields::number<uint16_t>(record, 8) & kEncryptedFlag) != 0;
    entry.method = Fields::number<uint16_t>(record, 10);
    entry.crc32 = Fields::number<uint32_t>(record, 16);
    entry.packed_size = Fields::number<uint32_t>(record, 20);
    entry.size = Fields::number<uint32_t>(record, 24);
    entry.header_offset = Fields::number<uint32_t>(record, 42);
    const auto name_size = Fields::number<uint16_t>(record, 28);
    const auto extra_size = Fields::number<uint16_t>(record, 30);
    const auto comment_size = Fields::number<uint16_t>(record, 32);
    entry.name = fields.slice(at + kCentralSize, name_size, "an entry's name");
    read_zip64_extra(fields.slice(at + kCentralSize + name_size, extra_size, "an entry's extra field"), entry,
                     at, label);
    at += kCentralSize + name_size + extra_size + comment_size;
  }
  return entries;
}

void check_unique(const std::vector<ZipEntry>& entries, const std::string& label) {
  std::unordered_set<std::string_view> seen;
  for (const ZipEntry& entry : entries) {
    if (!seen.insert(entry.name).second)
      fail(fmt::format("{}: holds {} twice", label, in_quotes(entry.name)));
  }
}

uint32_t checksum(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Raw DEFLATE, or nothing when that does not make it smaller.
std::string deflate_raw(std::string_view plain) {
  constexpr int kLevel = 6;
  constexpr int kRawWindow = -15;
  constexpr int kMemoryLevel = 8;
  if (plain.empty()) return {};
  z_stream stream{};
  QW_ASSERT(deflateInit2(&stream, kLevel, Z_DEFLATED, kRawWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, deflateEnd);
  std::string packed(plain.size() - 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  packed.resize(packed.size() - stream.avail_out);
  return packed;
}

template <class Number>
void append(std::string& bytes, Number value) {
  for (size_t k = 0; k < sizeof(Number); ++k)
    bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * k));
}

// What a local header and a central entry have in common, from the version to the sizes of name and extra
// field.
std::string shared_fields(const ZipEntry& entry) {
  std::string fields;
  for (const uint16_t value : {kVersion, uint16_t{0}, entry.method, uint16_t{0}, kFirstOfJanuary1980}) {
    append(fields, value);
  }
  append(fields, entry.crc32);
  append(fields, static_cast<uint32_t>(entry.packed_size));
  append(fields, static_cast<uint32_t>(entry.size));
  append(fields, static_cast<uint16_t>(entry.name.size()));
  append(fields, uint16_t{0});
  return fields;
}

void check_writable(uint64_t bytes, const std::string& what) {
  if (bytes >= kSaturated32) {
    fail(fmt::format("a zip archive is written up to 4 GiB; {} needs {}", what,
                     human_bytes(static_cast<double>(bytes))));
  }
}

}  // namespace

ZipArchive::ZipArchive(std::string bytes, std::string label)
    : bytes_(std::move(bytes)), label_(std::move(label)), entries_(read_directory(bytes_, label_)) {
  check_unique(entries_, label_);
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const ZipEntry& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::string_view ZipArchive::packed(const ZipEntry& entry) const {
  const Fields fields(bytes_, label_);
  const std::string_view header =
      fields.record(entry.header_offset, kLocalSize, kLocalSignature, "a local file header");
  const auto name_size = Fields::number<uint16_t>(header, 26);
  const auto extra_size = Fields::number<uint16_t>(header, 28);
  if (fields.slice(entry.header_offset + kLocalSize, name_size, "an entry's name") != entry.name) {
    fail_at_byte(label_, entry.header_offset,
                 fmt::format("the local file header is not that of {}", in_quotes(entry.name)));
  }
  return fields.slice(entry.header_offset + kLocalSize + name_size + extra_size, entry.packed_size,
                      "an entry's contents");
}

std::string ZipArchive::extract(std::string_view name) const {
  const ZipEntry* entry = find(name);
  if (entry == nullptr) fail(fmt::format("{}: has no entry {}", label_, in_quotes(name)));
  const std::string label = fmt::format("{}: {}", label_, name);
  if (entry->encrypted) fail(label + ": is encrypted, which is not supported");
  const std::string_view contents = packed(*entry);
  std::string plain;
  if (entry->method == kDeflated) {
    plain = inflate_raw(contents, entry->size, label);
  } else if (entry->method != kStored) {
    fail(fmt::format("{}: is packed by method {}; only stored (0) and deflate (8) can be read", label,
                     entry->method));
  } else if (entry->size != entry->packed_size) {
    fail(fmt::format("{}: is stored in {} bytes but claims {}", label, entry->packed_size, entry->size));
  } else {
    plain = contents;
  }
  if (const uint32_t found = checksum(plain); found != entry->crc32) {
    fail(fmt::format("{}: is damaged: its CRC-32 is {:08x}, expected {:08x}", label, found, entry->crc32));
  }
  return plain;
}

std::string write_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  if (files.size() >= kSaturated16)
    fail(fmt::format("a zip archive is written with up to 65,534 files, not {}", files.size()));
  std::string archive;
  std::string directory;
  for (const auto& [name, contents] : files) {
    if (name.size() > kSaturated16)
      fail(fmt::format("a name in a zip archive has up to 65,535 bytes, not {}", name.size()));
    check_writable(contents.size(), in_quotes(name));
    const std::string deflated = deflate_raw(contents);
    const std::string& packed = deflated.empty() ? contents : deflated;
    const ZipEntry entry{name,           packed.size(),      contents.size(),
                         archive.size(), checksum(contents), deflated.empty() ? kStored : kDeflated};
    append(archive, kLocalSignature);
    archive += shared_fields(entry);
    archive += name;
    archive += packed;
    append(directory, kCentralSignature);
    append(directory, kVersion);
    directory += shared_fields(entry);
    directory.append(10, '\0');  // comment size, disk, attributes
    append(directory, static_cast<uint32_t>(entry.header_offset));
    directory += name;
    check_writable(archive.size() + directory.size() + kEndSize, "this one");
  }
  const auto directory_offset = static_cast<uint32_t>(archive.size());
  archive += directory;
  append(archive, kEndSignature);
  append(archive, uint32_t{0});  // disks
  append(archive, static_cast<uint16_t>(files.size()));
  append(archive, static_cast<uint16_t>(files.size()));
  append(archive, static_cast<uint32_t>(directory.size()));
  append(archive, directory_offset);
  append(archive, uint16_t{0});  // comment
  return archive;
}

}  // namespace qw
