#include "study/postgres.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <thread>

#include "core/json.h"
#include "core/progress.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "study/postgres_url.h"

namespace qw {
namespace {

constexpr std::chrono::seconds kBetweenAttempts{1};  // to connect again
constexpr int kMostConflicts = 50;                   // of one transaction with others
constexpr size_t kFirstWindow = 64;  // trials that are looked at together; then four times as many
constexpr size_t kEnqueued = 2048;   // trials that are enqueued together

// Of PostgreSQL's catalogue (pg_type.dat), which never changes.
constexpr Oid kBool = 16, kBytes = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat4 = 700,
              kFloat8 = 701;

// Any number will do that all of them have; this is "qw_store".
constexpr const char* kLockForOne = "SELECT pg_advisory_xact_lock(8175826183586345573)";

constexpr const char* kEnqueue = R"(
INSERT INTO claim (config, run, worker)
SELECT w.config, w.run, 0 FROM unnest($1::bigint[], $2::bigint[]) AS w(config, run)
WHERE NOT EXISTS (SELECT FROM result r WHERE r.config = w.config AND r.run = w.run)
ORDER BY 1, 2 ON CONFLICT DO NOTHING)";

// A trial that was enqueued after it was done has its result in this statement's snapshot.
constexpr const char* kTake = R"(
WITH free AS MATERIALIZED (
  SELECT c.config, c.run, w.place
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w(config, run, place)
  JOIN claim c ON c.config = w.config AND c.run = w.run
  WHERE c.worker = 0 AND NOT EXISTS (SELECT FROM result r WHERE r.config = c.config AND r.run = c.run)
  ORDER BY w.place LIMIT $3 FOR UPDATE OF c SKIP LOCKED)
UPDATE claim SET worker = $4 FROM free WHERE claim.config = free.config AND claim.run = free.run
RETURNING free.place)";

// Transactions that were under way at the last look may have ended since: all from the oldest of them on are
// read again.
constexpr const char* kNewScores = R"(
SELECT config, run, val, error, pg_snapshot_xmin(pg_current_snapshot())::text FROM result
WHERE written >= $1::text::xid8)";

// The connection is gone.
class Lost : public Error {
 public:
  using Error::Error;
};

// Two transactions were in each other's way, and this one was rolled back.
class Conflict : public Error {
 public:
  using Error::Error;
};

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// libpq's words on one line.
std::string one_line(const char* words) {
  std::vector<std::string> lines;
  for (const std::string& line : split(words, '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  return escaped(join(lines, "; "));
}

std::string array_of(const Trial* first, size_t count, int64_t Trial::*member) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", first[i].*member);
  return text + "}";
}

// PostgreSQL keeps text that is UTF-8 and has no zeros.
std::string valid_text(const std::string& text) {
  auto valid = parse_json(json_text(nlohmann::ordered_json(text)), "text").get<std::string>();
  std::replace(valid.begin(), valid.end(), '\0', ' ');
  return valid;
}

Bytes bytes_of(const char* text) {
  size_t size = 0;
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> bytes(
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size), &PQfreemem);
  if (bytes == nullptr) throw std::bad_alloc();
  return {std::string(reinterpret_cast<const char*>(bytes.get()), size)};
}

Cell cell_of(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return {};
  const char* text = PQgetvalue(result, row, column);
  switch (PQftype(result, column)) {
    case kInt2:
    case kInt4:
    case kInt8:
      return static_cast<int64_t>(std::strtoll(text, nullptr, 10));
    case kFloat4:
    case kFloat8:
      return std::strtod(text, nullptr);
    case kBool:
      return static_cast<int64_t>(*text == 't');
    case kBytes:
      return bytes_of(text);
    default:
      return std::string(text, static_cast<size_t>(PQgetlength(result, row, column)));
  }
}

