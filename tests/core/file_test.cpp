#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

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

TEST(File, DevicesWithoutAnEndAreRefused) {
  for (const std::string device : {"/dev/zero", "/dev/urandom"}) {
    EXPECT_EQ(error_of([&] { read_file(device); }),
              device + ": cannot read: it is a device, and those have no end");
  }
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST(File, MoreThanThereIsMemoryIsRefused) {
  const test::TemporaryFolder folder;
  const fs::path sparse = folder.write("sparse", "");
  std::error_code error;
  fs::resize_file(sparse, uintmax_t{1} << 43, error);  // 8 TiB of nothing
  if (error) GTEST_SKIP() << "this file system has no sparse files of that size";
  const std::string problem = error_of([&] { read_file(sparse); });
  EXPECT_EQ(problem.find(sparse.string() + " needs 8.0 TiB of memory, but "), 0u) << problem;
}

TEST(File, APipeIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string contents(300'000, 'x');
  std::thread writer([&] {
    for (size_t at = 0; at < contents.size();)
      at += static_cast<size_t>(std::max<ssize_t>(::write(ends[1], &contents[at], contents.size() - at), 0));
    ::close(ends[1]);
  });
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])), contents);
  writer.join();
  ::close(ends[0]);
}

// The process of this number is gone: it was one of ours.
pid_t gone_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(File, PartsOfKilledProcessesAreRemoved) {
  const test::TemporaryFolder folder;
  const auto part = [&](pid_t process) {
    return folder.write(".data.csv." + std::to_string(process) + ".3.part", "half");
  };
  const pid_t gone = gone_process();
  const fs::path abandoned = part(gone), of_a_living_one = part(::getppid()), ours = part(::getpid());
  const fs::path download = folder.write("data.csv.part", "half");
  const fs::path locked = folder.write(".other." + std::to_string(gone) + ".0.part", "half");
  const int lock = ::open(locked.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  write_file_atomically(folder.path() / "new", "x");
  ::close(lock);
  EXPECT_FALSE(fs::exists(abandoned));
  for (const fs::path& kept : {of_a_living_one, ours, download, locked})
    EXPECT_TRUE(fs::exists(kept)) << kept;
}

TEST(File, TheLimitOfFileSizesIsSaid) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "large";
  const auto was_handled = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lower), 0);
  const std::string problem = error_of([&] { write_file_atomically(path, std::string(10'000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, was_handled);
  EXPECT_TRUE(problem.ends_with(": cannot write: File too large (the limit of ulimit -f is reached)"))
      << problem;
  EXPECT_TRUE(fs::is_empty(folder.path())) << "a temporary file was left";
}

TEST(File, ReadsWhatHasNoSize) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

}  // namespace
}  // namespace qw
