// What is PostgreSQL's alone: URLs, errors without passwords, connections that break.
#include "study/postgres.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "core/progress.h"
#include "study/postgres_url.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::error_of;
using test::measured;
using test::postgres_server;
using test::StorePlace;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(PostgresUrl, IsShownWithoutPasswordAndParameters) {
  EXPECT_EQ(shown_url("postgresql://host/db"), "postgresql://host/db");
  EXPECT_EQ(shown_url("postgres://ada@host:5433/db"), "postgres://ada@host:5433/db");
  EXPECT_EQ(shown_url("postgresql://ada:secret@host/db?sslmode=require"), "postgresql://ada@host/db");
  EXPECT_EQ(shown_url("postgresql://ada:sec?ret@[::1]:5433/db"), "postgresql://ada@[::1]:5433/db");
  EXPECT_EQ(shown_url("postgresql://host/db?password=secret"), "postgresql://host/db");
  EXPECT_EQ(shown_url("postgresql://"), "postgresql://");
  EXPECT_EQ(shown_url("postgresql:///db"), "postgresql:///db");
  EXPECT_EQ(shown_url("postgresql://:secret@/db"), "postgresql://@/db");
}

TEST(PostgresUrl, OtherSchemesAreNoFiles) {
  EXPECT_TRUE(is_postgres_url("postgresql://host/db"));
  EXPECT_TRUE(is_postgres_url("postgres://host/db"));
  EXPECT_FALSE(is_postgres_url("results/postgresql.db"));
  EXPECT_EQ(error_of([] { ResultStore store("mysql://ada:secret@host/db"); }),
            "results are kept in a file or in PostgreSQL (postgresql://host/database), not in 'mysql://'");
  EXPECT_EQ(error_of([] { has_results("postgre://ada:secret@host/db"); }),
            "results are kept in a file or in PostgreSQL (postgresql://host/database), not in 'postgre://'");
  for (const char* where : {"host=db user=ada password=secret", "postgresql:ada:secret@host/db"}) {
    EXPECT_EQ(error_of([&] { ResultStore store(where); }),
              "a database is named as postgresql://host/database, and no file is called as if it were one");
  }
}

// libpq would take pieces of these passwords for hosts, ports or databases, and name them.
TEST(PostgresUrl, PasswordsThatAreNotWrittenWithPercentSignsAreNeverShown) {
  const std::string at =
      "postgresql://...: has an @ too many; in names and passwords @ is written %40, / %2F and ? %3F";
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://ada:sec@ret@host/db"); }), at);
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://ada:12/secret@host/db"); }), at);
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://host/db?password=sec@ret"); }), at);
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://ada:secret/db"); }),
            "postgresql://...: has a port that is no number; a password stands before an @, as in "
            "postgresql://user:password@host/database");
  EXPECT_NO_THROW(check_postgres_url("postgresql://ada:sec%40ret@[::1]:5432,other:5433/db?sslmode=require"));
}

TEST(PostgresUrl, WhatLibpqDoesNotReadIsOneLine) {
  if (error_of([] { open_postgres("postgresql://h:1/d?x"); }).find("without PostgreSQL") != std::string::npos)
    GTEST_SKIP() << "no libpq: this qw was built without it";
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://ada:sec%zzret@host/db"); }),
            "postgresql://ada@host/db: is no URL that libpq reads: invalid percent-encoded token");
  EXPECT_EQ(error_of([] { ResultStore store("postgresql://ada:secret@host/db?color=red"); }),
            "postgresql://ada@host/db: is no URL that libpq reads: invalid URI query parameter");
}

class Postgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (postgres_server().empty())
      GTEST_SKIP() << "no PostgreSQL server: tests/support/postgres.py starts one";
    place_.emplace("postgres");
    set_quiet(true);
  }
  void TearDown() override { set_quiet(false); }

  // By TCP, where the server asks for a password.
  static std::string by_tcp(const std::string& user, const std::string& database,
                            const std::string& more = "") {
    return "postgresql://" + user + "@" + std::getenv("QW_TEST_POSTGRES_TCP") + "/" + database + more;
  }
  const std::string& where() const { return place_->where(); }
  // Ends all connections to the database.
  void break_connections() const {
    StorePlace::as_administrator("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" +
                                 place_->database() + "'");
  }

  std::optional<StorePlace> place_;
};

constexpr const char* kRight = "qw:p%2Fw%3A%40%3F";  // of tests/support/postgres.py

TEST_F(Postgres, PasswordsAreLibpqsAndAreNotShown) {
  ResultStore store(by_tcp(kRight, place_->database()));
  EXPECT_EQ(store.name(), by_tcp("qw", place_->database()));
  const std::string wrong = error_of([&] { ResultStore other(by_tcp("qw:wrong-one", place_->database())); });
  EXPECT_THAT(wrong, AllOf(StartsWith(by_tcp("qw", place_->database()) + ": "),
                           HasSubstr("password authentication failed for user \"qw\""),
                           Not(HasSubstr("wrong-one")), Not(HasSubstr("\n"))));
  EXPECT_THAT(error_of([&] { ResultStore other(by_tcp("qw", place_->database())); }),
              HasSubstr("no password supplied"));
  const test::ScopedEnvironment password("PGPASSWORD", "p/w:@?");
  EXPECT_NO_THROW(ResultStore(by_tcp("qw", place_->database())));
}

