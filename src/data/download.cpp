#include "qw/data/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/file.h"
#include "core/progress.h"
#include "core/sha256.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/verification.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (value_ < 0) fail(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }

  int value() const { return value_; }

 private:
  int value_;
};

class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(path, O_RDWR | O_CREAT) {
    while (::flock(file_.value(), LOCK_EX) != 0) {
      if (errno != EINTR) fail(fmt::format("{}: cannot lock: {}", path.string(), std::strerror(errno)));
    }
  }

 private:
  Descriptor file_;
};

// The bytes of one file on their way into the cache.
class PartFile {
 public:
  PartFile(fs::path path, int64_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes), file_(path_, O_WRONLY | O_CREAT | O_APPEND) {
    size_ = kept_ = ::lseek(file_.value(), 0, SEEK_END);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (size_ == 0) remove();
  }

  const fs::path& path() const { return path_; }
  int64_t size() const { return size_; }
  int64_t kept() const { return kept_; }          // bytes of an earlier call that are still part of it
  int64_t appended() const { return appended_; }  // bytes written since it was opened
  int64_t max_bytes() const { return max_bytes_; }
  bool has_room_for(int64_t more) const { return more <= max_bytes_ - size_; }

  void restart() {
    if (::ftruncate(file_.value(), 0) != 0) fail_write();
    size_ = kept_ = 0;
  }

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.value(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_write();
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += written;
      appended_ += written;
    }
  }

  void remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

 private:
  [[noreturn]] void fail_write() const {
    fail(fmt::format("{}: cannot write: {}", path_.string(), reason_of(errno)));
  }

  fs::path path_;
  int64_t max_bytes_;
  Descriptor file_;
  int64_t size_ = 0;
  int64_t kept_ = 0;
  int64_t appended_ = 0;
};

class ProgressReport {
 public:
  ProgressReport(const DatasetCard& card, const FileCard& file, const DownloadOptions& options)
      : options_(options), progress_{.dataset = card.name, .file = file.name} {}

  void start(int64_t total) {
    progress_.total = total;
    bar_.reset();
    if (!options_.quiet) bar_.emplace(progress_.dataset + ": " + progress_.file, total, "bytes");
  }

  void update(int64_t done) {
    progress_.done = done;
    if (bar_) bar_->update(done);
    if (options_.on_progress) options_.on_progress(progress_);
  }

 private:
  const DownloadOptions& options_;
  Progress progress_;
  std::optional<ProgressBar> bar_;
};

// ---- one attempt ----

enum class Outcome {
  kDone,
  kMissing,    // not at this address
  kTransient,  // may work later, from where it stopped
  kStartOver,  // what is in the .part file does not fit what the server has
  kRefused,
};

struct Attempt {
  Outcome outcome = Outcome::kDone;
  std::string reason;
};

Attempt refuse_size(PartFile& part) {
  part.restart();
  return {Outcome::kRefused, fmt::format("it is larger than {}, the most that is accepted",
                                         human_bytes(static_cast<double>(part.max_bytes())))};
}

