#include "core/file.h"

#include <sys/stat.h>

#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::error_of;

TEST(File, WritesAndReadsBack) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "deep" / "er" / "file";
  const std::string contents("a\0b\n", 4);
  write_file_atomically(path, contents);
  EXPECT_EQ(read_file(path), contents);
  write_file_atomically(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1) << "a temporary file was left";
}

TEST(File, ReadErrorsNameThePath) {
  const test::TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing").string();
  EXPECT_EQ(error_of([&] { read_file(missing); }), missing + ": cannot read: No such file or directory");
  const std::string itself = folder.path().string();
  EXPECT_EQ(error_of([&] { read_file(itself); }), itself + ": cannot read: Is a directory");
}

TEST(File, FailedWriteKeepsTheOldFile) {
  const test::TemporaryFolder folder;
  folder.write("plain", "x");
  // A folder cannot be made below a plain file.
  const std::string below = (folder.path() / "plain" / "file").string();
  EXPECT_EQ(error_of([&] { write_file_atomically(below, "y"); }),
            (folder.path() / "plain").string() + ": cannot make this folder: Not a directory");
  EXPECT_EQ(read_file(folder.path() / "plain"), "x");
  // A file cannot replace a folder that has something in it.
  folder.write("full/inside", "x");
  const std::string full = (folder.path() / "full").string();
  EXPECT_EQ(error_of([&] { write_file_atomically(full, "y"); }),
            full + ": cannot write: it exists and is no regular file");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2) << "a temporary file was left";
}

TEST(File, LinksAreFollowedAndDevicesRefused) {
  const test::TemporaryFolder folder;
  const fs::path target = folder.write("target", "old");
  fs::create_symlink(target, folder.path() / "link");
  write_file_atomically(folder.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_file(target), "new");
  EXPECT_EQ(error_of([] { write_file_atomically("/dev/null", "x"); }),
            "/dev/null: cannot write: it exists and is no regular file");
}

TEST(File, ReadsWhatHasNoSize) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

}  // namespace
}  // namespace qw
