#include "core/manifest.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "support/support.h"

namespace qw {
namespace {

TEST(Manifest, NoticesAChangedByteAMissingFileAndAStranger) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder.path() / "a.txt", "hello");
  Manifest written(folder.path());
  written.add("a.txt");
  written.add("later.txt", "to come");
  written.write();
  write_file_atomically(folder.path() / "later.txt", "to come");

  const Manifest manifest = Manifest::read(folder.path());
  EXPECT_TRUE(Manifest::exists_in(folder.path()));
  EXPECT_EQ(manifest.contents("a.txt"), "hello");
  manifest.check("later.txt");
  EXPECT_FALSE(manifest.lists("b.txt"));
  const std::string place = folder.path().string() + "/";
  EXPECT_EQ(test::error_of([&] { manifest.check("manifest.json"); }),
            place + "manifest.json: manifest.json does not list it");
  write_file_atomically(folder.path() / "a.txt", "hellp");
  const std::string changed = place +
                              "a.txt: is not the file that was written here, by its checksum in "
                              "manifest.json; restore it, or train again";
  EXPECT_EQ(test::error_of([&] { manifest.check("a.txt"); }), changed);
  EXPECT_EQ(test::error_of([&] { manifest.contents("a.txt"); }), changed);
  std::filesystem::remove(folder.path() / "a.txt");
  EXPECT_NE(test::error_of([&] { manifest.check("a.txt"); }).find("a.txt"), std::string::npos);
}

TEST(Manifest, RefusesWhatIsNone) {
  const test::TemporaryFolder folder;
  const auto error = [&](const char* text) {
    write_file_atomically(folder.path() / kManifestFile, text);
    return test::error_of([&] { Manifest::read(folder.path()); });
  };
  const std::string file = (folder.path() / kManifestFile).string();
  EXPECT_EQ(error("[1]"), file + ": is no list of checksums of schema 1");
  EXPECT_EQ(error(R"({"schema": 2, "files": {}})"), file + ": is no list of checksums of schema 1");
  EXPECT_EQ(error(R"({"schema": 1, "files": {"a": 3}})"), file + ": the checksum of a is no text");
  EXPECT_EQ(error("{"), file + ": is not JSON: something is wrong at byte 2");
}

}  // namespace
}  // namespace qw