class HttpTransfer {
 public:
  HttpTransfer(std::string url, PartFile& part, ProgressReport& progress, const DownloadOptions& options)
      : url_(std::move(url)), part_(part), progress_(progress), offset_(part.size()) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    handle_.reset(curl_easy_init());
    QW_ASSERT(handle_ != nullptr);
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_USERAGENT, "qw");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, lower(url_).starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_seconds));
    set(CURLOPT_LOW_SPEED_LIMIT, 100L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_seconds));
    set(CURLOPT_ERRORBUFFER, error_);
    set(CURLOPT_WRITEFUNCTION, &HttpTransfer::write_body);
    set(CURLOPT_WRITEDATA, this);
    // Not CURLOPT_RESUME_FROM: with that curl calls a server without ranges an error, and we start over.
    if (offset_ > 0) set(CURLOPT_RANGE, fmt::format("{}-", offset_).c_str());
  }

  Attempt run() {
    const CURLcode code = curl_easy_perform(handle_.get());
    if (exception_) std::rethrow_exception(exception_);
    if (code == CURLE_HTTP_RETURNED_ERROR) return judge_status();
    if (code == CURLE_OK && !body_begun_) begin_body();
    if (early_) return *early_;
    if (code == CURLE_OK) return {};
    const std::string reason = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
    return {may_pass(code) ? Outcome::kTransient : Outcome::kRefused, std::string(trim(reason))};
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    QW_ASSERT(curl_easy_setopt(handle_.get(), option, value) == CURLE_OK);
  }

  static bool may_pass(CURLcode code) {
    constexpr CURLcode kPassing[] = {CURLE_COULDNT_CONNECT, CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT,
                                     CURLE_GOT_NOTHING,     CURLE_SEND_ERROR,   CURLE_RECV_ERROR,
                                     CURLE_HTTP2,           CURLE_HTTP2_STREAM, CURLE_SSL_CONNECT_ERROR};
    return std::find(std::begin(kPassing), std::end(kPassing), code) != std::end(kPassing);
  }

  long status() const {
    long code = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  Attempt judge_status() const {
    const long code = status();
    const std::string reason = fmt::format("HTTP status {}", code);
    if (code == 416 && offset_ > 0) return {Outcome::kStartOver, reason};
    // Object stores answer 403 for what is not there.
    if (code == 403 || code == 404 || code == 410) return {Outcome::kMissing, reason};
    return {code >= 500 || code == 408 || code == 429 ? Outcome::kTransient : Outcome::kRefused, reason};
  }

  static size_t write_body(char* bytes, size_t, size_t count, void* self) {
    auto& transfer = *static_cast<HttpTransfer*>(self);
    // An exception must not pass through curl's C frames.
    try {
      if (!transfer.body_begun_) transfer.begin_body();
      if (!transfer.part_.has_room_for(static_cast<int64_t>(count))) {
        transfer.early_ = refuse_size(transfer.part_);
      }
      if (transfer.early_) return 0;
      transfer.part_.append({bytes, count});
      transfer.progress_.update(transfer.part_.size());
      return count;
    } catch (...) {
      transfer.exception_ = std::current_exception();
      return 0;
    }
  }

  void begin_body() {
    body_begun_ = true;
    const long code = status();
    if (code == 206 && offset_ > 0) {
      if (range_start() != offset_) early_ = {Outcome::kStartOver, "the server sent another range"};
    } else if (code == 200) {
      part_.restart();
    } else {
      early_ = {Outcome::kRefused, fmt::format("HTTP status {}", code)};
    }
    if (early_) return;
    curl_off_t length = -1;
    curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (!part_.has_room_for(length)) {
      early_ = refuse_size(part_);
    } else {
      progress_.start(length < 0 ? 0 : part_.size() + length);
    }
  }

  // The 100 of "Content-Range: bytes 100-199/200", or -1.
  int64_t range_start() const {
    curl_header* header = nullptr;
    curl_easy_header(handle_.get(), "Content-Range", 0, CURLH_HEADER, -1, &header);
    if (header == nullptr) return -1;
    const std::string_view value = header->value;
    constexpr std::string_view kUnit = "bytes ";
    if (!lower(value).starts_with(kUnit)) return -1;
    return parse_integer(value.substr(kUnit.size(), value.find('-') - kUnit.size())).value_or(-1);
  }

  std::string url_;
  PartFile& part_;
  ProgressReport& progress_;
  int64_t offset_;
  bool body_begun_ = false;
  std::optional<Attempt> early_;  // why the body was not wanted
  std::exception_ptr exception_;
  char error_[CURL_ERROR_SIZE] = {};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_{nullptr, curl_easy_cleanup};
};

