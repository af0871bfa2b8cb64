#include "qw/study/store.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "study/database.h"
#include "study/postgres_url.h"
#include "study/tables.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kHeartbeat{5};
constexpr double kSilentIsDead = 60;     // seconds
constexpr size_t kPartOfFile = 1 << 24;  // bytes of a file in a row: databases have limits

// What this process can send signals to: machines may share a name, and containers have processes of their
// own.
std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::error_code unknown;
  const std::filesystem::path processes = std::filesystem::read_symlink("/proc/self/ns/pid", unknown);
  std::string boot;  // differs for every start of every machine
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return fmt::format("{} {} {}", name.data(), processes.string(), boot);
}

double primary(const Metrics& metrics) { return metrics.empty() ? std::nan("") : metrics.front().second; }

// Files of one's own go by the name of the edges.
std::string shown_data(const Json& data) {
  if (data.is_string()) return data.get<std::string>();
  if (!data.is_object()) return json_text(data);
  std::string name = data.value("what", std::string());
  if (name.empty()) name = data.value("load", Json::object()).value("edges", std::string());
  return name.empty() ? json_text(data) : name;
}

// Times are no part of a run's files, which have the same bits whatever time it took.
constexpr const char* kStepMs = "step_ms";

std::string summary_of(const RunResult& result) {
  Json json = to_json(result);
  json[kStepMs] = result.step_ms;
  return json_text(json);
}

RunResult result_of(const std::string& summary, const std::string& store) {
  const Json json = parse_json(summary, store + ": a stored result");
  try {
    RunResult result = result_from_json(json);
    result.step_ms = json.value(kStepMs, 0.0);
    if (!result.val.empty() && !result.test.empty()) return result;
  } catch (const nlohmann::json::exception&) {  // said below
  }
  fail(fmt::format("{}: is damaged: a stored result is none", store));
}

}  // namespace

// The mutex is held by whoever uses the database: the owner of the store, or its heart.
struct ResultStore::State {
  explicit State(const std::string& where) : database(open_database(where)) {
    open_tables(*database);
    database->change([&] {
      const std::vector<Row> rows = database->run(
          fmt::format("INSERT INTO worker (host, pid, seen) VALUES ($1, $2, {}) RETURNING id", now()),
          {host_name(), pid()});
      worker = std::get<int64_t>(rows.front().front());
    });
    heart = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  }

  ~State() {
    heart.request_stop();
    heart.join();
    database->patience = std::chrono::milliseconds(0);
    try {
      database->change([&] { forget(worker); });
    } catch (const Error&) {
      // others will find out by its silence
    }
  }

  const char* now() const { return database->dialect().now; }
  static int64_t pid() { return getpid(); }

  // Says every few seconds that this process is alive.
  void beat(const std::stop_token& stop) {
    std::mutex asleep;
    std::condition_variable_any wake;
    std::unique_lock<std::mutex> lock(asleep);
    while (!wake.wait_for(lock, stop, kHeartbeat, [&] { return stop.stop_requested(); })) {
      const std::lock_guard<std::mutex> use(mutex);
      try {
        database->change([&] { announce(); });
      } catch (const Error&) {
        // the next beat may succeed
      }
    }
  }

  // A process that slept for long was taken for dead: then it is on the list again.
  void announce() {
    database->run(fmt::format("INSERT INTO worker (id, host, pid, seen) VALUES ($1, $2, $3, {}) "
                              "ON CONFLICT (id) DO UPDATE SET seen = excluded.seen",
                              now()),
                  {worker, host_name(), pid()});
  }

  void forget(int64_t id) {
    database->run("DELETE FROM claim WHERE worker = $1", {id});
    database->run("DELETE FROM worker WHERE id = $1", {id});
  }

  // Those that died leave their claims to others.
  void bury_the_dead() {
    const std::string host = host_name();
    for (const Row& row : database->run(
             fmt::format("SELECT id, host, pid, {} - seen FROM worker WHERE id <> $1 ORDER BY id", now()),
             {worker})) {
      const auto* id = std::get_if<int64_t>(&row[0]);
      const auto* process = std::get_if<int64_t>(&row[2]);
      const bool gone = process != nullptr && text_of(row[1]) == host &&
                        kill(static_cast<pid_t>(*process), 0) != 0 && errno == ESRCH;
      if (id != nullptr && (gone || number_of(row[3]) > kSilentIsDead)) forget(*id);
    }
  }

