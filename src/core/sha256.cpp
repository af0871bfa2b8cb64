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

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> handle{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_MD_CTX* handle = context_->handle.get();
  QW_ASSERT(handle != nullptr && EVP_DigestInit_ex(handle, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  QW_ASSERT(EVP_DigestUpdate(context_->handle.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  QW_ASSERT(EVP_DigestFinal_ex(context_->handle.get(), digest, &length) == 1);
  return fmt::format("{:02x}", fmt::join(digest, digest + length, ""));
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_hex_of_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) fail(fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  Sha256 hash;
  std::vector<char> piece(size_t{1} << 18);
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), file.get()))
    hash.add({piece.data(), got});
  if (std::ferror(file.get()) != 0)
    fail(fmt::format("{}: cannot read: {}", path.string(), std::strerror(errno)));
  return hash.hex();
}

}  // namespace qw
