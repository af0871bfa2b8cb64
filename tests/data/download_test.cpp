#include "qw/data/download.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "core/sha256.h"
#include "data/loopback_server.h"
#include "qw/core/error.h"
#include "support/skip_report.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using testing_support::LoopbackServer;
using testing_support::ranged;
using testing_support::Reply;
using testing_support::Request;

std::string patterned(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i / 7 + i % 251);
  return bytes;
}

class DownloadTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / fmt::format("qw_download_{}_{}", test->name(), ::getpid());
    fs::remove_all(root_);
    setenv("QW_CACHE_DIR", (root_ / "cache").c_str(), 1);
    setenv("no_proxy", "127.0.0.1", 1);
    unsetenv("QW_DATA_MIRROR");
    options_.quiet = true;
    options_.backoff_seconds = {0.001};
    card_ = card_of({{"a.bin", content_}});
  }

  void TearDown() override {
    unsetenv("QW_CACHE_DIR");
    unsetenv("QW_DATA_MIRROR");
    fs::remove_all(root_);
  }

  static DatasetCard card_of(const std::vector<std::pair<std::string, std::string>>& files) {
    DatasetCard card;
    card.name = "tiny";
    for (const auto& [name, bytes] : files) card.files.push_back({.name = name, .sha256 = sha256_hex(bytes)});
    return card;
  }

  fs::path folder() const { return root_ / "cache" / "datasets" / "tiny"; }
  fs::path file() const { return folder() / "a.bin"; }
  fs::path part() const { return folder() / "a.bin.part"; }

  std::string error_of_fetch() const {
    try {
      fetch_dataset(card_, options_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string content_ = patterned(100000);
  fs::path root_;
  DatasetCard card_;
  DownloadOptions options_;
};

TEST_F(DownloadTest, FetchesEveryFileFromItsAddress) {
  LoopbackServer server(
      [&](const Request& request) { return ranged(request, request.path == "/x/1" ? content_ : "two"); });
  card_ = card_of({{"a.bin", content_}, {"b.bin", "two"}});
  card_.files[0].url = server.url() + "/x/1";
  card_.files[1].url = server.url() + "/y/2";
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(report.folder, folder());
  EXPECT_EQ(report.already_cached, 0);
  ASSERT_EQ(report.fetched.size(), 2u);
  EXPECT_EQ(report.fetched[0].name, "a.bin");
  EXPECT_EQ(report.fetched[0].source, server.url() + "/x/1");
  EXPECT_EQ(report.fetched[0].received_bytes, 100000);
  EXPECT_EQ(report.fetched[0].resumed_bytes, 0);
  EXPECT_FALSE(report.fetched[0].checked_by_contents);
  EXPECT_EQ(read_file(file()), content_);
  EXPECT_EQ(read_file(folder() / "b.bin"), "two");
  EXPECT_FALSE(fs::exists(part()));

  const DownloadReport again = fetch_dataset(card_, options_);
  EXPECT_EQ(again.already_cached, 2);
  EXPECT_TRUE(again.fetched.empty());
  EXPECT_EQ(server.requests().size(), 2u) << "what is cached is not asked for";
}

TEST_F(DownloadTest, FetchesOnlyWhatIsMissing) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  card_ = card_of({{"b.bin", "two"}, {"a.bin", content_}});
  write_file_atomically(folder() / "b.bin", "two");
  options_.mirror = server.url();
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(report.already_cached, 1);
  ASSERT_EQ(report.fetched.size(), 1u);
  EXPECT_EQ(report.fetched[0].name, "a.bin");
}

TEST_F(DownloadTest, EmptyFile) {
  LoopbackServer server([](const Request&) { return Reply{}; });
  card_ = card_of({{"a.bin", ""}});
  options_.mirror = server.url();
  fetch_dataset(card_, options_);
  EXPECT_EQ(read_file(file()), "");
  EXPECT_FALSE(fs::exists(part()));
}

TEST_F(DownloadTest, CutConnectionGoesOnWhereItBroke) {
  LoopbackServer server([&](const Request& request) {
    Reply reply = ranged(request, content_);
    if (request.number == 0) reply.cut_after = 30000;
    return reply;
  });
  options_.mirror = server.url();
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(read_file(file()), content_);
  const std::vector<Request> requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].range, "");
  EXPECT_EQ(requests[1].range, "bytes=30000-");
  EXPECT_EQ(server.body_bytes_sent(), 100000) << "nothing was sent twice";
  EXPECT_EQ(report.fetched.at(0).received_bytes, 100000);
  EXPECT_EQ(report.fetched.at(0).resumed_bytes, 0);
}

