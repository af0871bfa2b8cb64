#include "study/tables.h"

#include <fmt/format.h>

#include <map>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Raised when tables change (one more is none that an older qw would miss), and when the same options train
// to other results than before: 2: GIN and GraphSAGE drop their input.
constexpr int64_t kSchema = 3;
constexpr int64_t kSchemaWithOldNames = 2;  // of a table: else the same

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS config (id {number}, options TEXT NOT NULL {unique_options});
CREATE TABLE IF NOT EXISTS result (
  config BIGINT NOT NULL, run BIGINT NOT NULL,
  val DOUBLE PRECISION, test DOUBLE PRECISION, epochs BIGINT, seconds DOUBLE PRECISION, device TEXT,
  error TEXT NOT NULL, summary TEXT NOT NULL,
  PRIMARY KEY (config, run) {of_results});
CREATE TABLE IF NOT EXISTS file (
  config BIGINT NOT NULL, run BIGINT NOT NULL, name TEXT NOT NULL, part BIGINT NOT NULL,
  content {bytes} NOT NULL, PRIMARY KEY (config, run, name, part));
CREATE TABLE IF NOT EXISTS worker (
  id {number}, host TEXT NOT NULL, pid BIGINT NOT NULL, seen DOUBLE PRECISION NOT NULL);
CREATE TABLE IF NOT EXISTS claim (
  config BIGINT NOT NULL, run BIGINT NOT NULL, worker BIGINT NOT NULL, PRIMARY KEY (config, run));
CREATE TABLE IF NOT EXISTS study (name TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS data (name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS option_default (option TEXT PRIMARY KEY, value TEXT NOT NULL);
)";

// Another program's database is left as it was. Somebody else may be making the tables just now: they come
// together with their schema, which is looked at last.
int64_t checked_schema(Database& database) {
  if (database.empty()) return 0;
  const int64_t schema = database.schema();
  if (schema == kSchema || schema == kSchemaWithOldNames) return schema;
  fail(fmt::format("{}: is no store of results that this qw reads (schema {}, expected {}); choose another",
                   database.name(), schema, kSchema));
}

void make_tables(Database& database) {
  const Database::Dialect& dialect = database.dialect();
  database.execute(fmt::format(
      fmt::runtime(kTables), fmt::arg("number", dialect.number), fmt::arg("bytes", dialect.bytes),
      fmt::arg("unique_options", dialect.unique_options), fmt::arg("of_results", dialect.of_results)));
  database.execute(dialect.more_tables);
}

// A config is what differs from the defaults: were one of these another now, old results would stand for new
// options.
void check_defaults(Database& database) {
  std::map<std::string, std::string> before;
  for (const Row& row : database.run("SELECT option, value FROM option_default"))
    before[text_of(row[0])] = text_of(row[1]);
  const nlohmann::ordered_json defaults = to_json(TrainRequest{});
  for (const char* section : {"request", "model_options", "learn"}) {
    for (const auto& [option, value] : defaults.at(section).items()) {
      const std::string now = json_text(value);
      const auto [known, is_new] = before.try_emplace(option, now);
      if (is_new) {
        database.run("INSERT INTO option_default (option, value) VALUES ($1, $2)", {option, now});
      } else if (known->second != now) {
        fail(
            fmt::format("{}: was made when the default of {} was {}; it is {} now, and results would be "
                        "mixed up: use another store",
                        database.name(), option, printable(known->second), now));
      }
    }
  }
}

}  // namespace

void open_tables(Database& database) {
  database.once([&] { checked_schema(database); });
  database.adopt();
  database.alone([&] {
    if (checked_schema(database) == kSchemaWithOldNames)
      database.execute("ALTER TABLE usual RENAME TO option_default");
    make_tables(database);
    check_defaults(database);
    database.set_schema(kSchema);
  });
}

}  // namespace qw
