// Results in a file: kept, shared between processes, and free again when one of them dies.
#include "qw/study/store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>

#include "core/file.h"
#include "study/sqlite.h"
#include "study/study.h"

namespace qw {
namespace {

using test::all_trials;
using test::Json;
using test::measured;
using test::tiny_request;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Store : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "results.db"; }

  test::TemporaryFolder folder_;
};

TEST_F(Store, ConfigsAreKnownByWhatChangesResults) {
  ResultStore store(file());
  const TrainRequest request = tiny_request();
  const int64_t config = store.config_of(request);
  TrainRequest same = request;
  same.runs = 9;
  same.device = "cuda:1";
  same.checkpoint_every = 7;
  EXPECT_EQ(store.config_of(same), config);
  TrainRequest others[] = {request, request, request, request, request};
  others[0].learn.lr = 0.5;
  others[1].data = "other";
  others[2].seed = 4;
  others[3].model_options.layers = 3;
  others[4].split = "published";
  std::set<int64_t> numbers{config};
  for (const TrainRequest& other : others) numbers.insert(store.config_of(other));
  EXPECT_EQ(numbers.size(), 6U);
  EXPECT_EQ(store.config_of(request), config);
}

TEST_F(Store, RequestsComeBackAsTheyWere) {
  TrainRequest request = tiny_request(0.1 + 0.2);
  request.data = {{"what", "own.csv"}, {"load", {{"target", "y"}}}};
  request.model = "appnp";
  request.model_options.dropout = 1.0 / 3;
  request.learn.solver = "badmm";
  request.learn.edge_weights = true;
  request.seed = 123456789012345;
  request.scale_features = "columns";
  const int64_t config = ResultStore(file()).config_of(request);
  ResultStore store(file());
  EXPECT_EQ(to_json(store.request_of(config)).dump(), to_json(request).dump());
  EXPECT_EQ(store.options_of(config).at("data"), request.data);
}

TEST_F(Store, ResultsSurviveClosing) {
  const Trial good{3, 1}, bad{3, 2};
  const StoredResult stored = measured(1.0 / 3, 2.0 / 3);
  {
    ResultStore store(file());
    EXPECT_FALSE(store.find(good));
    store.put(good, stored);
    store.put(bad, test::failed("the loss is not finite"));
  }
  ResultStore store(file());
  ASSERT_TRUE(store.find(good));
  EXPECT_EQ(to_json(store.find(good)->result), to_json(stored.result));
  EXPECT_EQ(store.find(good)->error, "");
  EXPECT_EQ(store.find(good)->seconds, 0.5);
  EXPECT_EQ(store.find(good)->device, "cpu");
  EXPECT_EQ(store.find(bad)->error, "the loss is not finite");
  const TrialScores scores = store.scores();
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores.at(good), 1.0 / 3);
  EXPECT_TRUE(std::isnan(scores.at(bad)));
  EXPECT_THAT(store.claim({good, bad}, 9), IsEmpty()) << "what failed is done, too";
}

TEST_F(Store, DamageIsNamed) {
  int64_t config = 0;
  {
    ResultStore store(file());
    config = store.config_of(test::tiny_request());
    store.put({config, 0}, test::measured(0.5, 0.5));
  }
  const auto refusal = [&](const char* sql, const auto& use) {
    std::filesystem::copy_file(file(), file().string() + ".whole",
                               std::filesystem::copy_options::overwrite_existing);
    SqliteDatabase(file()).execute(sql);
    std::string error;
    {
      ResultStore store(file());
      error = test::error_of([&] { use(store); });
    }
    std::filesystem::rename(file().string() + ".whole", file());
    return error;
  };
  const std::string place = file().string() + ": ";
  const auto find = [&](ResultStore& store) { store.find({config, 0}); };
  EXPECT_EQ(refusal("UPDATE result SET run = 'x'", [](ResultStore& store) { store.scores(); }),
            place + "is damaged: a result belongs to no trial");
  EXPECT_EQ(refusal("UPDATE result SET summary = '{}'", find), place + "is damaged: a stored result is none");
  EXPECT_EQ(refusal("UPDATE result SET summary = '{'", find),
            place + "a stored result: is not JSON: something is wrong at byte 2");
  const auto options = [&](ResultStore& store) { store.request_of(config); };
  EXPECT_EQ(refusal("DELETE FROM config", options),
            place + "is damaged: it has results of options that are not there");
  EXPECT_EQ(refusal("UPDATE config SET options = '[1]'", options),
            place + "is damaged: stored options name no data");
}