Attempt copy_file(const fs::path& from, PartFile& part, ProgressReport& progress) {
  std::error_code error;
  if (!fs::is_regular_file(from, error)) return {Outcome::kMissing, "no such file"};
  std::ifstream stream(from, std::ios::binary);
  if (!stream) return {Outcome::kRefused, std::strerror(errno)};
  part.restart();
  const uintmax_t size = fs::file_size(from, error);
  progress.start(error ? 0 : static_cast<int64_t>(size));
  std::vector<char> piece(size_t{1} << 18);
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (!part.has_room_for(stream.gcount())) return refuse_size(part);
    part.append({piece.data(), static_cast<size_t>(stream.gcount())});
    progress.update(part.size());
  }
  if (!stream.eof()) return {Outcome::kRefused, "it cannot be read to its end"};
  return {};
}

// ---- where from ----

struct Source {
  bool is_folder = false;
  bool is_published = false;           // the address on the card
  std::vector<std::string> addresses;  // tried in this order
  std::string advice;
};

std::string decoded_path(const std::string& file_url) {
  const size_t path = file_url.find('/', std::strlen("file://"));
  if (path == std::string::npos) fail_usage(fmt::format("mirror {} has no path", in_quotes(file_url)));
  int length = 0;
  char* decoded = curl_easy_unescape(nullptr, file_url.c_str() + path, 0, &length);
  QW_ASSERT(decoded != nullptr);
  std::string result(decoded, static_cast<size_t>(length));
  curl_free(decoded);
  return result;
}

std::string without_password(const std::string& address) {
  const size_t scheme = address.find("://");
  if (scheme == std::string::npos) return address;
  const size_t host = scheme + 3;
  const size_t at = address.substr(0, address.find('/', host)).rfind('@');
  return at == std::string::npos ? address : address.substr(0, host) + address.substr(at + 1);
}

