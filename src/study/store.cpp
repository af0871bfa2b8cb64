#include "qw/study/store.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "study/sqlite.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Raised when tables change, and when the same options train to other results than before: 2: GIN and
// GraphSAGE drop their input.
constexpr int64_t kSchema = 3;
constexpr int64_t kSchemaWithOldNames = 2;  // of a table: else the same
constexpr std::chrono::seconds kHeartbeat{5};
constexpr double kSilentIsDead = 60;  // seconds

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS config (id INTEGER PRIMARY KEY, options TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS result (
  config INTEGER NOT NULL, run INTEGER NOT NULL,
  val REAL, test REAL, epochs INTEGER, seconds REAL, device TEXT, error TEXT NOT NULL, summary TEXT NOT NULL,
  PRIMARY KEY (config, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS worker (id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, pid INTEGER NOT NULL, seen REAL NOT NULL);
CREATE TABLE IF NOT EXISTS claim (
  config INTEGER NOT NULL, run INTEGER NOT NULL, worker INTEGER NOT NULL,
  PRIMARY KEY (config, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS study (name TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS option_default (option TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)";

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// The schema of the file. One of another program's is left as it was.
int64_t checked_schema(SqliteDatabase& database, const std::filesystem::path& path) {
  SqliteStatement both(database,
                       "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version");
  both.row();
  const int64_t schema = both.integer(0);
  const bool empty = both.integer(1) == 0;
  if (schema == kSchema || schema == kSchemaWithOldNames || (schema == 0 && empty)) return schema;
  fail(fmt::format("{}: is no file of results that this qw reads (schema {}, expected {}); choose another",
                   path.string(), schema, kSchema));
}

// Where several processes make the same file, SQLite refuses this to all but one at once, without waiting.
void keep_write_ahead_log(SqliteDatabase& database) {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    try {
      return database.execute("PRAGMA journal_mode=WAL");
    } catch (const Error&) {
      if (attempt == kAttempts) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// A config is what differs from the defaults: were one of these another now, old results would stand for new
// options.
void check_defaults(SqliteDatabase& database, const std::filesystem::path& path) {
  SqliteStatement find(database, "SELECT value FROM option_default WHERE option = ?");
  SqliteStatement keep(database, "INSERT INTO option_default (option, value) VALUES (?, ?)");
  const Json defaults = to_json(TrainRequest{});
  for (const char* section : {"request", "model_options", "learn"}) {
    for (const auto& [option, value] : defaults.at(section).items()) {
      const std::string now = json_text(value);
      if (!find.bind(option).row()) {
        keep.bind(option).bind(now).run();
      } else if (find.text(0) != now) {
        fail(
            fmt::format("{}: was made when the default of {} was {}; it is {} now, and results would be "
                        "mixed up: use another file",
                        path.string(), option, printable(find.text(0)), now));
      }
      find.reset();
    }
  }
}

void open_tables(SqliteDatabase& database, const std::filesystem::path& path) {
  checked_schema(database, path);
  keep_write_ahead_log(database);
  database.execute("PRAGMA synchronous=NORMAL");
  SqliteTransaction transaction(database);
  if (checked_schema(database, path) == kSchemaWithOldNames)
    database.execute("ALTER TABLE usual RENAME TO option_default");
  database.execute(kTables);
  check_defaults(database, path);
  database.execute(fmt::format("PRAGMA user_version={}", kSchema).c_str());
  transaction.commit();
}

double primary(const Metrics& metrics) { return metrics.empty() ? std::nan("") : metrics.front().second; }

// Times are no part of a run's files, which have the same bits whatever time it took.
constexpr const char* kStepMs = "step_ms";

std::string summary_of(const RunResult& result) {
  Json json = to_json(result);
  json[kStepMs] = result.step_ms;
  return json_text(json);
}

RunResult result_of(const std::string& summary, const std::filesystem::path& store) {
  const Json json = parse_json(summary, store.string() + ": a stored result");
  try {
    RunResult result = result_from_json(json);
    result.step_ms = json.value(kStepMs, 0.0);
    if (!result.val.empty() && !result.test.empty()) return result;
  } catch (const nlohmann::json::exception&) {  // said below
  }
  fail(fmt::format("{}: is damaged: a stored result is none", store.string()));
}

}  // namespace

struct ResultStore::Database {
  explicit Database(const std::filesystem::path& file) : path(file), connection(file) {
    open_tables(connection, file);
    SqliteStatement(connection, "INSERT INTO worker (host, pid, seen) VALUES (?, ?, ?)")
        .bind(host_name())
        .bind(static_cast<int64_t>(getpid()))
        .bind(now())
        .run();
    worker = connection.last_row();
    heart = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  }

  ~Database() {
    heart.request_stop();
    heart.join();
    try {
      forget(worker);
    } catch (const Error&) {
      // others will find out by its silence
    }
  }

  // Says every few seconds that this process is alive.
  void beat(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock<std::mutex> lock(mutex);
    while (!wake.wait_for(lock, stop, kHeartbeat, [&] { return stop.stop_requested(); })) {
      try {
        SqliteDatabase own(path);
        announce(own);
      } catch (const Error&) {
        // the next beat may succeed
      }
    }
  }

  // A process that slept for long was taken for dead: then it is on the list again.
  void announce(SqliteDatabase& by) const {
    SqliteStatement(by,
                    "INSERT INTO worker (id, host, pid, seen) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (id) DO UPDATE SET seen = excluded.seen")
        .bind(worker)
        .bind(host_name())
        .bind(static_cast<int64_t>(getpid()))
        .bind(now())
        .run();
  }

  void forget(int64_t id) {
    SqliteStatement(connection, "DELETE FROM claim WHERE worker = ?").bind(id).run();
    SqliteStatement(connection, "DELETE FROM worker WHERE id = ?").bind(id).run();
  }

  // Those that died leave their claims to others.
  void bury_the_dead() {
    std::vector<int64_t> dead;
    SqliteStatement all(connection, "SELECT id, host, pid, seen FROM worker");
    while (all.row()) {
      const auto pid = static_cast<pid_t>(all.integer(2));
      const bool gone = all.text(1) == host_name() && kill(pid, 0) != 0 && errno == ESRCH;
      if (all.integer(0) != worker && (gone || now() - all.number(3) > kSilentIsDead))
        dead.push_back(all.integer(0));
    }
    for (const int64_t id : dead) forget(id);
  }

  std::filesystem::path path;
  SqliteDatabase connection;
  int64_t worker = 0;
  std::jthread heart;
};

ResultStore::ResultStore(const std::filesystem::path& path) : database_(std::make_unique<Database>(path)) {}
ResultStore::~ResultStore() = default;

const std::filesystem::path& ResultStore::path() const { return database_->path; }

int64_t ResultStore::config_of(const TrainRequest& request) {
  Json options{{"data", request.data}};
  options.update(options_json(request));
  const std::string text = json_text(options);
  SqliteDatabase& connection = database_->connection;
  SqliteStatement find(connection, "SELECT id FROM config WHERE options = ?");
  if (find.bind(text).row()) return find.integer(0);
  find.reset();
  SqliteStatement(connection, "INSERT OR IGNORE INTO config (options) VALUES (?)").bind(text).run();
  if (!find.bind(text).row()) connection.fail_here();
  return find.integer(0);
}

std::vector<int64_t> ResultStore::configs_of(const std::vector<TrainRequest>& requests) {
  SqliteTransaction transaction(database_->connection);
  std::vector<int64_t> configs;
  for (const TrainRequest& request : requests) configs.push_back(config_of(request));
  transaction.commit();
  return configs;
}

nlohmann::ordered_json ResultStore::options_of(int64_t config) {
  SqliteStatement find(database_->connection, "SELECT options FROM config WHERE id = ?");
  if (!find.bind(config).row())
    fail(fmt::format("{}: is damaged: it has results of options that are not there",
                     database_->path.string()));
  return parse_json(find.text(0), database_->path.string() + ": stored options");
}

TrainRequest ResultStore::request_of(int64_t config) {
  Json options = options_of(config);
  TrainRequest request;
  if (!options.is_object() || !options.contains("data"))
    fail(fmt::format("{}: is damaged: stored options name no data", database_->path.string()));
  request.data = options.at("data");
  options.erase("data");
  set_options(request, options, database_->path.string());
  return request;
}

std::optional<StoredResult> ResultStore::find(const Trial& trial) {
  SqliteStatement statement(
      database_->connection,
      "SELECT summary, error, seconds, device FROM result WHERE config = ? AND run = ?");
  if (!statement.bind(trial.config).bind(trial.run).row()) return std::nullopt;
  StoredResult stored;
  stored.error = statement.text(1);
  if (stored.error.empty()) stored.result = result_of(statement.text(0), database_->path);
  stored.seconds = statement.number(2);
  stored.device = statement.text(3);
  return stored;
}

TrialScores ResultStore::scores() {
  TrialScores scores;
  SqliteStatement all(database_->connection, "SELECT config, run, val, error FROM result");
  while (all.row()) {
    if (!all.is_integer(0) || !all.is_integer(1))
      fail(fmt::format("{}: is damaged: a result belongs to no trial", database_->path.string()));
    scores[{all.integer(0), all.integer(1)}] = all.text(3).empty() ? all.number(2) : std::nan("");
  }
  return scores;
}

std::vector<Trial> ResultStore::claim(const std::vector<Trial>& wanted, int64_t most) {
  SqliteDatabase& connection = database_->connection;
  SqliteTransaction transaction(connection);
  database_->announce(connection);
  database_->bury_the_dead();
  SqliteStatement done(connection, "SELECT 1 FROM result WHERE config = ? AND run = ?");
  SqliteStatement take(connection, "INSERT OR IGNORE INTO claim (config, run, worker) VALUES (?, ?, ?)");
  std::vector<Trial> ours;
  for (const Trial& trial : wanted) {
    if (static_cast<int64_t>(ours.size()) == most) break;
    const bool is_done = done.bind(trial.config).bind(trial.run).row();
    done.reset();
    if (is_done) continue;
    take.bind(trial.config).bind(trial.run).bind(database_->worker).run();
    if (connection.changes() == 1) ours.push_back(trial);
  }
  transaction.commit();
  return ours;
}

void ResultStore::put(const Trial& trial, const StoredResult& stored) {
  SqliteDatabase& connection = database_->connection;
  SqliteTransaction transaction(connection);
  const RunResult& result = stored.result;
  SqliteStatement(connection,
                  "INSERT OR REPLACE INTO result (config, run, val, test, epochs, seconds, device, error, "
                  "summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(trial.config)
      .bind(trial.run)
      .bind(primary(result.val))
      .bind(primary(result.test))
      .bind(result.epochs)
      .bind(stored.seconds)
      .bind(stored.device)
      .bind(stored.error)
      .bind(stored.error.empty() ? summary_of(result) : "")
      .run();
  SqliteStatement(connection, "DELETE FROM claim WHERE config = ? AND run = ?")
      .bind(trial.config)
      .bind(trial.run)
      .run();
  transaction.commit();
}

void ResultStore::set_study(const std::string& name, const nlohmann::ordered_json& description) {
  SqliteStatement(database_->connection, "INSERT OR REPLACE INTO study (name, description) VALUES (?, ?)")
      .bind(name)
      .bind(json_text(description))
      .run();
}

std::vector<std::pair<std::string, nlohmann::ordered_json>> ResultStore::studies() {
  std::vector<std::pair<std::string, Json>> all;
  SqliteStatement statement(database_->connection, "SELECT name, description FROM study ORDER BY name");
  while (statement.row()) {
    all.emplace_back(statement.text(0),
                     parse_json(statement.text(1), database_->path.string() + ": a stored sweep"));
  }
  return all;
}

}  // namespace qw
