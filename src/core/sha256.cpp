#include "core/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "qw/core/error.h"

namespace qw {
namespace {

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    QW_ASSERT(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(const void* bytes, size_t count) {
    QW_ASSERT(EVP_DigestUpdate(context_.get(), bytes, count) == 1);
  }

  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    QW_ASSERT(EVP_DigestFinal_ex(context_.get(), digest, &length) == 1);
    return fmt::format("{:02x}", fmt::join(digest, digest + length, ""));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Hash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_hex_of_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) fail(fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  Hash hash;
  std::vector<char> piece(size_t{1} << 18);
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), file.get()))
    hash.add(piece.data(), got);
  if (std::ferror(file.get()) != 0)
    fail(fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  return hash.hex();
}

}  // namespace qw
