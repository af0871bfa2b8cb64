// What a store of results asks of a database. SQLite (sqlite.h) and PostgreSQL (postgres.h) answer, and
// nothing above knows which of them it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "qw/study/store.h"

namespace qw {

// Any bytes: text is UTF-8 without zeros.
struct Bytes {
  std::string data;
};

// NULL, or a value.
using Cell = std::variant<std::monostate, int64_t, double, std::string, Bytes>;
using Row = std::vector<Cell>;

double number_of(const Cell& cell);     // NaN where it is no number
std::string text_of(const Cell& cell);  // empty for NULL

// For one thread at a time. Every error begins with the name.
class Database {
 public:
  explicit Database(std::string name) : name_(std::move(name)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  // The file, or the URL without its password.
  const std::string& name() const { return name_; }

  // Statements without values.
  virtual void execute(const std::string& sql) = 0;
  // One statement. Its $1, $2, ... stand in this order, and `visit` sees every row.
  virtual void visit(const std::string& sql, const Row& values,
                     const std::function<void(const Row&)>& visit) = 0;
  std::vector<Row> run(const std::string& sql, const Row& values = {});

  // `body` as one transaction. A broken connection is made anew, and the body repeated from its beginning:
  // done twice, it must be as if done once.
  virtual void change(const std::function<void()>& body) = 0;
  // The same, one process after the other.
  virtual void alone(const std::function<void()>& body) = 0;
  // The same for a single statement, which needs no transaction.
  virtual void once(const std::function<void()>& body) = 0;

  virtual int64_t schema() = 0;  // as set_schema left it, 0 where nobody did
  virtual bool empty() = 0;      // no tables at all
  virtual void adopt() = 0;      // it is empty or ours: called before the tables are made
  virtual void set_schema(int64_t schema) = 0;

  // Pieces of SQL by which the two differ.
  struct Dialect {
    const char* number;          // a primary key that counts by itself
    const char* bytes;           // the type of Bytes
    const char* unique_options;  // stands behind the last column of config: no two rows have the same options
    const char* of_results;      // more columns of result
    const char* more_tables;     // a statement
    const char* now;             // seconds since 1970, by one clock for all workers
  };
  virtual const Dialect& dialect() const = 0;

  // Of these trials, in their order, up to `most` that are neither done nor claimed; they are this worker's
  // now. Part of a transaction.
  virtual std::vector<Trial> take(const std::vector<Trial>& wanted, int64_t most, int64_t worker) = 0;
  // Adds the scores that others or we have put since the last call.
  virtual void update(TrialScores& scores) = 0;

  std::chrono::milliseconds patience = std::chrono::minutes(1);  // with a connection that is gone

 private:
  std::string name_;
};

// A file, or postgresql://host/database. Throws qw::UsageError on a URL of anything else.
std::unique_ptr<Database> open_database(const std::string& where);

// A row of config, run, val and error.
void add_score(const Database& database, const Row& row, TrialScores& scores);

}  // namespace qw
