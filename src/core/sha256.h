// SHA-256, for telling whether files and data are what they were.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace qw {

// Of pieces, as they come.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  void add(std::string_view bytes);
  std::string hex();  // once, at the end: 64 lower-case hexadecimal digits

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hexadecimal digits

// Of a file's contents, read in pieces. Throws qw::Error, naming the path, when it cannot be read.
std::string sha256_hex_of_file(const std::filesystem::path& path);

}  // namespace qw
