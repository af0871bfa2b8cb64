// Files that are written and read in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/sha256.h"

namespace qw {

// Appends the bytes and returns how many they are; `anew`: to an empty file. Throws qw::Error.
int64_t append_to_file(const std::filesystem::path& path, std::span<const std::byte> bytes, bool anew);

// The file in pieces of this size; the last one may be shorter.
void read_pieces(const std::filesystem::path& path, size_t piece,
                 const std::function<void(std::span<const std::byte>)>& visit);

// A file whose checksum is known when it has been written.
class HashedFile {
 public:
  explicit HashedFile(std::filesystem::path path) : path_(std::move(path)) {}

  void append_bytes(std::span<const std::byte> bytes);
  template <class T>
  void append(std::span<const T> items) {
    append_bytes(std::as_bytes(items));
  }
  template <class T>
  void append(const std::vector<T>& items) {
    append(std::span<const T>(items));
  }

  struct Summary {
    std::string sha256;
    int64_t bytes = 0;
  };
  Summary finish();  // once

 private:
  void flush();

  std::filesystem::path path_;
  std::vector<std::byte> buffer_;
  Sha256 hash_;
  int64_t written_ = 0;
};

}  // namespace qw