TEST_F(Postgres, WhatCannotBeReachedIsOneLine) {
  const auto error = [](const std::string& url) {
    std::string text = error_of([&] { ResultStore store(url); });
    EXPECT_THAT(text, Not(HasSubstr("secret")));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    return text;
  };
  EXPECT_THAT(
      error("postgresql://ada:secret@nowhere.invalid/db"),
      StartsWith("postgresql://ada@nowhere.invalid/db: could not translate host name \"nowhere.invalid\" "
                 "to address: "));
  EXPECT_THAT(error("postgresql://ada:secret@127.0.0.1:1/db"),
              AllOf(StartsWith("postgresql://ada@127.0.0.1:1/db: "), HasSubstr("Connection refused")));
  EXPECT_THAT(error(by_tcp(kRight, "no_such_db")), HasSubstr("database \"no_such_db\" does not exist"));
  EXPECT_THAT(error(by_tcp(kRight, "postgres", "?sslmode=require")),
              HasSubstr("server does not support SSL, but SSL was required"));
}

TEST_F(Postgres, AnotherProgramsTablesAreLeftAlone) {
  open_postgres(where())->execute("CREATE SCHEMA qw; CREATE TABLE qw.songs (name TEXT)");
  EXPECT_EQ(error_of([&] { ResultStore store(where()); }),
            where() + ": is no store of results that this qw reads (schema 0, expected 3); choose another");
  EXPECT_EQ(open_postgres(where())->run("SELECT 1 FROM pg_tables WHERE schemaname = 'qw'").size(), 1U);
}

TEST_F(Postgres, MissingTablesAreNamed) {
  ResultStore store(where());
  open_postgres(where())->execute("DROP TABLE result");
  EXPECT_EQ(error_of([&] { store.scores(); }), where() + ": relation \"result\" does not exist");
}

TEST_F(Postgres, AConnectionThatBreaksLosesNothing) {
  ResultStore store(where()), other(where());
  const int64_t config = store.config_of(test::tiny_request());
  for (const Trial& trial : test::all_trials({config}, 3)) {
    break_connections();
    EXPECT_EQ(store.claim({trial}, 1).size(), 1U);
    break_connections();
    EXPECT_TRUE(other.claim({trial}, 1).empty()) << "what is claimed stays so";
    break_connections();
    store.put(trial, measured(0.5, 0.5));
    break_connections();
    EXPECT_TRUE(store.find(trial));
    EXPECT_EQ(other.scores().size(), static_cast<size_t>(trial.run + 1));
  }
  break_connections();
  EXPECT_EQ(store.config_of(test::tiny_request(0.5)), config + 1);
  break_connections();
  store.set_study("a", {{"runs", 1}});
  break_connections();
  EXPECT_EQ(store.studies().size(), 1U);
}

TEST_F(Postgres, AClaimWhoseAnswerWasLostIsFree) {
  ResultStore store(where());
  const std::vector<Trial> wanted = test::all_trials({1}, 3);
  EXPECT_EQ(store.claim({wanted[0]}, 1).size(), 1U);
  // As if a transaction had come to its end, and only its answer had not.
  const std::unique_ptr<Database> database = open_postgres(where());
  database->execute("INSERT INTO claim SELECT 1, 1, max(id) FROM worker");
  database->execute(
      "CREATE SEQUENCE times; CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF nextval('times') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END "
      "$$; "
      "CREATE TRIGGER breaks BEFORE UPDATE ON claim FOR EACH ROW EXECUTE FUNCTION break()");
  EXPECT_EQ(store.claim(wanted, 9), (std::vector<Trial>{wanted[1], wanted[2]}));
}

TEST_F(Postgres, AConnectionThatStaysBrokenIsAnError) {
  const std::unique_ptr<Database> database = open_postgres(where());
  database->patience = std::chrono::milliseconds(1);
  StorePlace::as_administrator("DROP DATABASE " + place_->database() + " WITH (FORCE)");
  EXPECT_THAT(error_of([&] { database->once([&] { database->run("SELECT 1"); }); }),
              AllOf(StartsWith(where() + ": "), HasSubstr("does not exist"),
                    HasSubstr("; this was tried for 0 s, and what is stored is safe")));
}

TEST_F(Postgres, TextIsKeptAsItIsUnlessItIsNone) {
  ResultStore store(where());
  StoredResult stored = test::failed("no \xc3\xa9t\xc3\xa9 in '\xff'; \\ \" $1");
  stored.error.push_back('\0');
  store.put({1, 0}, stored);
  EXPECT_EQ(store.find({1, 0})->error, "no \xc3\xa9t\xc3\xa9 in '\xef\xbf\xbd'; \\ \" $1 ");
}

TEST_F(Postgres, NumbersComeBackToTheBit) {
  ResultStore store(where());
  for (const double value : {1.0 / 3, 1e-300, 5e-324, -0.0, 1.7976931348623157e308}) {
    static int64_t run = 0;
    store.put({1, run}, measured(value, 0));
    EXPECT_EQ(store.scores().at({1, run++}), value);
  }
}

}  // namespace
}  // namespace qw