  // Where the answer to a claim was lost with the connection, nobody is at work on it.
  void release_what_is_not_held() {
    for (const Row& row : database->run("SELECT config, run FROM claim WHERE worker = $1", {worker})) {
      const Trial trial{std::get<int64_t>(row[0]), std::get<int64_t>(row[1])};
      if (!held.contains(trial)) release(trial);
    }
  }

  void release(const Trial& trial) {
    database->run("DELETE FROM claim WHERE config = $1 AND run = $2", {trial.config, trial.run});
  }

  // Part of change().
  void write_files(const Trial& trial, const TrialFiles& files) {
    for (const auto& [name, contents] : files) {
      for (size_t part = 0; part == 0 || part * kPartOfFile < contents.size(); ++part) {
        database->run("INSERT INTO file (config, run, name, part, content) VALUES ($1, $2, $3, $4, $5)",
                      {trial.config, trial.run, name, static_cast<int64_t>(part),
                       Bytes{contents.substr(part * kPartOfFile, kPartOfFile)}});
      }
    }
  }

  std::optional<int64_t> known_config(const std::string& options) {
    const std::vector<Row> rows = database->run("SELECT id FROM config WHERE options = $1", {options});
    if (rows.empty()) return std::nullopt;
    return std::get<int64_t>(rows.front().front());
  }

  // Part of alone().
  int64_t new_config(const std::string& options) {
    if (const std::optional<int64_t> known = known_config(options)) return *known;
    const std::vector<Row> rows =
        database->run("INSERT INTO config (options) VALUES ($1) RETURNING id", {options});
    return std::get<int64_t>(rows.front().front());
  }

  std::unique_ptr<Database> database;
  std::mutex mutex;
  int64_t worker = 0;
  std::set<Trial> held;
  TrialScores scores;
  std::jthread heart;
};

ResultStore::ResultStore(const std::string& where) : state_(std::make_unique<State>(where)) {}
ResultStore::~ResultStore() = default;

const std::string& ResultStore::name() const { return state_->database->name(); }

int64_t ResultStore::config_of(const TrainRequest& request) { return configs_of({request}).front(); }

std::vector<int64_t> ResultStore::configs_of(const std::vector<TrainRequest>& requests) {
  std::vector<Json> options;
  for (const TrainRequest& request : requests) {
    Json differing{{"data", request.data}};
    differing.update(options_json(request));
    options.push_back(std::move(differing));
  }
  return configs_of_options(options);
}

std::vector<int64_t> ResultStore::configs_of_options(const std::vector<nlohmann::ordered_json>& options) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::vector<int64_t> configs;
  state_->database->once([&] {
    configs.clear();
    for (const Json& each : options) {
      if (const std::optional<int64_t> known = state_->known_config(json_text(each)))
        configs.push_back(*known);
    }
  });
  if (configs.size() == options.size()) return configs;
  state_->database->alone([&] {
    configs.clear();
    for (const Json& each : options) configs.push_back(state_->new_config(json_text(each)));
  });
  return configs;
}

nlohmann::ordered_json ResultStore::options_of(int64_t config) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::vector<Row> rows;
  state_->database->once(
      [&] { rows = state_->database->run("SELECT options FROM config WHERE id = $1", {config}); });
  if (rows.empty()) fail(fmt::format("{}: is damaged: it has results of options that are not there", name()));
  return parse_json(text_of(rows.front().front()), name() + ": stored options");
}

TrainRequest ResultStore::request_of(int64_t config) {
  Json options = options_of(config);
  TrainRequest request;
  if (!options.is_object() || !options.contains("data"))
    fail(fmt::format("{}: is damaged: stored options name no data", name()));
  request.data = options.at("data");
  options.erase("data");
  set_options(request, options, name());
  return request;
}

std::optional<StoredResult> ResultStore::find(const Trial& trial) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::vector<Row> rows;
  state_->database->once([&] {
    rows = state_->database->run(
        "SELECT summary, error, seconds, device FROM result WHERE config = $1 AND run = $2",
        {trial.config, trial.run});
  });
  if (rows.empty()) return std::nullopt;
  const Row& row = rows.front();
  StoredResult stored;
  stored.error = text_of(row[1]);
  if (stored.error.empty()) stored.result = result_of(text_of(row[0]), name());
  stored.seconds = number_of(row[2]);
  stored.device = text_of(row[3]);
  return stored;
}

