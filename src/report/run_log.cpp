#include "report/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <string_view>

#include "core/file.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "report/event_file.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEventFile = "events.out.tfevents.";  // TensorBoard goes by "tfevents"

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Oldest first: TensorBoard reads the files of a folder in the order of their names.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (fs::directory_iterator each(folder, none), end; !none && each != end; each.increment(none)) {
    if (each->path().filename().string().starts_with(kEventFile)) files.push_back(each->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// One that is read after all that are there.
std::string name_of_next(const std::vector<fs::path>& files) {
  auto second = static_cast<int64_t>(now());
  if (!files.empty()) {
    const std::vector<std::string> parts = split(files.back().filename().string(), '.');
    if (const auto last = parts.size() > 3 ? parse_integer(parts[3]) : std::nullopt)
      second = std::max(second, *last + 1);
  }
  return fmt::format("{}{:010}.qw", kEventFile, second);
}

std::string scalars_of(const std::vector<std::string>& names, const LoggedEpoch& epoch) {
  std::vector<std::pair<std::string, double>> scalars;
  for (size_t k = 0; k < names.size(); ++k) scalars.emplace_back(names[k], epoch.values.at(k));
  return scalars_record(now(), epoch.epoch, scalars);
}

std::string row_of(const LoggedEpoch& epoch) {
  std::string row = fmt::format("{}", epoch.epoch);
  for (const double value : epoch.values) row += std::isfinite(value) ? fmt::format(",{}", value) : ",";
  return row + "\n";
}

}  // namespace

// Every write is one call of the system: a reader sees whole lines and records, but for the last after a
// crash.
class RunLog::AppendedFile {
 public:
  explicit AppendedFile(fs::path path)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail_with(errno);
  }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  ~AppendedFile() { ::close(file_); }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_with(errno);
      text.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  [[noreturn]] void fail_with(int error_number) const {
    fail(fmt::format("{}: cannot write: {}", path_.string(), reason_of(error_number)));
  }

  fs::path path_;
  int file_;
};

bool has_run_log(const fs::path& folder) {
  return fs::exists(folder / kMetricsTable) || !event_files(folder).empty();
}

std::string metrics_table(const std::vector<std::string>& names, const std::vector<LoggedEpoch>& epochs) {
  std::string text = "epoch";
  for (const std::string& name : names) text += "," + csv_field(name);
  text += "\n";
  for (const LoggedEpoch& epoch : epochs) text += row_of(epoch);
  return text;
}

RunLog::RunLog(const fs::path& folder, std::vector<std::string> names, const std::string& options,
               const std::vector<LoggedEpoch>& earlier)
    : names_(std::move(names)) {
  write_file_atomically(folder / kMetricsTable, metrics_table(names_, earlier));
  table_ = std::make_unique<AppendedFile>(folder / kMetricsTable);
  // Not written under another name first: TensorBoard would take that for an event file as well.
  events_ = std::make_unique<AppendedFile>(folder / name_of_next(event_files(folder)));
  std::string events = version_record(now()) + restart_record(now(), 0);
  events += text_record(now(), "options", options);
  for (const LoggedEpoch& epoch : earlier) events += scalars_of(names_, epoch);
  events_->write(events);
}

RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;
RunLog::~RunLog() = default;

void RunLog::add(const LoggedEpoch& epoch) {
  events_->write(scalars_of(names_, epoch));
  table_->write(row_of(epoch));
}

}  // namespace qw
