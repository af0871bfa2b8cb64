// SQLite as a store, by its C interface.
#pragma once

#include <sqlite3.h>

#include <string>

#include "study/database.h"

namespace qw {

class SqliteDatabase : public Database {
 public:
  // Waits up to a minute for other processes wherever they are in each other's way, and says so after a
  // second.
  explicit SqliteDatabase(const std::string& path);
  ~SqliteDatabase() override;

  void execute(const std::string& sql) override;
  void visit(const std::string& sql, const Row& values,
             const std::function<void(const Row&)>& visit) override;
  void change(const std::function<void()>& body) override;
  void alone(const std::function<void()>& body) override { change(body); }  // SQLite has one writer at a time
  void once(const std::function<void()>& body) override { body(); }

  int64_t schema() override;
  bool empty() override;
  void adopt() override;
  void set_schema(int64_t schema) override;
  const Dialect& dialect() const override;
  std::vector<Trial> take(const std::vector<Trial>& wanted, int64_t most, int64_t worker) override;
  void update(TrialScores& scores) override;

 private:
  [[noreturn]] void fail_here() const;  // with SQLite's own words

  std::string path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace qw