class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(const std::string& url) : Database(shown_url(url)), url_(url) {
    check_parameters();
    connect();
  }

  void execute(const std::string& sql) override { checked(PQexec(connection_.get(), sql.c_str())); }
  void visit(const std::string& sql, const Row& values,
             const std::function<void(const Row&)>& visit) override;
  void change(const std::function<void()>& body) override {
    once([&] { transaction("BEGIN", body); });
  }
  void alone(const std::function<void()>& body) override {
    once([&] { transaction(fmt::format("BEGIN; {}", kLockForOne), body); });
  }
  void once(const std::function<void()>& body) override;

  int64_t schema() override;
  bool empty() override { return run("SELECT 1 FROM pg_tables WHERE schemaname = 'qw' LIMIT 1").empty(); }
  void adopt() override {
    alone([&] { execute("CREATE SCHEMA IF NOT EXISTS qw"); });
  }
  void set_schema(int64_t schema) override {
    execute(fmt::format("DELETE FROM version; INSERT INTO version VALUES ({})", schema));
  }
  const Dialect& dialect() const override;
  std::vector<Trial> take(const std::vector<Trial>& wanted, int64_t most, int64_t worker) override;
  void update(TrialScores& scores) override;

 private:
  void check_parameters() const;
  void connect();
  void connect_again(const std::string& reason);
  void transaction(const std::string& begin, const std::function<void()>& body);
  Result checked(PGresult* result) const;
  const std::string& prepared(const std::string& sql, const std::vector<Oid>& types);

  std::string url_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, &PQfinish};
  std::map<std::string, std::string> prepared_;  // names of statements on this connection
  std::string oldest_open_ = "0";                // transaction at the last update()
};

const Database::Dialect& PostgresDatabase::dialect() const {
  static constexpr Dialect kDialect{"BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
                                    "BYTEA",
                                    ", EXCLUDE USING hash (options WITH =)",
                                    ", written xid8 NOT NULL DEFAULT pg_current_xact_id(), "
                                    "UNIQUE (written, config, run)",
                                    "CREATE TABLE IF NOT EXISTS version (schema BIGINT NOT NULL)",
                                    "extract(epoch FROM clock_timestamp())::float8"};
  return kDialect;
}

// A misspelt URL is refused in words of ours: libpq's repeat what is written in it.
void PostgresDatabase::check_parameters() const {
  check_postgres_url(url_);
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(url_.c_str(), &error);
  const std::string reason = error == nullptr ? "" : one_line(error);
  PQfreemem(error);
  PQconninfoFree(options);
  if (options == nullptr)
    fail_usage(
        fmt::format("{}: is no URL that libpq reads: {}", name(), reason.substr(0, reason.find(": \""))));
}

// Defaults stand before the URL, which may say something else.
void PostgresDatabase::connect() {
  connection_.reset();  // before there is another: servers count them
  prepared_.clear();
  const bool has_timeout = std::getenv("PGCONNECT_TIMEOUT") != nullptr;
  const std::array keywords{"client_encoding",
                            "fallback_application_name",
                            "keepalives_idle",
                            "keepalives_interval",
                            "keepalives_count",
                            "tcp_user_timeout",
                            has_timeout ? "" : "connect_timeout",
                            "dbname",
                            static_cast<const char*>(nullptr)};
  const std::array values{"UTF8",
                          "qw",
                          "30",
                          "10",
                          "3",
                          "60000",
                          has_timeout ? "" : "10",
                          url_.c_str(),
                          static_cast<const char*>(nullptr)};
  constexpr int kExpandUrl = 1;
  connection_.reset(PQconnectdbParams(keywords.data(), values.data(), kExpandUrl));
  if (connection_ == nullptr) throw std::bad_alloc();
  if (PQstatus(connection_.get()) != CONNECTION_OK)
    fail(fmt::format("{}: {}", name(), one_line(PQerrorMessage(connection_.get()))));
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  execute("SET search_path TO qw");
}