TEST_F(Store, TimesAreKept) {
  ResultStore store(file());
  const int64_t config = store.config_of(test::tiny_request());
  StoredResult stored = test::measured(0.5, 0.5);
  stored.result.step_ms = 1.75;
  store.put({config, 0}, stored);
  EXPECT_EQ(store.find({config, 0})->result.step_ms, 1.75);
}

TEST_F(Store, AFileDoesNotServeOtherDefaults) {
  { const ResultStore store(file()); }
  SqliteDatabase(file()).execute("UPDATE option_default SET value = '0.5' WHERE option = 'lr'");
  EXPECT_EQ(
      test::error_of([&] { const ResultStore store(file()); }),
      file().string() +
          ": was made when the default of lr was 0.5; it is 0.01 now, and results would be mixed up: use "
          "another file");
  SqliteDatabase(file()).execute(
      "DELETE FROM option_default WHERE option = 'lr'");  // an option that was not there then
  EXPECT_NO_THROW({ const ResultStore store(file()); });
}

TEST_F(Store, AFileWithTheOldNameOfATableIsRead) {
  int64_t config = 0;
  {
    ResultStore store(file());
    config = store.config_of(test::tiny_request());
    store.put({config, 0}, test::measured(0.5, 0.25));
  }
  SqliteDatabase(file()).execute("ALTER TABLE option_default RENAME TO usual; PRAGMA user_version=2");
  EXPECT_EQ(ResultStore(file()).find({config, 0})->result.test.front().second, 0.25);
  EXPECT_NO_THROW({ const ResultStore again(file()); });
}

TEST_F(Store, AMetricThatIsNoNumberIsNotZero) {
  ResultStore store(file());
  store.put({1, 0}, measured(std::nan(""), 0.5));
  EXPECT_TRUE(std::isnan(store.scores().at({1, 0})));
  EXPECT_TRUE(std::isnan(store.find({1, 0})->result.val.front().second));
  EXPECT_EQ(store.find({1, 0})->result.test.front().second, 0.5);
}

TEST_F(Store, ATrialIsClaimedOnce) {
  const std::vector<Trial> wanted = all_trials({1, 2}, 3);
  ResultStore first(file()), second(file());
  EXPECT_THAT(first.claim(wanted, 2), ElementsAre(wanted[0], wanted[1]));
  EXPECT_THAT(first.claim(wanted, 1), ElementsAre(wanted[2]));
  EXPECT_THAT(second.claim(wanted, 9), ElementsAre(wanted[3], wanted[4], wanted[5]));
  EXPECT_THAT(first.claim(wanted, 9), IsEmpty());
  first.put(wanted[0], measured(0.5, 0.5));
  EXPECT_THAT(second.claim(wanted, 9), IsEmpty()) << "it is done";
}

TEST_F(Store, ClosingGivesClaimsBack) {
  const std::vector<Trial> wanted = all_trials({1}, 2);
  ResultStore second(file());
  ResultStore(file()).claim(wanted, 2);
  EXPECT_EQ(second.claim(wanted, 9), wanted);
}

TEST_F(Store, ThreadsThatClaimTogetherShareAll) {
  const std::vector<Trial> wanted = all_trials({1, 2, 3, 4}, 10);
  std::vector<Trial> claimed;
  std::mutex mutex;
  {
    std::vector<std::unique_ptr<ResultStore>> stores(4);
    for (auto& store : stores) store = std::make_unique<ResultStore>(file());
    std::vector<std::jthread> threads;
    for (auto& store : stores) {
      threads.emplace_back([&] {
        for (std::vector<Trial> mine = store->claim(wanted, 1); !mine.empty();
             mine = store->claim(wanted, 1)) {
          const std::lock_guard<std::mutex> lock(mutex);
          claimed.push_back(mine.front());
        }
      });
    }
  }
  EXPECT_THAT(claimed, ::testing::UnorderedElementsAreArray(wanted));
}

TEST_F(Store, ManyMayMakeTheFileAtOnce) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::filesystem::path fresh = folder_.path() / std::to_string(attempt);
    std::vector<std::jthread> threads;
    std::vector<std::string> errors(6);
    for (std::string& error : errors) {
      threads.emplace_back([&] {
        try {
          ResultStore(fresh).config_of(tiny_request());
        } catch (const std::exception& thrown) {
          error = thrown.what();
        }
      });
    }
    threads.clear();
    EXPECT_THAT(errors, ::testing::Each(""));
  }
}

