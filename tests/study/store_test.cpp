// Results in a store: kept, shared between processes, and free again when one of them dies.
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
#include "study/database.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::all_trials;
using test::Json;
using test::measured;
using test::tiny_request;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Store : public test::OnEveryStore {};
INSTANTIATE_TEST_SUITE_P(On, Store, test::every_store(), test::store_name);

TEST_P(Store, ConfigsAreKnownByWhatChangesResults) {
  ResultStore store(where());
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

TEST_P(Store, RequestsComeBackAsTheyWere) {
  TrainRequest request = tiny_request(0.1 + 0.2);
  request.data = {{"what", "own.csv"}, {"load", {{"target", "y"}}}};
  request.model = "appnp";
  request.model_options.dropout = 1.0 / 3;
  request.learn.solver = "badmm";
  request.learn.edge_weights = true;
  request.seed = 123456789012345;
  request.scale_features = "columns";
  const int64_t config = ResultStore(where()).config_of(request);
  ResultStore store(where());
  EXPECT_EQ(to_json(store.request_of(config)).dump(), to_json(request).dump());
  EXPECT_EQ(store.options_of(config).at("data"), request.data);
}

TEST_P(Store, ResultsSurviveClosing) {
  const Trial good{3, 1}, bad{3, 2};
  const StoredResult stored = measured(1.0 / 3, 2.0 / 3);
  {
    ResultStore store(where());
    EXPECT_FALSE(store.find(good));
    store.put(good, stored);
    store.put(bad, test::failed("the loss is not finite"));
  }
  ResultStore store(where());
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

TEST_P(Store, FilesComeWithTheResultThatCounts) {
  std::string large(40'000'000, '\0');
  for (size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>(i);
  const Trial trial{1, 0};
  {
    ResultStore store(where());
    store.put(trial, measured(0.5, 0.5), {{"empty", ""}, {"large", large}, {"name", "\xff\0'x"}});
    store.put(trial, measured(0.6, 0.6), {{"large", "of one who was slower"}});
  }
  ResultStore store(where());
  EXPECT_EQ(store.file(trial, "empty"), "");
  EXPECT_TRUE(store.file(trial, "large") == large);
  EXPECT_EQ(store.file(trial, "name"), "\xff\0'x");
  EXPECT_EQ(store.file(trial, "other"), std::nullopt);
  EXPECT_EQ(store.file({1, 1}, "large"), std::nullopt);
  execute("ALTER TABLE file RENAME COLUMN content TO is_gone");
  EXPECT_THAT(test::error_of([&] { store.file(trial, "large"); }), ::testing::HasSubstr("content"));
}

// Options that are no request are known by what they say, beside those that are.
TEST_P(Store, ConfigsMayBeOfOtherOptions) {
  ResultStore store(where());
  const Json one{{"data", "tiny"}, {"fit", {{"seed", 1}}}}, other{{"data", "tiny"}, {"fit", {{"seed", 2}}}};
  const std::vector<int64_t> configs = store.configs_of_options({one, other});
  EXPECT_NE(configs[0], configs[1]);
  EXPECT_EQ(store.configs_of_options({other, one}), (std::vector<int64_t>{configs[1], configs[0]}));
  EXPECT_EQ(store.options_of(configs[1]), other);
}

TEST_P(Store, DamageIsNamed) {
  const auto refusal = [&](const std::string& sql, const auto& use) {
    const test::StorePlace place(GetParam());
    const int64_t config = ResultStore(place.where()).config_of(test::tiny_request());
    ResultStore(place.where()).put({config, 0}, test::measured(0.5, 0.5));
    open_database(place.where())->execute(sql);
    const std::string name = open_database(place.where())->name() + ": ";
    const std::string error = test::error_of([&] {
      ResultStore store(place.where());
      use(store, config);
    });
    EXPECT_EQ(error.substr(0, name.size()), name);
    return error.substr(std::min(name.size(), error.size()));
  };
  const auto find = [](ResultStore& store, int64_t config) { store.find({config, 0}); };
  const auto options = [](ResultStore& store, int64_t config) { store.request_of(config); };
  EXPECT_EQ(refusal("UPDATE result SET summary = '{}'", find), "is damaged: a stored result is none");
  EXPECT_EQ(refusal("UPDATE result SET summary = '{'", find),
            "a stored result: is not JSON: something is wrong at byte 2");
  EXPECT_EQ(refusal("DELETE FROM config", options),
            "is damaged: it has results of options that are not there");
  EXPECT_EQ(refusal("UPDATE config SET options = '[1]'", options), "is damaged: stored options name no data");
  const auto scores = [](ResultStore& store, int64_t) { store.scores(); };
  if (is_sqlite()) {
    EXPECT_EQ(refusal("UPDATE result SET run = 'x'", scores), "is damaged: a result belongs to no trial");
  } else {
    EXPECT_EQ(refusal("ALTER TABLE result DROP COLUMN val", scores), "column \"val\" does not exist");
  }
}

TEST_P(Store, TimesAreKept) {
  ResultStore store(where());
  const int64_t config = store.config_of(test::tiny_request());
  StoredResult stored = test::measured(0.5, 0.5);
  stored.result.step_ms = 1.75;
  store.put({config, 0}, stored);
  EXPECT_EQ(store.find({config, 0})->result.step_ms, 1.75);
}

TEST_P(Store, DoesNotServeOtherDefaults) {
  { const ResultStore store(where()); }
  execute("UPDATE option_default SET value = '0.5' WHERE option = 'lr'");
  EXPECT_EQ(
      test::error_of([&] { const ResultStore store(where()); }),
      open_database(where())->name() +
          ": was made when the default of lr was 0.5; it is 0.01 now, and results would be mixed up: use "
          "another store");
  execute("DELETE FROM option_default WHERE option = 'lr'");  // an option that was not there then
  EXPECT_NO_THROW({ const ResultStore store(where()); });
}

TEST_P(Store, AMetricThatIsNoNumberIsNotZero) {
  ResultStore store(where());
  store.put({1, 0}, measured(std::nan(""), 0.5));
  EXPECT_TRUE(std::isnan(store.scores().at({1, 0})));
  EXPECT_TRUE(std::isnan(store.find({1, 0})->result.val.front().second));
  EXPECT_EQ(store.find({1, 0})->result.test.front().second, 0.5);
}

TEST_P(Store, ATrialIsClaimedOnce) {
  const std::vector<Trial> wanted = all_trials({1, 2}, 3);
  ResultStore first(where()), second(where());
  EXPECT_THAT(first.claim(wanted, 2), ElementsAre(wanted[0], wanted[1]));
  EXPECT_THAT(first.claim(wanted, 1), ElementsAre(wanted[2]));
  EXPECT_THAT(second.claim(wanted, 9), ElementsAre(wanted[3], wanted[4], wanted[5]));
  EXPECT_THAT(first.claim(wanted, 9), IsEmpty());
  first.put(wanted[0], measured(0.5, 0.5));
  EXPECT_THAT(second.claim(wanted, 9), IsEmpty()) << "it is done";
}

TEST_P(Store, ClosingGivesClaimsBack) {
  const std::vector<Trial> wanted = all_trials({1}, 2);
  ResultStore second(where());
  ResultStore(where()).claim(wanted, 2);
  EXPECT_EQ(second.claim(wanted, 9), wanted);
}

TEST_P(Store, ThreadsThatClaimTogetherShareAll) {
  const std::vector<Trial> wanted = all_trials({1, 2, 3, 4}, 10);
  std::vector<Trial> claimed;
  std::mutex mutex;
  {
    std::vector<std::unique_ptr<ResultStore>> stores(4);
    for (auto& store : stores) store = std::make_unique<ResultStore>(where());
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

TEST_P(Store, ManyMayMakeTheTablesAtOnce) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const test::StorePlace fresh(GetParam());
    std::vector<std::jthread> threads;
    std::vector<std::string> errors(6);
    for (std::string& error : errors) {
      threads.emplace_back([&] {
        try {
          ResultStore(fresh.where()).config_of(tiny_request());
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
  Claimant(const std::string& where, const std::vector<Trial>& wanted) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      ResultStore store(where);
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

TEST_P(Store, ClaimsOfTheDeadAreFreeAndThoseOfTheLivingAreNot) {
  const std::vector<Trial> wanted = all_trials({1}, 3);
  Claimant other(where(), wanted);
  EXPECT_EQ(other.claimed(), 3);
  ResultStore store(where());
  EXPECT_THAT(store.claim(wanted, 9), IsEmpty());
  other.die();
  EXPECT_EQ(store.claim(wanted, 9), wanted);
}

TEST_P(Store, WhoIsSilentForLongIsDead) {
  ResultStore store(where());
  const std::unique_ptr<Database> database = open_database(where());
  const auto now = static_cast<double>(time(nullptr));
  for (const double silence : {3600.0, 0.0}) {
    const std::vector<Row> worker = database->run(
        "INSERT INTO worker (host, pid, seen) VALUES ('elsewhere', 1, $1) RETURNING id", {now - silence});
    database->run("INSERT INTO claim (config, run, worker) VALUES (1, $1, $2)",
                  {static_cast<int64_t>(silence == 0), worker.front().front()});
  }
  const std::vector<Trial> wanted = all_trials({1}, 2);
  EXPECT_THAT(store.claim(wanted, 9), ElementsAre(wanted[0]));
  EXPECT_EQ(count("worker"), 2) << "itself and the one who was heard of";
}

TEST_P(Store, WhoWasTakenForDeadComesBack) {
  const std::vector<Trial> wanted = all_trials({1}, 2);
  ResultStore slept(where()), other(where());
  slept.claim({wanted[0]}, 1);
  execute("DELETE FROM worker; DELETE FROM claim");
  EXPECT_THAT(slept.claim({wanted[1]}, 1), ElementsAre(wanted[1]));
  EXPECT_THAT(other.claim(wanted, 9), ElementsAre(wanted[0]));
  EXPECT_EQ(count("worker"), 2);
}

TEST_P(Store, SweepsAreKeptAsAskedForLast) {
  ResultStore store(where());
  store.set_study("b", {{"runs", 1}});
  store.set_study("a", {{"runs", 2}});
  store.set_study("b", {{"runs", 3}});
  const auto studies = ResultStore(where()).studies();
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[0].first, "a");
  EXPECT_EQ(studies[0].second, Json({{"runs", 2}}));
  EXPECT_EQ(studies[1].first, "b");
  EXPECT_EQ(studies[1].second, Json({{"runs", 3}}));
}

TEST_P(Store, AResultIsWrittenOnce) {
  ResultStore store(where());
  store.put({1, 0}, measured(0.5, 0.25));
  store.put({1, 0}, measured(0.75, 1));
  EXPECT_EQ(store.scores().at({1, 0}), 0.5);
  EXPECT_EQ(store.find({1, 0})->result.test.front().second, 0.25);
}

TEST_P(Store, ScoresOfOthersAreSeenAsTheyCome) {
  ResultStore store(where()), other(where());
  EXPECT_THAT(store.scores(), IsEmpty());
  for (int64_t run = 0; run < 20; ++run) {
    (run % 3 == 0 ? store : other).put({1, run}, measured(0.01 * static_cast<double>(run), 0));
    EXPECT_EQ(store.scores().size(), static_cast<size_t>(run + 1));
    EXPECT_EQ(store.scores().at({1, run}), 0.01 * static_cast<double>(run));
  }
  EXPECT_EQ(other.scores(), store.scores());
}

TEST_P(Store, OptionsMayBeLong) {
  TrainRequest request = tiny_request();
  std::string name;
  for (int i = 0; i < 2000; ++i) name += fmt::format("long {} ", i * 7919);
  request.data = name;
  ResultStore store(where());
  const int64_t config = store.config_of(request);
  EXPECT_EQ(store.config_of(request), config);
  EXPECT_EQ(store.request_of(config).data, request.data);
}

TEST_P(Store, ManyTrialsAreClaimedInTheirOrder) {
  std::vector<Trial> wanted = all_trials({5, 3, 4, 1, 2}, 700);
  ResultStore store(where()), other(where());
  EXPECT_EQ(store.claim(wanted, 600), std::vector<Trial>(wanted.begin(), wanted.begin() + 600));
  EXPECT_EQ(other.claim(wanted, 2), std::vector<Trial>(wanted.begin() + 600, wanted.begin() + 602));
  EXPECT_EQ(store.claim(wanted, 9999), std::vector<Trial>(wanted.begin() + 602, wanted.end()));
}

TEST_P(Store, OtherDataByTheSameNameIsRefused) {
  const Json name{{"what", "own.csv"}, {"load", {{"target", "y"}}}};
  const Json first{{"graph", "a"}, {"features", "b"}, {"labels", "c"}};
  const Json other{{"graph", "x"}, {"features", "b"}, {"labels", "y"}};
  ResultStore(where()).check_data(name, first);
  ResultStore store(where());
  EXPECT_NO_THROW(store.check_data(name, first));
  EXPECT_NO_THROW(store.check_data("another", other));
  EXPECT_EQ(test::error_of([&] { store.check_data(name, other); }),
            store.name() +
                ": was begun with other data by the name 'own.csv': its graph and labels differ; use "
                "the same files, or another store");
}

TEST_P(Store, WhatIsOfAnotherVersionIsRefused) {
  { const ResultStore store(where()); }
  execute(is_sqlite() ? "PRAGMA user_version=9" : "UPDATE version SET schema = 9");
  EXPECT_EQ(test::error_of([&] { const ResultStore store(where()); }),
            open_database(where())->name() +
                ": is no store of results that this qw reads (schema 9, expected 3); choose another");
}

TEST_P(Store, LookingMakesNothing) {
  EXPECT_FALSE(has_results(where()));
  EXPECT_FALSE(has_results(where()));
  { const ResultStore store(where()); }
  EXPECT_TRUE(has_results(where()));
}

TEST(StoreFile, AFileWithTheOldNameOfATableIsRead) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "results.db";
  int64_t config = 0;
  {
    ResultStore store(file);
    config = store.config_of(test::tiny_request());
    store.put({config, 0}, test::measured(0.5, 0.25));
  }
  open_database(file)->execute("ALTER TABLE option_default RENAME TO usual; PRAGMA user_version=2");
  EXPECT_EQ(ResultStore(file).find({config, 0})->result.test.front().second, 0.25);
  EXPECT_NO_THROW({ const ResultStore again(file); });
}

TEST(StoreFile, WhatIsSomethingElseIsRefusedAndLeftAlone) {
  const test::TemporaryFolder folder;
  const std::filesystem::path text = folder.write("notes.txt", std::string(2000, 'x'));
  EXPECT_EQ(test::error_of([&] { ResultStore store(text); }), text.string() + ": file is not a database");
  EXPECT_EQ(read_file(text), std::string(2000, 'x'));
  for (const int64_t schema : {0, 1}) {
    const std::string other = folder.path() / ("other" + std::to_string(schema));
    open_database(other)->execute("CREATE TABLE songs (name TEXT); PRAGMA user_version=" +
                                  std::to_string(schema));
    const std::string before = read_file(other);
    EXPECT_EQ(test::error_of([&] { ResultStore store(other); }),
              other + ": is no store of results that this qw reads (schema " + std::to_string(schema) +
                  ", expected 3); choose another");
    EXPECT_EQ(read_file(other), before);
  }
  const std::filesystem::path nowhere = folder.path() / "no" / "results.db";
  EXPECT_EQ(test::error_of([&] { ResultStore store(nowhere); }),
            nowhere.string() + ": there is no folder " + nowhere.parent_path().string() + "; make it first");
  EXPECT_EQ(test::error_of([&] { ResultStore store(folder.path()); }),
            folder.path().string() + " is a folder; results are kept in a file");
}

}  // namespace
}  // namespace qw