TEST_F(DownloadTest, ConnectionCutTooOftenIsAnErrorAndALaterCallGoesOn) {
  std::atomic<bool> cutting = true;
  LoopbackServer server([&](const Request& request) {
    Reply reply = ranged(request, content_);
    if (cutting) reply.cut_after = 10240;
    return reply;
  });
  options_.mirror = server.url();
  options_.retries = 2;
  const std::string error = error_of_fetch();
  EXPECT_TRUE(error.starts_with(fmt::format("tiny: a.bin: cannot fetch {}/tiny/a.bin: ", server.url())))
      << error;
  EXPECT_TRUE(error.ends_with(" (30.0 KiB are kept, and another try goes on from there); check --mirror"))
      << error;
  EXPECT_EQ(fs::file_size(part()), 3u * 10240u);
  EXPECT_FALSE(fs::exists(file()));
  cutting = false;
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(read_file(file()), content_);
  EXPECT_EQ(server.requests().back().range, "bytes=30720-");
  EXPECT_EQ(report.fetched.at(0).resumed_bytes, 30720);
  EXPECT_EQ(report.fetched.at(0).received_bytes, 100000 - 30720);
  EXPECT_EQ(server.body_bytes_sent(), 100000);
}

TEST_F(DownloadTest, ServerWithoutRangesStartsOver) {
  LoopbackServer server([&](const Request&) { return Reply{.body = content_}; });
  write_file_atomically(part(), content_.substr(0, 500));
  options_.mirror = server.url();
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().at(0).range, "bytes=500-");
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(read_file(file()), content_);
  EXPECT_EQ(report.fetched.at(0).resumed_bytes, 0);
}

TEST_F(DownloadTest, PartFileLargerThanTheFileStartsOver) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  write_file_atomically(part(), content_ + "more");
  options_.mirror = server.url();
  options_.retries = 0;
  fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(read_file(file()), content_);
}

TEST_F(DownloadTest, AnotherRangeThanAskedForStartsOver) {
  LoopbackServer server([&](const Request& request) {
    Reply reply = ranged(request, content_);
    if (reply.status == 206) reply.headers = "Content-Range: bytes 400-99999/100000\r\n";
    return reply;
  });
  write_file_atomically(part(), content_.substr(0, 500));
  options_.mirror = server.url();
  options_.retries = 0;
  fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(read_file(file()), content_);
}

TEST_F(DownloadTest, PartFileOfOtherBytesIsNotHeldAgainstTheServer) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  write_file_atomically(part(), std::string(500, 'x'));
  options_.mirror = server.url();
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(read_file(file()), content_);
  EXPECT_EQ(report.fetched.at(0).resumed_bytes, 0);
}