// A process that claims, says so, and then sleeps until it is killed.
class Claimant {
 public:
  Claimant(const std::filesystem::path& file, const std::vector<Trial>& wanted) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      ResultStore store(file);
      const char claimed = static_cast<char>(store.claim(wanted, 99).size());
      if (write(ends[1], &claimed, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char claimed = 0;
    EXPECT_EQ(read(ends[0], &claimed, 1), 1);
    claimed_ = claimed;
    close(ends[0]);
    close(ends[1]);
  }
  ~Claimant() { die(); }
  Claimant(const Claimant&) = delete;
  Claimant& operator=(const Claimant&) = delete;

  int claimed() const { return claimed_; }
  void die() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
  int claimed_ = 0;
};

TEST_F(Store, ClaimsOfTheDeadAreFreeAndThoseOfTheLivingAreNot) {
  const std::vector<Trial> wanted = all_trials({1}, 3);
  Claimant other(file(), wanted);
  EXPECT_EQ(other.claimed(), 3);
  ResultStore store(file());
  EXPECT_THAT(store.claim(wanted, 9), IsEmpty());
  other.die();
  EXPECT_EQ(store.claim(wanted, 9), wanted);
}

int64_t count(const std::filesystem::path& file, const char* table) {
  SqliteDatabase database(file);
  SqliteStatement rows(database, std::string("SELECT count(*) FROM ") + table);
  rows.row();
  return rows.integer(0);
}

TEST_F(Store, WhoIsSilentForLongIsDead) {
  ResultStore store(file());
  SqliteDatabase database(file());
  const double now = static_cast<double>(time(nullptr));
  for (const double silence : {3600.0, 0.0}) {
    SqliteStatement(database, "INSERT INTO worker (host, pid, seen) VALUES ('elsewhere', 1, ?)")
        .bind(now - silence)
        .run();
    SqliteStatement(database, "INSERT INTO claim (config, run, worker) VALUES (1, ?, ?)")
        .bind(static_cast<int64_t>(silence == 0))
        .bind(database.last_row())
        .run();
  }
  const std::vector<Trial> wanted = all_trials({1}, 2);
  EXPECT_THAT(store.claim(wanted, 9), ElementsAre(wanted[0]));
  EXPECT_EQ(count(file(), "worker"), 2) << "itself and the one who was heard of";
}

TEST_F(Store, WhoWasTakenForDeadComesBack) {
  const std::vector<Trial> wanted = all_trials({1}, 2);
  ResultStore slept(file()), other(file());
  slept.claim({wanted[0]}, 1);
  SqliteDatabase(file()).execute("DELETE FROM worker; DELETE FROM claim");
  EXPECT_THAT(slept.claim({wanted[1]}, 1), ElementsAre(wanted[1]));
  EXPECT_THAT(other.claim(wanted, 9), ElementsAre(wanted[0]));
  EXPECT_EQ(count(file(), "worker"), 2);
}

TEST_F(Store, SweepsAreKeptAsAskedForLast) {
  ResultStore store(file());
  store.set_study("b", {{"runs", 1}});
  store.set_study("a", {{"runs", 2}});
  store.set_study("b", {{"runs", 3}});
  const auto studies = ResultStore(file()).studies();
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[0].first, "a");
  EXPECT_EQ(studies[0].second, Json({{"runs", 2}}));
  EXPECT_EQ(studies[1].first, "b");
  EXPECT_EQ(studies[1].second, Json({{"runs", 3}}));
}

TEST_F(Store, WhatIsSomethingElseIsRefusedAndLeftAlone) {
  const std::filesystem::path text = folder_.write("notes.txt", std::string(2000, 'x'));
  EXPECT_EQ(test::error_of([&] { ResultStore store(text); }), text.string() + ": file is not a database");
  EXPECT_EQ(read_file(text), std::string(2000, 'x'));
  for (const int64_t schema : {0, 1}) {
    const std::filesystem::path other = folder_.path() / ("other" + std::to_string(schema));
    SqliteDatabase(other).execute(
        ("CREATE TABLE songs (name TEXT); PRAGMA user_version=" + std::to_string(schema)).c_str());
    const std::string before = read_file(other);
    EXPECT_EQ(test::error_of([&] { ResultStore store(other); }),
              other.string() + ": is no file of results that this qw reads (schema " +
                  std::to_string(schema) + ", expected 3); choose another");
    EXPECT_EQ(read_file(other), before);
  }
  const std::filesystem::path nowhere = folder_.path() / "no" / "results.db";
  EXPECT_EQ(test::error_of([&] { ResultStore store(nowhere); }),
            nowhere.string() + ": there is no folder " + nowhere.parent_path().string() + "; make it first");
  EXPECT_EQ(test::error_of([&] { ResultStore store(folder_.path()); }),
            folder_.path().string() + " is a folder; results are kept in a file");
}

}  // namespace
}  // namespace qw
