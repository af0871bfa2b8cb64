// A thin, throwing layer over SQLite's C interface.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace qw {

class SqliteDatabase;

// One prepared statement: bind in order, then step through the rows.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase& database, std::string_view sql);
  SqliteStatement(SqliteStatement&&) = delete;
  ~SqliteStatement();

  SqliteStatement& bind(int64_t value);
  SqliteStatement& bind(double value);
  SqliteStatement& bind(std::string_view value);

  bool row();  // the next row, if there is one
  void run();  // to its end, and ready to be bound anew
  void reset();

  bool is_integer(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double number(int column) const;  // NaN, which SQLite keeps as NULL, where there is none
  std::string text(int column) const;

 private:
  void check(int code) const;

  SqliteDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class SqliteDatabase {
 public:
  // Waits up to a minute for other processes wherever they are in each other's way, and says so after a
  // second.
  explicit SqliteDatabase(const std::filesystem::path& path);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  void execute(const char* sql);
  int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  int changes() const { return sqlite3_changes(handle_); }
  [[noreturn]] void fail_here() const;  // with SQLite's own words

 private:
  friend class SqliteStatement;
  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
};

// All or nothing: rolled back unless committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
  }
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction();
  void commit();

 private:
  SqliteDatabase& database_;
  bool open_ = true;
};

}  // namespace qw
