#include "data/verification.h"

#include <gmock/gmock.h>

#include <chrono>

#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "data/cache.h"
#include "qw/data/download.h"
#include "qw/data/load.h"
#include "support/support.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using testing::HasSubstr;

class VerificationTest : public testing::Test {
 protected:
  VerificationTest() {
    card_.name = "tiny";
    card_.files = {{.name = "a.bin", .sha256 = sha256_hex("right")}};
    write_file_atomically(file(), "right");
  }

  fs::path file() const { return dataset_folder(card_) / "a.bin"; }
  fs::path record() const { return dataset_folder(card_).parent_path() / ".tiny.verified.json"; }

  // Of the same size, as a flipped bit leaves it; a time of its own, since clocks tick slowly.
  void damage() const {
    write_file_atomically(file(), "wrong");
    fs::last_write_time(file(), fs::last_write_time(file()) + std::chrono::seconds(1));
  }

  test::TemporaryFolder folder_;
  test::ScopedEnvironment cache_{"QW_CACHE_DIR", folder_.path().c_str()};
  test::ScopedEnvironment mirror_{"QW_DATA_MIRROR", nullptr};
  DatasetCard card_;
};

TEST_F(VerificationTest, AFlippedByteIsNoticed) {
  verify_cached(card_);
  damage();
  EXPECT_EQ(error_of([&] { verify_cached(card_); }),
            file().string() + ": is damaged: sha256 is " + sha256_hex("wrong") + ", expected " +
                sha256_hex("right") + "; get it again with: qw data get tiny");
  write_file_atomically(file(), "right");
  EXPECT_NO_THROW(verify_cached(card_));
}

TEST_F(VerificationTest, AlsoTheFirstTime) {
  damage();
  EXPECT_THAT(error_of([&] { verify_cached(card_); }), HasSubstr(": is damaged: sha256 is "));
  fs::remove(file());
  EXPECT_THAT(error_of([&] { verify_cached(card_); }), HasSubstr("a.bin: there is no such file"));
}

// The card asks for other bytes: only who reads the file could tell.
TEST_F(VerificationTest, AFileThatHasNotChangedIsNotRead) {
  card_.files[0].published_bytes_differ = true;
  verify_cached(card_);
  auto record_text = read_json(record());
  record_text["a.bin"]["sha256"] = sha256_hex("never");
  write_file_atomically(record(), json_text(record_text));
  EXPECT_EQ(Verification(card_).problem_since(card_.files[0]), "");
  card_.files[0].sha256 = sha256_hex("of the card");
  EXPECT_THAT(Verification(card_).problem(card_.files[0]), HasSubstr("expected " + sha256_hex("never")));
}

TEST_F(VerificationTest, ADamagedRecordCountsAsNone) {
  for (const char* record_text : {"{", "[]", "{\"a.bin\": 1}", "{\"a.bin\": {\"size\": \"x\"}}"}) {
    write_file_atomically(record(), record_text);
    EXPECT_NO_THROW(verify_cached(card_)) << record_text;
    EXPECT_EQ(read_json(record()).at("a.bin").at("sha256"), sha256_hex("right"));
  }
}

TEST_F(VerificationTest, GettingItAgainMendsIt) {
  verify_cached(card_);
  damage();
  const test::TemporaryFolder mirror;
  mirror.write("a.bin", "right");
  DownloadOptions options;
  options.mirror = mirror.path().string();
  EXPECT_EQ(fetch_dataset(card_, options).fetched.size(), 1u);
  EXPECT_NO_THROW(verify_cached(card_));
}

// Such a file may have been accepted by its contents: the bytes that came are remembered.
TEST_F(VerificationTest, BytesAcceptedByContentsAreRemembered) {
  card_.files[0].published_bytes_differ = true;
  card_.files[0].sha256 = sha256_hex("those of the card");
  verify_cached(card_);
  damage();
  EXPECT_THAT(error_of([&] { verify_cached(card_); }), HasSubstr("expected " + sha256_hex("right")));
  Verification verification(card_);
  EXPECT_THAT(verification.problem(card_.files[0]), HasSubstr("is damaged"));
  verification.accept(card_.files[0]);
  verification.save();
  EXPECT_NO_THROW(verify_cached(card_));
}

TEST_F(VerificationTest, LoadingVerifies) {
  const DatasetCard* texas = find_card("texas");
  ASSERT_NE(texas, nullptr);
  for (const FileCard& each : texas->files) write_file_atomically(dataset_folder(*texas) / each.name, "x");
  EXPECT_THAT(error_of([] { load_dataset("texas"); }), HasSubstr("; get it again with: qw data get texas"));
}

}  // namespace
}  // namespace qw