Source mirror_source(std::string mirror, const std::string& advice, const DatasetCard& card,
                     const FileCard& file) {
  const bool has_control = std::any_of(
      mirror.begin(), mirror.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (has_control) fail_usage(fmt::format("mirror {} contains a control character", in_quotes(mirror)));
  const size_t scheme_end = mirror.find("://");
  const std::string scheme = scheme_end == std::string::npos ? "" : lower(mirror.substr(0, scheme_end));
  if (!scheme.empty() && scheme != "http" && scheme != "https" && scheme != "file") {
    fail_usage(fmt::format("mirror {} is neither a folder nor an http://, https:// or file:// address",
                           in_quotes(mirror)));
  }
  if (scheme == "file") mirror = decoded_path(mirror);
  while (mirror.size() > 1 && mirror.back() == '/') mirror.pop_back();
  return {.is_folder = scheme.empty() || scheme == "file",
          .addresses = {fmt::format("{}/{}/{}", mirror, card.mirror_folder(), file.name),
                        fmt::format("{}/{}", mirror, file.name)},
          .advice = advice};
}

Source source_of(const DatasetCard& card, const FileCard& file, const DownloadOptions& options) {
  const char* environment = std::getenv("QW_DATA_MIRROR");
  if (!options.mirror.empty()) return mirror_source(options.mirror, "check --mirror", card, file);
  if (environment != nullptr && *environment != '\0') {
    return mirror_source(environment, "check QW_DATA_MIRROR", card, file);
  }
  if (file.url.empty()) {
    fail(fmt::format(
        "{}: {}: no address is known where it is published; use --mirror DIR_OR_URL or set QW_DATA_MIRROR",
        card.name, file.name));
  }
  return {.is_published = true,
          .addresses = {file.url},
          .advice = "check the network, or use --mirror DIR_OR_URL"};
}

// ---- one file ----

class FileFetch {
 public:
  FileFetch(const DatasetCard& card, const FileCard& file, const DownloadOptions& options,
            const fs::path& folder)
      : card_(card),
        file_(file),
        options_(options),
        source_(source_of(card, file, options)),
        target_(folder / file.name) {}

  FetchedFile run() const {
    FetchedFile result{.name = file_.name};
    while (true) {
      PartFile part(target_.string() + ".part", options_.max_bytes);
      result.source = receive(part);
      result.received_bytes += part.appended();
      result.resumed_bytes = part.kept();
      const Verdict verdict = examine(part.path());
      if (verdict.problem.empty()) {
        publish_file(part.path(), target_);
        result.checked_by_contents = verdict.by_contents;
        return result;
      }
      part.remove();
      // Bytes of an earlier call may have come from elsewhere: only a file received in one call is judged for
      // good.
      if (part.kept() == 0) {
        fail_file(fmt::format("{}; nothing was kept; it came from {}: {}", verdict.problem, result.source,
                              source_.advice));
      }
    }
  }

 private:
  struct Verdict {
    std::string problem{};  // empty: the file is what the card says
    bool by_contents = false;
  };

  [[noreturn]] void fail_file(const std::string& problem) const {
    fail(fmt::format("{}: {}: {}", card_.name, file_.name, problem));
  }

  // Fills `part` from the first address that has the file and returns that address.
  std::string receive(PartFile& part) const {
    std::vector<std::string> tried;
    std::string reason;
    for (const std::string& address : source_.addresses) {
      tried.push_back(without_password(address));
      const Attempt attempt = attempt_repeatedly(address, part);
      if (attempt.outcome == Outcome::kDone) return tried.back();
      reason = attempt.reason;
      if (attempt.outcome != Outcome::kMissing) break;
    }
    const std::string kept = part.size() == 0
                                 ? ""
                                 : fmt::format(" ({} are kept, and another try goes on from there)",
                                               human_bytes(static_cast<double>(part.size())));
    fail_file(fmt::format("cannot fetch {}: {}{}; {}", join(tried, " or "), reason, kept, source_.advice));
  }

  Attempt attempt_repeatedly(const std::string& address, PartFile& part) const {
    int retries_used = 0;
    while (true) {
      ProgressReport progress(card_, file_, options_);
      Attempt attempt = source_.is_folder ? copy_file(address, part, progress)
                                          : HttpTransfer(address, part, progress, options_).run();
      if (attempt.outcome == Outcome::kStartOver) {
        part.restart();
      } else if (attempt.outcome == Outcome::kTransient && retries_used < options_.retries) {
        wait_before_retry(retries_used++);
      } else {
        return attempt;
      }
    }
  }

  void wait_before_retry(int retry) const {
    if (options_.backoff_seconds.empty()) return;
    const size_t index = std::min(static_cast<size_t>(retry), options_.backoff_seconds.size() - 1);
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.backoff_seconds[index]));
  }

  Verdict examine(const fs::path& path) const {
    const std::string found = sha256_hex_of_file(path);
    if (found == file_.sha256) return {};
    if (!source_.is_published || !file_.published_bytes_differ || !options_.check_contents) {
      return {.problem = fmt::format("sha256 is {}, expected {}", found, file_.sha256)};
    }
    try {
      options_.check_contents(card_, file_, path);
    } catch (const Error& error) {
      return {.problem = fmt::format("its contents are not those of the card: {}", error.what())};
    }
    return {.by_contents = true};
  }

  const DatasetCard& card_;
  const FileCard& file_;
  const DownloadOptions& options_;
  Source source_;
  fs::path target_;
};

}  // namespace

DownloadReport fetch_dataset(const DatasetCard& card, const DownloadOptions& options) {
  DownloadReport report{.folder = dataset_folder(card)};
  std::error_code error;
  fs::create_directories(report.folder, error);
  if (error) fail(fmt::format("{}: cannot make this folder: {}", report.folder.string(), error.message()));
  const Lock lock(report.folder.parent_path() / fmt::format(".{}.lock", card.name));
  Verification verification(card);
  for (const FileCard& file : card.files) {
    if (verification.problem(file).empty()) {  // one that has been damaged since it came is fetched again
      ++report.already_cached;
    } else {
      report.fetched.push_back(FileFetch(card, file, options, report.folder).run());
      verification.accept(file);
    }
  }
  verification.save();
  return report;
}

}  // namespace qw
