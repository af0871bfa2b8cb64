#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/partition/part_format.h"
#include "data/partition_support.h"
#include "qw/core/version.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::random_dataset;

class PartitionFaults : public testing::Test {
 protected:
  PartitionFaults() : out_(folder_.path() / "p") {
    make(out_, 2);
    const PartitionManifest manifest = open_partition(out_);
    part_ = (out_ / manifest.parts[1].file).string();
  }

  static void make(const fs::path& out, int64_t parts) {
    PartitionOptions options;
    options.parts = parts;
    options.align = 1;
    std::vector<std::string> notes;
    make_partition(random_dataset({}, 1), options, out, notes);
  }

  std::string error_of_part() const {
    return error_of([&] { open_part(open_partition(out_), 1); });
  }
  void change_manifest(const std::string& from, const std::string& to) const {
    std::string text = read_file(out_ / "partition.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file_atomically(out_ / "partition.json", text.replace(at, from.size(), to));
  }

  test::TemporaryFolder folder_;
  fs::path out_;
  std::string part_;
};

TEST_F(PartitionFaults, MissingPart) {
  fs::remove(part_);
  EXPECT_EQ(error_of_part(),
            part_ + ": is missing, but partition.json lists it; restore it, or make the partition again");
}

TEST_F(PartitionFaults, MissingLabels) {
  fs::remove(out_ / "labels.safetensors");
  EXPECT_EQ(error_of_part(), (out_ / "labels.safetensors").string() +
                                 ": is missing, but partition.json lists it; restore it, or make the "
                                 "partition again");
}

TEST_F(PartitionFaults, ShortenedPart) {
  const auto bytes = fs::file_size(part_);
  fs::resize_file(part_, bytes - 4);
  EXPECT_EQ(error_of_part(), fmt::format("{}: has {} bytes instead of {}; restore it, or make the partition "
                                         "again",
                                         part_, bytes - 4, bytes));
}

TEST_F(PartitionFaults, EveryChangedBitIsNoticed) {
  const std::string whole = read_file(part_);
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    write_file_atomically(part_, changed);
    const std::string error = error_of_part();
    const bool tells = error == part_ +
                                    ": is not the file that was written here, by its checksum in "
                                    "partition.json; restore it, or make the partition again" ||
                       error == part_ + ": is of another partition than the partition.json beside it";
    EXPECT_TRUE(tells) << error;
  }
}

TEST_F(PartitionFaults, PartOfAnotherPartition) {
  PartitionManifest manifest = open_partition(out_);
  make(folder_.path() / "other", 3);
  fs::copy_file(folder_.path() / "other/part-00001.safetensors", part_, fs::copy_options::overwrite_existing);
  // Its size tells already, unless the manifest is another, too.
  EXPECT_NE(error_of_part().find("instead of"), std::string::npos);
  manifest.parts[1].bytes = open_partition(folder_.path() / "other").parts[1].bytes;
  write_file_atomically(out_ / "partition.json", manifest_text(manifest));
  EXPECT_EQ(error_of_part(), part_ + ": is of another partition than the partition.json beside it");
}

TEST_F(PartitionFaults, NewerAndOlderManifest) {
  const std::string file = (out_ / "partition.json").string();
  change_manifest("\"schema\": 1", "\"schema\": 2");
  EXPECT_EQ(error_of_part(), file + ": the partition is of schema 2, but qw " + build_info().version +
                                 " reads schema 1: update qw");
  change_manifest("\"schema\": 2", "\"schema\": 0");
  EXPECT_EQ(error_of_part(), file + ": the partition is of schema 0, but qw " + build_info().version +
                                 " reads schema 1: make it again with qw data partition");
}

TEST_F(PartitionFaults, BrokenManifest) {
  const std::string file = (out_ / "partition.json").string();
  const std::string whole = read_file(file);
  change_manifest("\"fingerprint\"", "\"fingerprunt\"");
  EXPECT_EQ(error_of_part(), file + ": is no whole manifest of a partition");
  write_file_atomically(file, whole);
  change_manifest("\"nodes\": 40", "\"nodes\": 41");
  EXPECT_EQ(error_of_part(), file + ": its parts do not make up its graph");
  for (const auto& [from, to] : {std::pair{"\"directed\": false", "\"directed\": true"},
                                 std::pair{"\"sha256\": \"", "\"sha256\": \"0"}}) {
    write_file_atomically(file, whole);
    change_manifest(from, to);
    EXPECT_NE(error_of_part().find("; restore it, or make the partition again"), std::string::npos) << from;
  }
  write_file_atomically(file, "[]");
  EXPECT_EQ(error_of_part(), file + ": is no manifest of a partition");
  write_file_atomically(file, whole.substr(0, 100));
  EXPECT_NE(error_of_part().find("is not JSON"), std::string::npos);
  fs::remove(file);
  EXPECT_EQ(error_of_part(), out_.string() + ": is no partition: it has no partition.json");
}

TEST_F(PartitionFaults, ATargetThatIsThereIsLeftAlone) {
  EXPECT_EQ(error_of([&] { make(out_, 2); }),
            out_.string() + ": is there already; name another folder, or remove it first");
  EXPECT_NO_THROW(open_part(open_partition(out_), 1));
  fs::create_directory(folder_.path() / "empty");
  EXPECT_NO_THROW(make(folder_.path() / "empty", 2));
}

TEST_F(PartitionFaults, ATargetThatCannotBeReplacedIsRefusedFirst) {
  const fs::path real = folder_.path() / "real", link = folder_.path() / "link", before = fs::current_path();
  fs::create_directory(real);
  fs::create_directory_symlink(real, link);
  fs::current_path(real);
  const std::string refused =
      fs::canonical(real).string() +
      ": is the current folder, or where a file system is mounted; name a folder in it";
  EXPECT_EQ(error_of([&] { make(".", 2); }), refused);
  EXPECT_EQ(error_of([&] { make(link, 2); }), refused);
  fs::current_path(before);
  EXPECT_NO_THROW(make(link, 2));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_NO_THROW(open_part(open_partition(link), 1));
  struct stat own = {}, above = {};  // an empty file system of its own, where this machine has it there
  const bool is_mounted = ::stat("/dev/shm", &own) == 0 && ::stat("/dev", &above) == 0 &&
                          own.st_dev != above.st_dev && fs::is_empty("/dev/shm");
  if (is_mounted) {
    EXPECT_THAT(error_of([&] { make("/dev/shm", 2); }), testing::HasSubstr("is mounted"));
  }
}

TEST_F(PartitionFaults, WhatAKilledProcessLeftGoes) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const fs::path left = folder_.path() / fmt::format(".q.{}.0.part", child);
  fs::create_directories(left / "work");
  make(folder_.path() / "q", 2);
  EXPECT_FALSE(fs::exists(left));
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder_.path() / "q"))
    names.push_back(each.path().filename().string());
  EXPECT_EQ(names.size(), 4u);
}

TEST_F(PartitionFaults, NoHalfFolderWhenItFails) {
  EXPECT_NE(error_of([&] { make(folder_.path() / "q", 100); }), "");
  int count = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(folder_.path())) ++count;
  EXPECT_EQ(count, 1);  // p
}

}  // namespace
}  // namespace qw
