// Every kind of store, for tests that hold on all of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "study/database.h"
#include "study/postgres.h"
#include "support/support.h"

namespace qw::test {

// What tests/support/postgres.py says of its server; empty without one.
inline std::string postgres_server() {
  const char* server = std::getenv("QW_TEST_POSTGRES");
  return server == nullptr ? "" : server;
}

inline std::vector<std::string> store_kinds() {
  if (postgres_server().empty()) return {"sqlite"};
  return {"sqlite", "postgres"};
}

// A file, or a database of its own, gone when the test ends.
class StorePlace {
 public:
  explicit StorePlace(const std::string& kind) {
    if (kind == "sqlite") {
      where_ = (folder_.path() / "results.db").string();
      return;
    }
    static int made = 0;
    database_ = fmt::format("test_{}_{}", getpid(), ++made);
    as_administrator("CREATE DATABASE " + database_);
    where_ = postgres_server() + "/" + database_;
  }
  StorePlace(const StorePlace&) = delete;
  StorePlace& operator=(const StorePlace&) = delete;
  ~StorePlace() {
    if (!database_.empty())
      as_administrator(fmt::format("DROP DATABASE IF EXISTS {} WITH (FORCE)", database_));
  }

  const std::string& where() const { return where_; }
  const std::string& database() const { return database_; }
  static void as_administrator(const std::string& sql) {
    open_postgres(postgres_server() + "/postgres")->execute(sql);
  }

 private:
  TemporaryFolder folder_;
  std::string where_, database_;
};

class OnEveryStore : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string& where() const { return place_.where(); }
  bool is_sqlite() const { return GetParam() == "sqlite"; }
  void execute(const std::string& sql) const { open_database(where())->execute(sql); }
  int64_t count(const std::string& rows) const {
    return std::get<int64_t>(open_database(where())->run("SELECT count(*) FROM " + rows).front().front());
  }

  TemporaryFolder folder_;
  StorePlace place_{GetParam()};
};

inline auto every_store() { return ::testing::ValuesIn(store_kinds()); }
inline std::string store_name(const ::testing::TestParamInfo<std::string>& kind) { return kind.param; }

}  // namespace qw::test