const TrialScores& ResultStore::scores() {
  const std::lock_guard<std::mutex> use(state_->mutex);
  state_->database->once([&] { state_->database->update(state_->scores); });
  return state_->scores;
}

std::vector<Trial> ResultStore::claim(const std::vector<Trial>& wanted, int64_t most) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  State& state = *state_;
  std::vector<Trial> ours;
  bool again = false;
  state.database->change([&] {
    state.announce();
    if (again) state.release_what_is_not_held();
    again = true;
    ours = state.database->take(wanted, most, state.worker);
    if (static_cast<int64_t>(ours.size()) == most) return;
    state.bury_the_dead();
    const std::vector<Trial> more =
        state.database->take(wanted, most - static_cast<int64_t>(ours.size()), state.worker);
    ours.insert(ours.end(), more.begin(), more.end());
  });
  state.held.insert(ours.begin(), ours.end());
  return ours;
}

void ResultStore::put(const Trial& trial, const StoredResult& stored, const TrialFiles& files) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  const RunResult& result = stored.result;
  const Row values{
      trial.config,         trial.run,     primary(result.val),
      primary(result.test), result.epochs, stored.seconds,
      stored.device,        stored.error,  stored.error.empty() ? summary_of(result) : std::string()};
  state_->database->change([&] {
    const std::vector<Row> is_first = state_->database->run(
        "INSERT INTO result (config, run, val, test, epochs, seconds, device, error, summary) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (config, run) DO NOTHING RETURNING run",
        values);
    if (!is_first.empty()) state_->write_files(trial, files);
    state_->release(trial);
  });
  state_->held.erase(trial);
}

std::optional<std::string> ResultStore::file(const Trial& trial, const std::string& name) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::optional<std::string> contents;
  state_->database->once([&] {
    contents.reset();
    state_->database->visit(
        "SELECT content FROM file WHERE config = $1 AND run = $2 AND name = $3 ORDER BY part",
        {trial.config, trial.run, name}, [&](const Row& row) {
          const auto* part = std::get_if<Bytes>(&row[0]);
          if (part == nullptr) fail(fmt::format("{}: is damaged: a stored file is none", this->name()));
          contents = contents.value_or("") + part->data;
        });
  });
  return contents;
}

void ResultStore::check_data(const nlohmann::ordered_json& data, const nlohmann::ordered_json& fingerprint) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::vector<Row> rows;
  state_->database->change([&] {
    state_->database->run(
        "INSERT INTO data (name, fingerprint) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        {json_text(data), json_text(fingerprint)});
    rows = state_->database->run("SELECT fingerprint FROM data WHERE name = $1", {json_text(data)});
  });
  const Json first = parse_json(text_of(rows.front().front()), name() + ": a stored fingerprint");
  std::vector<std::string> others;
  for (const auto& [part, hash] : fingerprint.items()) {
    if (!first.is_object() || first.value(part, Json()) != hash) others.push_back(part);
  }
  if (others.empty()) return;
  fail(
      fmt::format("{}: was begun with other data by the name {}: its {} differ; use the same files, or "
                  "another store",
                  name(), in_quotes(shown_data(data)), join(others, " and ")));
}

void ResultStore::set_study(const std::string& name, const nlohmann::ordered_json& description) {
  const std::lock_guard<std::mutex> use(state_->mutex);
  state_->database->once([&] {
    state_->database->run(
        "INSERT INTO study (name, description) VALUES ($1, $2) "
        "ON CONFLICT (name) DO UPDATE SET description = excluded.description",
        {name, json_text(description)});
  });
}

std::vector<std::pair<std::string, nlohmann::ordered_json>> ResultStore::studies() {
  const std::lock_guard<std::mutex> use(state_->mutex);
  std::vector<Row> rows;
  state_->database->once(
      [&] { rows = state_->database->run("SELECT name, description FROM study ORDER BY name"); });
  std::vector<std::pair<std::string, Json>> all;
  all.reserve(rows.size());
  for (const Row& row : rows)
    all.emplace_back(text_of(row[0]), parse_json(text_of(row[1]), name() + ": a stored sweep"));
  return all;
}

bool has_results(const std::string& where) {
  if (!is_postgres_url(where)) {
    check_is_no_url(where);
    return std::filesystem::exists(where);
  }
  const std::unique_ptr<Database> database = open_database(where);
  bool has = false;
  database->once([&] { has = !database->empty(); });
  return has;
}

}  // namespace qw