TEST_F(DownloadTest, WrongBytesAreRefusedAndNothingIsLeft) {
  LoopbackServer server([&](const Request& request) { return ranged(request, "wrong"); });
  options_.mirror = server.url();
  EXPECT_EQ(error_of_fetch(),
            fmt::format(
                "tiny: a.bin: sha256 is {}, expected {}; nothing was kept; it came from {}/tiny/a.bin: check "
                "--mirror",
                sha256_hex("wrong"), sha256_hex(content_), server.url()));
  EXPECT_EQ(server.requests().size(), 1u) << "asking again would give the same";
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(DownloadTest, MissingFile) {
  LoopbackServer server([](const Request&) { return Reply{.status = 404, .body = "not here"}; });
  card_.files[0].url = server.url() + "/gone";
  EXPECT_EQ(error_of_fetch(),
            fmt::format("tiny: a.bin: cannot fetch {}/gone: HTTP status 404; check the network, or "
                        "use --mirror DIR_OR_URL",
                        server.url()));
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(fs::is_empty(folder()));
  options_.mirror = server.url() + "/";
  EXPECT_EQ(
      error_of_fetch(),
      fmt::format("tiny: a.bin: cannot fetch {0}/tiny/a.bin or {0}/a.bin: HTTP status 404; check --mirror",
                  server.url()));
}

TEST_F(DownloadTest, FlatMirror) {
  LoopbackServer server([&](const Request& request) {
    return request.path == "/a.bin" ? ranged(request, content_) : Reply{.status = 404, .body = "not here"};
  });
  options_.mirror = server.url();
  const DownloadReport report = fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().at(0).path, "/tiny/a.bin");
  EXPECT_EQ(report.fetched.at(0).source, server.url() + "/a.bin");
  EXPECT_EQ(read_file(file()), content_);
}

TEST_F(DownloadTest, TheCardMayNameAnotherFolderOfTheMirror) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  card_.folder = "shared-folder";
  options_.mirror = server.url();
  fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().at(0).path, "/shared-folder/a.bin");
  EXPECT_TRUE(fs::exists(file()));
}

TEST_F(DownloadTest, ServerErrorsPassOrDoNot) {
  std::atomic<int> broken = 2;
  LoopbackServer server([&](const Request& request) {
    return broken-- > 0 ? Reply{.status = 500, .body = "oops"} : ranged(request, content_);
  });
  options_.mirror = server.url();
  fetch_dataset(card_, options_);
  EXPECT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(read_file(file()), content_);

  fs::remove(file());
  broken = 100;
  EXPECT_EQ(
      error_of_fetch(),
      fmt::format("tiny: a.bin: cannot fetch {}/tiny/a.bin: HTTP status 500; check --mirror", server.url()));
  EXPECT_EQ(server.requests().size(), 3u + 4u);
}

TEST_F(DownloadTest, StatusWithoutAFileIsRefused) {
  LoopbackServer server([](const Request&) { return Reply{.status = 202, .body = "later"}; });
  card_.files[0].url = server.url();
  EXPECT_EQ(error_of_fetch(),
            fmt::format("tiny: a.bin: cannot fetch {}: HTTP status 202; check the network, or use "
                        "--mirror DIR_OR_URL",
                        server.url()));
}

TEST_F(DownloadTest, RedirectsStayOnHttp) {
  std::atomic<bool> to_file = false;
  LoopbackServer server([&](const Request& request) {
    if (request.path == "/there") return ranged(request, content_);
    return Reply{.status = 302,
                 .headers = to_file ? "Location: file:///etc/hostname\r\n" : "Location: /there\r\n"};
  });
  card_.files[0].url = server.url() + "/here";
  fetch_dataset(card_, options_);
  EXPECT_EQ(read_file(file()), content_);
  fs::remove(file());
  to_file = true;
  const std::string error = error_of_fetch();
  EXPECT_NE(error.find(server.url() + "/here: Protocol \"file\" "), std::string::npos) << error;
}

TEST_F(DownloadTest, TooLargeIsRefusedBeforeOrWhileItArrives) {
  std::atomic<bool> announce = true;
  LoopbackServer server([&](const Request&) { return Reply{.body = content_, .announce_length = announce}; });
  card_.files[0].url = server.url();
  options_.max_bytes = 51200;
  const std::string expected = fmt::format(
      "tiny: a.bin: cannot fetch {}: it is larger than 50.0 KiB, the most that is accepted; check the "
      "network, or use "
      "--mirror DIR_OR_URL",
      server.url());
  EXPECT_EQ(error_of_fetch(), expected);
  announce = false;
  EXPECT_EQ(error_of_fetch(), expected);
  EXPECT_TRUE(fs::is_empty(folder()));
  options_.max_bytes = 100000;
  fetch_dataset(card_, options_);
  EXPECT_EQ(read_file(file()), content_);
}

