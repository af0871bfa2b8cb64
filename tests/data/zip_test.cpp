#include "data/formats/zip.h"

#include <gmock/gmock.h>

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using testing::HasSubstr;

std::string number(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t k = 0; k < size; ++k) bytes += static_cast<char>(value >> (8 * k));
  return bytes;
}

void patch(std::string& bytes, size_t at, uint64_t value, size_t size) {
  bytes.replace(at, size, number(value, size));
}

// Where the directory of an archive written without a comment starts.
size_t directory_of(const std::string& archive) { return archive.rfind("PK\x01\x02"); }
size_t end_of(const std::string& archive) { return archive.rfind("PK\x05\x06"); }

std::string one_file(const std::string& contents) { return write_zip({{"a.npy", contents}}); }

TEST(Zip, WrittenFilesComeBack) {
  const std::string repetitive(10000, 'x');
  const ZipArchive archive(write_zip({{"empty", ""}, {"short", "ab"}, {"long", repetitive}}), "t.zip");
  ASSERT_EQ(archive.entries().size(), 3u);
  EXPECT_EQ(archive.entries()[0].name, "empty");
  EXPECT_EQ(archive.extract("empty"), "");
  EXPECT_EQ(archive.extract("short"), "ab");
  EXPECT_EQ(archive.extract("long"), repetitive);
  EXPECT_TRUE(archive.has("long"));
  EXPECT_FALSE(archive.has("lon"));
}

TEST(Zip, DeflatesOnlyWhenSmaller) {
  const ZipArchive archive(write_zip({{"short", "ab"}, {"long", std::string(10000, 'x')}}), "t.zip");
  EXPECT_EQ(archive.entries()[0].method, 0);
  EXPECT_EQ(archive.entries()[0].packed_size, 2u);
  EXPECT_EQ(archive.entries()[1].method, 8);
  EXPECT_LT(archive.entries()[1].packed_size, 100u);
}

TEST(Zip, TheSameFilesGiveTheSameBytes) {
  EXPECT_EQ(one_file("hello"), one_file("hello"));
  EXPECT_EQ(one_file("hello").substr(10, 4), number(33 << 16, 4));  // midnight, 1980-01-01
}

TEST(Zip, AnEmptyArchiveHasNoEntries) { EXPECT_TRUE(ZipArchive(write_zip({}), "t.zip").entries().empty()); }

TEST(Zip, ACommentAtTheEndIsSkipped) {
  std::string archive = one_file("hello");
  patch(archive, archive.size() - 2, 3, 2);
  EXPECT_EQ(ZipArchive(archive + "abc", "t.zip").extract("a.npy"), "hello");
}

TEST(Zip, ReadsZip64) {
  std::string archive = one_file("hello");
  const size_t directory = directory_of(archive);
  const size_t end = end_of(archive);
  std::string entry = archive.substr(directory, end - directory);
  patch(entry, 20, 0xffffffff, 4);
  patch(entry, 24, 0xffffffff, 4);
  patch(entry, 30, 20, 2);
  entry += number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8);
  const std::string end64 = "PK\x06\x06" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
                            number(1, 8) + number(1, 8) + number(entry.size(), 8) + number(directory, 8);
  const std::string locator =
      "PK\x06\x07" + number(0, 4) + number(directory + entry.size(), 8) + number(1, 4);
  const std::string saturated = "PK\x05\x06" + number(0, 4) + number(0xffff, 2) + number(0xffff, 2) +
                                number(0xffffffff, 4) + number(0xffffffff, 4) + number(0, 2);
  const std::string zip64 = archive.substr(0, directory) + entry + end64 + locator + saturated;
  EXPECT_EQ(ZipArchive(zip64, "t.zip").extract("a.npy"), "hello");

  std::string short_extra = zip64;
  patch(short_extra, directory + entry.size() - 18, 8, 2);
  EXPECT_THAT(error_of([&] { ZipArchive(short_extra, "t.zip"); }),
              HasSubstr("a zip64 extra field is too short"));
}