void PostgresDatabase::connect_again(const std::string& reason) {
  const auto end = std::chrono::steady_clock::now() + patience;
  if (!quiet()) fmt::print(stderr, "{}; connecting again\n", reason);
  for (;;) {
    try {
      return connect();
    } catch (const Error& error) {
      if (std::chrono::steady_clock::now() >= end)
        fail(fmt::format("{}; this was tried for {} s, and what is stored is safe", error.what(),
                         std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

Result PostgresDatabase::checked(PGresult* result) const {
  Result owned(result, &PQclear);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return owned;
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string state = field(PG_DIAG_SQLSTATE);
  std::string reason = one_line(field(PG_DIAG_MESSAGE_PRIMARY).c_str());
  if (reason.empty()) reason = one_line(PQerrorMessage(connection_.get()));
  const std::string message = fmt::format("{}: {}", name(), reason);
  // No state: the server said nothing. 57P: it is being stopped.
  if (state.empty() || state.starts_with("57P")) throw Lost(message);
  if (state == "40001" || state == "40P01") throw Conflict(message);
  fail(message);
}

void PostgresDatabase::once(const std::function<void()>& body) {
  for (int conflicts = 0;;) {
    try {
      return body();
    } catch (const Lost& lost) {
      connect_again(lost.what());
    } catch (const Conflict&) {
      if (++conflicts == kMostConflicts) throw;
    }
  }
}

void PostgresDatabase::transaction(const std::string& begin, const std::function<void()>& body) {
  try {
    execute(begin);
    body();
    execute("COMMIT");
  } catch (...) {
    PQclear(PQexec(connection_.get(), "ROLLBACK"));  // the error that led here says more
    throw;
  }
}

// Planned once: to plan them takes longer than to run them.
const std::string& PostgresDatabase::prepared(const std::string& sql, const std::vector<Oid>& types) {
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) return known->second;
  const std::string name = fmt::format("qw_{}", prepared_.size());
  checked(
      PQprepare(connection_.get(), name.c_str(), sql.c_str(), static_cast<int>(types.size()), types.data()));
  return prepared_[sql] = name;
}

void PostgresDatabase::visit(const std::string& sql, const Row& values,
                             const std::function<void(const Row&)>& visit) {
  std::vector<std::string> texts;
  std::vector<Oid> types;
  for (const Cell& value : values) {
    const bool is_text = std::holds_alternative<std::string>(value);
    texts.push_back(is_text ? valid_text(std::get<std::string>(value)) : text_of(value));
    types.push_back(is_text                                 ? kText
                    : std::holds_alternative<Bytes>(value)  ? kBytes
                    : std::holds_alternative<double>(value) ? kFloat8
                                                            : kInt8);
  }
  std::vector<const char*> pointers;
  std::vector<int> sizes, are_binary;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* bytes = std::get_if<Bytes>(&values[i]);
    const bool is_null = std::holds_alternative<std::monostate>(values[i]);
    pointers.push_back(is_null ? nullptr : bytes != nullptr ? bytes->data.data() : texts[i].c_str());
    sizes.push_back(bytes == nullptr ? 0 : static_cast<int>(bytes->data.size()));
    are_binary.push_back(static_cast<int>(bytes != nullptr));
  }
  const Result result =
      checked(PQexecPrepared(connection_.get(), prepared(sql, types).c_str(), static_cast<int>(values.size()),
                             pointers.data(), sizes.data(), are_binary.data(), 0));
  Row row(PQnfields(result.get()));
  for (int i = 0; i < PQntuples(result.get()); ++i) {
    for (size_t k = 0; k < row.size(); ++k) row[k] = cell_of(result.get(), i, static_cast<int>(k));
    visit(row);
  }
}

int64_t PostgresDatabase::schema() {
  const bool has_version =
      !run("SELECT 1 FROM pg_tables WHERE schemaname = 'qw' AND tablename = 'version'").empty();
  if (!has_version) return 0;
  const std::vector<Row> rows = run("SELECT max(schema) FROM version");
  const auto* schema = std::get_if<int64_t>(&rows.front().front());
  return schema == nullptr ? 0 : *schema;
}

std::vector<Trial> PostgresDatabase::take(const std::vector<Trial>& wanted, int64_t most, int64_t worker) {
  // A claim that a crash of the server forgets is a training that is done again: no need to wait for a disk.
  execute("SET LOCAL synchronous_commit TO off");
  std::vector<size_t> places;
  const auto missing = [&] { return most - static_cast<int64_t>(places.size()); };
  const auto take_of = [&](size_t begin, size_t count) {
    const Trial* first = wanted.data() + begin;
    const Row values{array_of(first, count, &Trial::config), array_of(first, count, &Trial::run), missing(),
                     worker};
    visit(kTake, values, [&](const Row& row) { places.push_back(begin + std::get<int64_t>(row[0]) - 1); });
  };
  size_t count = kFirstWindow;
  for (size_t begin = 0; begin < wanted.size() && missing() > 0; begin += count, count *= 4) {
    count = std::min(count, wanted.size() - begin);
    take_of(begin, count);
    if (missing() == 0) break;
    const Trial* first = wanted.data() + begin;
    const size_t enqueued = std::min(std::max(kEnqueued, count), wanted.size() - begin);
    run(kEnqueue, {array_of(first, enqueued, &Trial::config), array_of(first, enqueued, &Trial::run)});
    take_of(begin, count);
  }
  std::sort(places.begin(), places.end());
  std::vector<Trial> taken;
  taken.reserve(places.size());
  for (const size_t place : places) taken.push_back(wanted[place]);
  return taken;
}

void PostgresDatabase::update(TrialScores& scores) {
  std::string oldest_open = oldest_open_;
  visit(kNewScores, {oldest_open_}, [&](const Row& row) {
    add_score(*this, row, scores);
    oldest_open = text_of(row[4]);
  });
  oldest_open_ = oldest_open;
}

}  // namespace

std::unique_ptr<Database> open_postgres(const std::string& url) {
  return std::make_unique<PostgresDatabase>(url);
}

}  // namespace qw