TEST_F(DownloadTest, StalledConnectionIsGivenUp) {
  LoopbackServer server([&](const Request&) {
    return Reply{.body = content_, .cut_after = 10, .stall = std::chrono::milliseconds(3500)};
  });
  card_.files[0].url = server.url();
  options_.retries = 0;
  options_.stall_seconds = 1;
  EXPECT_NE(error_of_fetch().find("Operation too slow"), std::string::npos);
  EXPECT_EQ(fs::file_size(part()), 10u);
}

TEST_F(DownloadTest, NobodyListens) {
  std::string address;
  {
    address = LoopbackServer([](const Request&) { return Reply{}; }).url();
  }
  options_.mirror = fmt::format("http://me:secret@{}", address.substr(7));
  const std::string error = error_of_fetch();
  EXPECT_TRUE(error.starts_with(fmt::format("tiny: a.bin: cannot fetch {}/tiny/a.bin: ", address))) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
}

TEST_F(DownloadTest, FolderMirrorNestedThenFlat) {
  const fs::path mirror = root_ / "with space";
  options_.mirror = mirror.string();
  EXPECT_EQ(error_of_fetch(),
            fmt::format("tiny: a.bin: cannot fetch {0}/tiny/a.bin or {0}/a.bin: no such file; check --mirror",
                        mirror.string()));
  write_file_atomically(mirror / "a.bin", content_);
  EXPECT_EQ(fetch_dataset(card_, options_).fetched.at(0).source, (mirror / "a.bin").string());
  EXPECT_EQ(read_file(file()), content_);

  fs::remove(file());
  write_file_atomically(mirror / "tiny" / "a.bin", content_);
  options_.mirror = "file://" + (root_ / "with%20space").string() + "/";
  EXPECT_EQ(fetch_dataset(card_, options_).fetched.at(0).source, (mirror / "tiny" / "a.bin").string());

  fs::remove(file());
  write_file_atomically(mirror / "tiny" / "a.bin", "wrong");
  EXPECT_NE(error_of_fetch().find("; nothing was kept; it came from "), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(DownloadTest, MirrorFromTheEnvironmentUnlessOneIsGiven) {
  write_file_atomically(root_ / "mirror" / "a.bin", content_);
  setenv("QW_DATA_MIRROR", (root_ / "nowhere").c_str(), 1);
  EXPECT_NE(error_of_fetch().find("no such file; check QW_DATA_MIRROR"), std::string::npos);
  options_.mirror = (root_ / "mirror").string();
  EXPECT_EQ(fetch_dataset(card_, options_).fetched.size(), 1u);
  fs::remove(file());
  options_.mirror.clear();
  setenv("QW_DATA_MIRROR", (root_ / "mirror").c_str(), 1);
  EXPECT_EQ(fetch_dataset(card_, options_).fetched.size(), 1u);
}

TEST_F(DownloadTest, MirrorsThatMakeNoSense) {
  options_.mirror = "ftp://host/data";
  EXPECT_THROW(fetch_dataset(card_, options_), UsageError);
  EXPECT_EQ(error_of_fetch(),
            "mirror 'ftp://host/data' is neither a folder nor an http://, https:// or file:// address");
  options_.mirror = "http://host/\nsecond line";
  EXPECT_EQ(error_of_fetch(), "mirror 'http://host/\\x0asecond line' contains a control character");
  options_.mirror = "file://nothing";
  EXPECT_EQ(error_of_fetch(), "mirror 'file://nothing' has no path");
}

TEST_F(DownloadTest, NoKnownAddress) {
  EXPECT_EQ(error_of_fetch(),
            "tiny: a.bin: no address is known where it is published; use --mirror DIR_OR_URL or set "
            "QW_DATA_MIRROR");
}

TEST_F(DownloadTest, CacheThatCannotBeWritten) {
  write_file_atomically(root_ / "cache", "a file, not a folder");
  options_.mirror = root_.string();
  EXPECT_EQ(error_of_fetch(), folder().string() + ": cannot make this folder: Not a directory");
}

TEST_F(DownloadTest, ProgressIsToldAndMayEndTheDownload) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  options_.mirror = server.url();
  options_.on_progress = [](const Progress&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(fetch_dataset(card_, options_), std::runtime_error);
  const auto kept = static_cast<int64_t>(fs::file_size(part()));
  EXPECT_GT(kept, 0);
  EXPECT_FALSE(fs::exists(file()));

  std::vector<Progress> told;
  options_.on_progress = [&](const Progress& progress) { told.push_back(progress); };
  fetch_dataset(card_, options_);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().dataset, "tiny");
  EXPECT_EQ(told.front().file, "a.bin");
  EXPECT_GT(told.front().done, kept);
  for (size_t i = 1; i < told.size(); ++i) EXPECT_GT(told[i].done, told[i - 1].done);
  for (const Progress& progress : told) EXPECT_EQ(progress.total, 100000);
  EXPECT_EQ(told.back().done, 100000);
}

TEST_F(DownloadTest, OtherPublishedBytesAreJudgedByTheirContents) {
  LoopbackServer server([](const Request& request) { return ranged(request, "same arrays, other bytes"); });
  card_.files[0].url = server.url() + "/published";
  card_.files[0].published_bytes_differ = true;
  EXPECT_NE(error_of_fetch().find("sha256 is "), std::string::npos) << "nobody there to judge";

  options_.check_contents = [](const DatasetCard&, const FileCard&, const fs::path&) {
    fail("3 nodes, expected 4");
  };
  EXPECT_EQ(error_of_fetch(),
            fmt::format(
                "tiny: a.bin: its contents are not those of the card: 3 nodes, expected 4; nothing was kept; "
                "it came from {}/published: check the network, or use --mirror DIR_OR_URL",
                server.url()));
  EXPECT_TRUE(fs::is_empty(folder()));

  std::string judged;
  options_.check_contents = [&](const DatasetCard& card, const FileCard& one, const fs::path& path) {
    judged = card.name + " " + one.name + " " + read_file(path);
  };
  options_.mirror = server.url();
  EXPECT_NE(error_of_fetch().find("sha256 is "), std::string::npos) << "a mirror has the card's bytes";
  options_.mirror.clear();
  EXPECT_TRUE(fetch_dataset(card_, options_).fetched.at(0).checked_by_contents);
  EXPECT_EQ(judged, "tiny a.bin same arrays, other bytes");
  EXPECT_EQ(read_file(file()), "same arrays, other bytes");
}

TEST_F(DownloadTest, EveryRealCardComesFromTheSharedFolder) {
  options_.mirror = "../shared/datasets";
  QW_SKIP_WITHOUT(options_.mirror);
  for (const DatasetCard& card : dataset_cards()) {
    EXPECT_EQ(fetch_dataset(card, options_).fetched.size(), card.files.size()) << card.name;
  }
}

TEST_F(DownloadTest, ThreadsTakeTurns) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  options_.mirror = server.url();
  std::atomic<int64_t> fetched = 0;
  const auto fetch = [&] { fetched += static_cast<int64_t>(fetch_dataset(card_, options_).fetched.size()); };
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) thread = std::thread(fetch);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fetched, 1);
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(read_file(file()), content_);
}

TEST_F(DownloadTest, ProcessesTakeTurns) {
  LoopbackServer server([&](const Request& request) { return ranged(request, content_); });
  options_.mirror = server.url();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(error_of_fetch() == "no error" ? 0 : 1);
  EXPECT_EQ(error_of_fetch(), "no error");
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(read_file(file()), content_);
}

}  // namespace
}  // namespace qw