TEST(Zip, RefusesWhatIsNoArchive) {
  EXPECT_EQ(error_of([] { ZipArchive("hello", "t.zip"); }),
            "t.zip: not a zip archive, or cut short: its 5 bytes do not end in a central directory");
  const std::string archive = one_file("hello");
  EXPECT_THAT(error_of([&] { ZipArchive(archive.substr(0, archive.size() - 1), "t.zip"); }),
              HasSubstr("t.zip: not a zip archive, or cut short"));
}

TEST(Zip, RefusesADirectoryThatClaimsTooMuch) {
  const std::string archive = one_file("hello");
  const size_t end = end_of(archive);
  std::string many = archive;
  patch(many, end + 10, 60000, 2);
  EXPECT_THAT(error_of([&] { ZipArchive(many, "t.zip"); }),
              HasSubstr("the central directory claims 60000 entries in 51 bytes"));
  std::string far = archive;
  patch(far, end + 16, 1000000, 4);
  EXPECT_EQ(error_of([&] { ZipArchive(far, "t.zip"); }),
            "t.zip: byte 1000000: the central directory needs 51 bytes; the archive has 113");
  std::string disks = archive;
  patch(disks, end + 4, 1, 2);
  EXPECT_EQ(error_of([&] { ZipArchive(disks, "t.zip"); }),
            "t.zip: an archive of several disks; only whole archives can be read");
  std::string damaged = archive;
  damaged[directory_of(archive)] = 'Q';
  EXPECT_EQ(error_of([&] { ZipArchive(damaged, "t.zip"); }),
            "t.zip: byte 40: expected a central directory entry");
}

TEST(Zip, RefusesTheSameNameTwice) {
  EXPECT_EQ(error_of([] {
              ZipArchive(write_zip({{"a", "1"}, {"a", "2"}}), "t.zip");
            }),
            "t.zip: holds 'a' twice");
}

TEST(Zip, SaysWhatIsWrongWithAnEntry) {
  const std::string archive = one_file("hello");
  const size_t directory = directory_of(archive);
  const auto extract_patched = [&](size_t at, uint64_t value, size_t size) {
    std::string patched = archive;
    patch(patched, at, value, size);
    return error_of([&] { ZipArchive(patched, "t.zip").extract("a.npy"); });
  };
  EXPECT_EQ(error_of([&] { ZipArchive(archive, "t.zip").extract("b"); }), "t.zip: has no entry 'b'");
  EXPECT_EQ(extract_patched(directory + 8, 1, 2), "t.zip: a.npy: is encrypted, which is not supported");
  EXPECT_EQ(extract_patched(directory + 10, 12, 2),
            "t.zip: a.npy: is packed by method 12; only stored (0) and deflate (8) can be read");
  EXPECT_EQ(extract_patched(directory + 16, 0, 4),
            "t.zip: a.npy: is damaged: its CRC-32 is 3610a686, expected 00000000");
  EXPECT_EQ(extract_patched(directory + 24, 9, 4), "t.zip: a.npy: is stored in 5 bytes but claims 9");
  EXPECT_EQ(extract_patched(directory + 20, 900, 4),
            "t.zip: byte 35: an entry's contents needs 900 bytes; the archive has 113");
  EXPECT_EQ(extract_patched(directory + 42, 5, 4), "t.zip: byte 5: expected a local file header");
  EXPECT_EQ(extract_patched(30, 'b', 1), "t.zip: byte 0: the local file header is not that of 'a.npy'");
}

TEST(Zip, RefusesMoreThanDeflateCanHold) {
  std::string archive = one_file(std::string(1000, 'x'));
  patch(archive, directory_of(archive) + 24, 0xfffffffe, 4);
  EXPECT_THAT(error_of([&] { ZipArchive(archive, "t.zip").extract("a.npy"); }),
              HasSubstr("t.zip: a.npy: claims 4294967294 bytes in"));
}

}  // namespace
}  // namespace qw
