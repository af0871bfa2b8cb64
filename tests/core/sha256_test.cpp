#include "core/sha256.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfMillionLettersA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

// The values are those of FIPS 180-4's examples.
TEST(Sha256, KnownValues) {
  EXPECT_EQ(sha256_hex(""), kOfNothing);
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), kOfMillionLettersA);
}

TEST(Sha256, ZeroBytesCount) {
  EXPECT_NE(sha256_hex(std::string_view("\0", 1)), sha256_hex(""));
  EXPECT_NE(sha256_hex(std::string_view("a\0", 2)), sha256_hex("a"));
}

TEST(Sha256, OfAFileLargerThanOnePiece) {
  const fs::path path = fs::path(testing::TempDir()) / "qw_sha256_test.bin";
  std::ofstream(path, std::ios::binary) << std::string(1000000, 'a');
  EXPECT_EQ(sha256_hex_of_file(path), kOfMillionLettersA);
  std::ofstream(path, std::ios::binary | std::ios::trunc).flush();
  EXPECT_EQ(sha256_hex_of_file(path), kOfNothing);
  fs::remove(path);
}

std::string message_for(const fs::path& path) {
  try {
    sha256_hex_of_file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sha256, FileThatCannotBeRead) {
  EXPECT_EQ(message_for("/nowhere/file"), "/nowhere/file: cannot read: No such file or directory");
  EXPECT_EQ(message_for("/"), "/: cannot read: Is a directory");
}

}  // namespace
}  // namespace qw
