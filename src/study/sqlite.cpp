#include "study/sqlite.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "core/progress.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kMostWaits = 600;
constexpr std::chrono::milliseconds kWait(100);
constexpr int kSaidAfter = 10;  // waits

// Asked again and again while another process has the file; 0 gives up.
int wait_for_others(void* path, int waits) {
  if (waits == kSaidAfter && !quiet()) {
    fmt::print(stderr, "{}: another process is at it; waiting for up to a minute\n",
               *static_cast<const std::string*>(path));
  }
  std::this_thread::sleep_for(kWait);
  return waits < kMostWaits ? 1 : 0;
}

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

int bind(sqlite3_stmt* statement, int place, const Cell& value) {
  if (const auto* integer = std::get_if<int64_t>(&value))
    return sqlite3_bind_int64(statement, place, *integer);
  if (const auto* number = std::get_if<double>(&value)) return sqlite3_bind_double(statement, place, *number);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text(statement, place, text->data(), static_cast<int>(text->size()),
                             SQLITE_TRANSIENT);
  if (const auto* bytes = std::get_if<Bytes>(&value))
    return sqlite3_bind_blob64(statement, place, bytes->data.data(), bytes->data.size(), SQLITE_TRANSIENT);
  return sqlite3_bind_null(statement, place);
}

Cell cell_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    default:
      break;
  }
  const bool is_text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
  std::string content = bytes == nullptr ? std::string() : std::string(bytes, size);
  return is_text ? Cell(std::move(content)) : Cell(Bytes{std::move(content)});
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::string& path) : Database(path), path_(path) {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    fail(fmt::format("{}: there is no folder {}; make it first", path, folder.string()));
  if (std::filesystem::is_directory(path, unknown))
    fail(fmt::format("{} is a folder; results are kept in a file", path));
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    fail(fmt::format("{}: {}", path, reason));
  }
  sqlite3_busy_handler(handle_, wait_for_others, &path_);
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(handle_); }

void SqliteDatabase::fail_here() const { fail(fmt::format("{}: {}", path_, sqlite3_errmsg(handle_))); }

void SqliteDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_here();
}

void SqliteDatabase::visit(const std::string& sql, const Row& values,
                           const std::function<void(const Row&)>& visit) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail_here();
  const Statement statement(prepared, &sqlite3_finalize);
  for (size_t i = 0; i < values.size(); ++i) {
    if (bind(prepared, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) fail_here();
  }
  Row row(static_cast<size_t>(sqlite3_column_count(prepared)));
  for (int code = sqlite3_step(prepared); code != SQLITE_DONE; code = sqlite3_step(prepared)) {
    if (code != SQLITE_ROW) fail_here();
    for (size_t k = 0; k < row.size(); ++k) row[k] = cell_of(prepared, static_cast<int>(k));
    visit(row);
  }
}

void SqliteDatabase::change(const std::function<void()>& body) {
  execute("BEGIN IMMEDIATE");
  try {
    body();
    execute("COMMIT");
  } catch (...) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);  // the error that led here says more
    throw;
  }
}

int64_t SqliteDatabase::schema() { return std::get<int64_t>(run("PRAGMA user_version").front().front()); }

bool SqliteDatabase::empty() { return run("SELECT 1 FROM sqlite_master LIMIT 1").empty(); }

// A write-ahead log. Where several processes make the same file, SQLite refuses this to all but one at once,
// without waiting.
void SqliteDatabase::adopt() {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    try {
      execute("PRAGMA journal_mode=WAL");
      break;
    } catch (const Error&) {
      if (attempt == kAttempts) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  execute("PRAGMA synchronous=NORMAL");
}

void SqliteDatabase::set_schema(int64_t schema) { execute(fmt::format("PRAGMA user_version={}", schema)); }

const Database::Dialect& SqliteDatabase::dialect() const {
  static constexpr Dialect kDialect{"INTEGER PRIMARY KEY AUTOINCREMENT",       "BLOB", "UNIQUE", "", "",
                                    "(julianday('now') - 2440587.5) * 86400.0"};
  return kDialect;
}

std::vector<Trial> SqliteDatabase::take(const std::vector<Trial>& wanted, int64_t most, int64_t worker) {
  std::vector<Trial> taken;
  for (const Trial& trial : wanted) {
    if (static_cast<int64_t>(taken.size()) == most) break;
    if (!run("SELECT 1 FROM result WHERE config = $1 AND run = $2", {trial.config, trial.run}).empty())
      continue;
    run("INSERT OR IGNORE INTO claim (config, run, worker) VALUES ($1, $2, $3)",
        {trial.config, trial.run, worker});
    if (sqlite3_changes(handle_) == 1) taken.push_back(trial);
  }
  return taken;
}

void SqliteDatabase::update(TrialScores& scores) {
  scores.clear();
  visit("SELECT config, run, val, error FROM result", {},
        [&](const Row& row) { add_score(*this, row, scores); });
}

}  // namespace qw
