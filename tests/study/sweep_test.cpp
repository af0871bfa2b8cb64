// Who wins a sweep: by validation alone, over rungs.
#include "qw/study/sweep.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "qw/core/random.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::Json;
using test::measured;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A search over as many values of "hidden".
Json search(int64_t configs, const char* strategy, int64_t runs) {
  std::vector<int64_t> hidden;
  for (int64_t i = 1; i <= configs; ++i) hidden.push_back(i);
  return {{"each", {{"data", {"tiny"}}}},
          {"search", {{"hidden", hidden}}},
          {"strategy", strategy},
          {"samples", 2 * configs},
          {"runs", runs}};
}

class Sweeping : public test::OnEveryStore {
 protected:
  Sweep sweep_of(const Json& description) { return {store_, sweep_cells(description, "f")}; }

  ResultStore store_{where()};
};
INSTANTIATE_TEST_SUITE_P(On, Sweeping, test::every_store(), test::store_name);

std::vector<int64_t> configs_of(const std::vector<RankedConfig>& ranking) {
  std::vector<int64_t> configs;
  for (const RankedConfig& ranked : ranking) configs.push_back(ranked.config);
  return configs;
}

TEST_P(Sweeping, ConfigsAreNumberedInOrderAndOnce) {
  const Sweep first = sweep_of(search(4, "grid", 1));
  EXPECT_THAT(first.cells()[0].configs, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(sweep_of(search(5, "grid", 1)).cells()[0].configs, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(store_.studies(), IsEmpty());
}

TEST_P(Sweeping, IsDecidedByTheMeanOfValidationAlone) {
  const Sweep sweep = sweep_of(search(3, "grid", 2));
  const Sweep::Cell& cell = sweep.cells()[0];
  // The second has the best mean, neither the best run nor the best test.
  const double val[3][2] = {{0.9, 0.5}, {0.75, 0.75}, {0.7, 0.7}};
  const double test[3] = {0.9, 0.1, 1.0};
  for (int64_t config = 0; config < 3; ++config) {
    for (int64_t run = 0; run < 2; ++run) {
      EXPECT_FALSE(sweep.finished(cell, store_.scores()));
      EXPECT_THAT(sweep.ranking(cell, store_.scores()), IsEmpty());
      store_.put({cell.configs[config], run}, measured(val[config][run], test[config]));
    }
  }
  const std::vector<RankedConfig> ranking = sweep.ranking(cell, store_.scores());
  EXPECT_THAT(configs_of(ranking), ElementsAre(2, 1, 3));
  EXPECT_EQ(ranking[0].score, 0.75);
  EXPECT_EQ(ranking[0].runs, 2);
  EXPECT_TRUE(sweep.finished(cell, store_.scores()));
}

TEST_P(Sweeping, EqualsGoByOrderAndFailuresAreLast) {
  const Sweep sweep = sweep_of(search(5, "grid", 2));
  const Sweep::Cell& cell = sweep.cells()[0];
  const double val[5] = {0.5, 0.25, 0.5, 0.0, 0.5};
  for (int64_t i = 0; i < 5; ++i) {
    store_.put({cell.configs[i], 0}, measured(val[i], 0));
    store_.put({cell.configs[i], 1}, i == 0 ? test::failed("diverged") : measured(val[i], 0));
  }
  const std::vector<RankedConfig> ranking = sweep.ranking(cell, store_.scores());
  EXPECT_THAT(configs_of(ranking), ElementsAre(3, 5, 2, 4, 1));
  EXPECT_TRUE(std::isnan(ranking.back().score));
}

TEST_P(Sweeping, LessIsBetterWhereTheMetricSaysSo) {
  Json description = search(3, "grid", 1);
  description["fixed"]["metric"] = "log_loss";
  const Sweep sweep = sweep_of(description);
  const Sweep::Cell& cell = sweep.cells()[0];
  const double val[3] = {0.5, 0.25, 0.75};
  for (int64_t i = 0; i < 3; ++i) store_.put({cell.configs[i], 0}, measured(val[i], 0));
  EXPECT_THAT(configs_of(sweep.ranking(cell, store_.scores())), ElementsAre(2, 1, 3));
}

TEST_P(Sweeping, LacksLessAndLessAsResultsCome) {
  const Sweep sweep = sweep_of(search(3, "grid", 2));
  TrialScores scores;
  for (size_t left = 6; left > 0; --left) {
    const Lacking lacking = sweep.lacking(scores);
    ASSERT_EQ(lacking.trials.size(), left);
    EXPECT_EQ(lacking.later, 0);
    scores[lacking.trials.back()] = 0.5;  // in whatever order
  }
  EXPECT_THAT(sweep.lacking(scores).trials, IsEmpty());
}

// The same in few lines: all that is left after each rung, by the mean of its first runs.
std::vector<int64_t> winners(const Sweep::Cell& cell, const std::function<double(Trial)>& score,
                             int64_t& trials) {
  std::vector<int64_t> left = cell.configs;
  int64_t runs_before = 0;
  trials = 0;
  for (const Rung& rung : cell.rungs) {
    left.resize(rung.configs);
    trials += rung.configs * (rung.runs - runs_before);
    runs_before = rung.runs;
    const auto mean = [&](int64_t config) {
      double sum = 0;
      for (int64_t run = 0; run < rung.runs; ++run) sum += score({config, run});
      return sum;
    };
    std::stable_sort(left.begin(), left.end(), [&](int64_t a, int64_t b) { return mean(a) > mean(b); });
  }
  return left;
}

TEST_P(Sweeping, HalvingIsThatOfAPlainLoop) {
  for (const int64_t configs : {1, 2, 7, 12, 27}) {
    for (const int64_t runs : {1, 3, 10}) {
      const Sweep sweep = sweep_of(search(configs, "halving", runs));
      const Sweep::Cell& cell = sweep.cells()[0];
      const auto score = [&](const Trial& trial) {
        return RandomStream(static_cast<uint64_t>(trial.config), static_cast<uint64_t>(configs))
            .uniform(trial.run);
      };
      int64_t trials = 0;
      const std::vector<int64_t> expected = winners(cell, score, trials);
      TrialScores scores;
      for (Lacking lacking = sweep.lacking(scores); !lacking.trials.empty();
           lacking = sweep.lacking(scores)) {
        const auto done = static_cast<int64_t>(scores.size());
        EXPECT_EQ(done + static_cast<int64_t>(lacking.trials.size()) + lacking.later, trials);
        EXPECT_FALSE(sweep.finished(cell, scores));
        scores[lacking.trials.front()] = score(lacking.trials.front());
      }
      EXPECT_TRUE(sweep.finished(cell, scores));
      EXPECT_EQ(static_cast<int64_t>(scores.size()), trials);
      std::vector<int64_t> ranking = configs_of(sweep.ranking(cell, scores));
      EXPECT_THAT(ranking, ::testing::UnorderedElementsAreArray(cell.configs)) << "all are ranked";
      ranking.resize(expected.size());
      EXPECT_EQ(ranking, expected);
    }
  }
}

TEST_P(Sweeping, WhoCameFurtherIsBeforeWhoDidNot) {
  Json description = search(6, "halving", 3);
  const Sweep sweep = sweep_of(description);
  const Sweep::Cell& cell = sweep.cells()[0];
  ASSERT_EQ(cell.rungs.size(), 2U);
  TrialScores scores;
  for (size_t i = 0; i < 6; ++i) scores[{cell.configs[i], 0}] = 0.1 * static_cast<double>(i + 1);
  EXPECT_EQ(sweep.ranking(cell, scores).front().config, cell.configs[5]);
  EXPECT_EQ(sweep.lacking(scores).trials.size(), 4U);
  // The two best of the first rung fall far behind in the second, the sixth more than the fifth.
  for (const int64_t run : {1, 2}) {
    scores[{cell.configs[5], run}] = 0;
    scores[{cell.configs[4], run}] = 0.1;
  }
  const std::vector<RankedConfig> ranking = sweep.ranking(cell, scores);
  EXPECT_THAT(configs_of(ranking), ElementsAre(cell.configs[4], cell.configs[5], cell.configs[3],
                                               cell.configs[2], cell.configs[1], cell.configs[0]));
  EXPECT_EQ(ranking[1].runs, 3);
  EXPECT_EQ(ranking[2].runs, 1);
}

}  // namespace
}  // namespace qw
