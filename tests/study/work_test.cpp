// Work on a store: what is lacking is done, once, with the results that qw train has.
#include "qw/study/work.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "study/database.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::all_trials;
using test::tiny_data;
using test::tiny_request;

class Working : public test::OnEveryStore {
 protected:
  // All trials that have no score.
  StudyWork work_on(const std::vector<Trial>& trials) {
    StudyWork work;
    work.lacking = [trials](const TrialScores& scores) {
      Lacking lacking;
      for (const Trial& trial : trials) {
        if (!scores.contains(trial)) lacking.trials.push_back(trial);
      }
      return lacking;
    };
    work.load = [this](const nlohmann::ordered_json& data) {
      ++loads_;
      EXPECT_EQ(data, "tiny");
      return tiny_data();
    };
    return work;
  }

  std::atomic<int> loads_ = 0;
};
INSTANTIATE_TEST_SUITE_P(On, Working, test::every_store(), test::store_name);

void expect_results_of_train(ResultStore& store, const TrainRequest& asked, int64_t runs) {
  TrainRequest request = asked;
  request.runs = runs;
  const std::vector<RunResult> expected = train(tiny_data(), request, "");
  const int64_t config = store.config_of(request);
  for (int64_t run = 0; run < runs; ++run) {
    const auto stored = store.find({config, run});
    ASSERT_TRUE(stored);
    EXPECT_EQ(to_json(stored->result).dump(), to_json(expected[run]).dump());
    EXPECT_EQ(stored->error, "");
    EXPECT_EQ(stored->device, "cpu");
  }
}

TEST_P(Working, ResultsAreThoseOfTrainToTheBit) {
  ResultStore store(where());
  TrainRequest flows = tiny_request();
  flows.learn.solver = "bregman";
  flows.learn.lambda = 10;
  const std::vector<int64_t> configs{store.config_of(tiny_request()), store.config_of(flows)};
  StudyWork work = work_on(all_trials(configs, 3));
  std::vector<int64_t> left;
  work.progress = [&](const WorkProgress& progress) {
    left.push_back(progress.left);
    EXPECT_EQ(progress.done, static_cast<int64_t>(left.size()));
    EXPECT_EQ(progress.done + progress.left, 6);
    EXPECT_TRUE(progress.now == "tiny, gcn, ce" || progress.now == "tiny, gcn, bregman") << progress.now;
  };
  do_work(store, work);
  EXPECT_EQ(left.size(), 6U);
  EXPECT_EQ(loads_, 1);
  expect_results_of_train(store, tiny_request(), 3);
  expect_results_of_train(store, flows, 3);
  do_work(store, work);
  EXPECT_EQ(left.size(), 6U) << "nothing was lacking";
}

TEST_P(Working, WhatFailsIsRecordedAndOthersGoOn) {
  ResultStore store(where());
  TrainRequest diverging = tiny_request(1e12);
  diverging.model_options.layers = 5;
  const int64_t bad = store.config_of(diverging), good = store.config_of(tiny_request());
  do_work(store, work_on(all_trials({bad, good}, 2)));
  for (const int64_t run : {0, 1}) {
    EXPECT_THAT(store.find({bad, run})->error, ::testing::HasSubstr("is not finite"));
    EXPECT_TRUE(std::isnan(store.scores().at({bad, run})));
  }
  expect_results_of_train(store, tiny_request(), 2);
}

TEST_P(Working, TwoShareTheWorkAndNothingIsDoneTwice) {
  ResultStore first(where()), second(where());
  std::vector<int64_t> configs;
  for (const double lr : {0.001, 0.01, 0.1}) configs.push_back(first.config_of(tiny_request(lr)));
  const std::vector<Trial> trials = all_trials(configs, 8);
  std::atomic<int64_t> done = 0;
  const auto take_part = [&](ResultStore& store) {
    StudyWork work = work_on(trials);
    work.progress = [&](const WorkProgress&) { ++done; };
    do_work(store, work);
    EXPECT_EQ(store.scores().size(), trials.size()) << "nobody leaves before all is done";
  };
  {
    const std::jthread other([&] { take_part(second); });
    take_part(first);
  }
  EXPECT_EQ(done, static_cast<int64_t>(trials.size()));
  for (const double lr : {0.001, 0.01, 0.1}) expect_results_of_train(first, tiny_request(lr), 8);
}

TEST_P(Working, OneAtATimeIsAloneOnTheDevice) {
  ResultStore store(where());
  StudyWork work = work_on(all_trials({store.config_of(tiny_request())}, 5));
  work.one_at_a_time = true;
  int done = 0;
  work.progress = [&](const WorkProgress&) {
    EXPECT_EQ(count("claim WHERE worker <> 0"), 0) << "another was begun before this one ended";
    ++done;
  };
  do_work(store, work);
  EXPECT_EQ(done, 5);
}

TEST_P(Working, WaitsForWhatOthersAreAt) {
  ResultStore store(where()), other(where());
  const std::vector<Trial> trials = all_trials({store.config_of(tiny_request())}, 2);
  ASSERT_EQ(other.claim({trials[0]}, 1).size(), 1U);
  StudyWork work = work_on(trials);
  std::atomic<int> done = 0;
  std::atomic<bool> over = false;
  work.progress = [&](const WorkProgress&) { ++done; };
  const std::jthread worker([&] {
    do_work(store, work);
    over = true;
  });
  while (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(over);
  other.put(trials[0], test::measured(0.5, 0.5));
  while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(done, 1);
}

TEST_P(Working, WhatCannotBeKeptIsNoFailureOfTheTraining) {
  ResultStore store(where());
  execute(is_sqlite() ? "CREATE TRIGGER no_room BEFORE INSERT ON result WHEN NEW.error = '' "
                        "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
                      : "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$ BEGIN RAISE EXCEPTION 'disk full'; END $$; "
                        "CREATE TRIGGER no_room BEFORE INSERT ON result FOR EACH ROW WHEN (NEW.error = '') "
                        "EXECUTE FUNCTION no_room()");
  const Trial trial{store.config_of(tiny_request()), 0};
  EXPECT_EQ(test::error_of([&] { do_work(store, work_on({trial})); }), store.name() + ": disk full");
  EXPECT_FALSE(store.find(trial));
}

TEST_P(Working, OtherDataEndsAll) {
  const std::vector<Trial> trials = all_trials({ResultStore(where()).config_of(tiny_request())}, 2);
  ResultStore store(where());
  do_work(store, work_on({trials[0]}));
  StudyWork work = work_on(trials);
  work.load = [](const nlohmann::ordered_json&) {
    Dataset other = tiny_data();
    other.targets.classes.front() = (other.targets.classes.front() + 1) % 3;
    return other;
  };
  EXPECT_EQ(test::error_of([&] { do_work(store, work); }),
            store.name() +
                ": was begun with other data by the name 'tiny': its labels differ; use the same files, or "
                "another store");
  EXPECT_FALSE(store.find(trials[1]));
}

TEST_P(Working, DataThatCannotBeLoadedEndsAll) {
  ResultStore store(where());
  const Trial trial{store.config_of(tiny_request()), 0};
  StudyWork work = work_on({trial});
  work.load = [](const nlohmann::ordered_json&) -> Dataset { fail("tiny: there is no such data"); };
  EXPECT_EQ(test::error_of([&] { do_work(store, work); }), "tiny: there is no such data");
  EXPECT_FALSE(store.find(trial));
}

}  // namespace
}  // namespace qw
