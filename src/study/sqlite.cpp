#include "study/sqlite.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
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
               static_cast<const std::filesystem::path*>(path)->string());
  }
  std::this_thread::sleep_for(kWait);
  return waits < kMostWaits ? 1 : 0;
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path) : path_(path) {
  std::error_code unknown;
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    fail(fmt::format("{}: there is no folder {}; make it first", path.string(), folder.string()));
  if (std::filesystem::is_directory(path, unknown))
    fail(fmt::format("{} is a folder; results are kept in a file", path.string()));
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    fail(fmt::format("{}: {}", path.string(), reason));
  }
  sqlite3_busy_handler(handle_, wait_for_others, &path_);
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(handle_); }

void SqliteDatabase::fail_here() const {
  fail(fmt::format("{}: {}", path_.string(), sqlite3_errmsg(handle_)));
}

void SqliteDatabase::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail_here();
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, std::string_view sql) : database_(database) {
  check(sqlite3_prepare_v2(database.handle_, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr));
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::check(int code) const {
  if (code != SQLITE_OK) database_.fail_here();
}

SqliteStatement& SqliteStatement::bind(int64_t value) {
  check(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

SqliteStatement& SqliteStatement::bind(double value) {
  check(sqlite3_bind_double(statement_, ++bound_, value));
  return *this;
}

SqliteStatement& SqliteStatement::bind(std::string_view value) {
  check(sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                          SQLITE_TRANSIENT));
  return *this;
}

bool SqliteStatement::row() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail_here();
  return code == SQLITE_ROW;
}

void SqliteStatement::run() {
  while (row()) {
  }
  reset();
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_);
  bound_ = 0;
}

double SqliteStatement::number(int column) const {
  const bool none = sqlite3_column_type(statement_, column) == SQLITE_NULL;
  return none ? std::nan("") : sqlite3_column_double(statement_, column);
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? std::string()
                          : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

SqliteTransaction::~SqliteTransaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // the error that led here says more
  }
}

void SqliteTransaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace qw
