// What a page of a sweep is made of.
#include "study/swept.h"

#include <gmock/gmock.h>

#include <cmath>

#include "qw/study/sweep.h"
#include "study/store_places.h"
#include "study/study.h"

namespace qw {
namespace {

using test::failed;
using test::Json;
using test::measured;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Swept : public test::OnEveryStore {
 protected:
  ResultStore store_{where()};
};
INSTANTIATE_TEST_SUITE_P(On, Swept, test::every_store(), test::store_name);

TEST_P(Swept, HasChoicesBestFirstAndStagesInTheirOrder) {
  const Json description{{"each", {{"data", {"tiny"}}}},
                         {"search", {{"hidden", {4, 8, 16}}}},
                         {"strategy", "halving"},
                         {"samples", 3},
                         {"runs", 2},
                         {"keep", 0.34}};
  store_.set_study("s", description);
  EXPECT_THAT(swept_searches(store_), IsEmpty()) << "nothing has begun";
  const Sweep sweep(store_, sweep_cells(description, "f"));
  const Sweep::Cell& cell = sweep.cells().front();
  ASSERT_EQ(cell.configs.size(), 3U);
  store_.put({cell.configs[0], 0}, measured(0.5, 0.25));
  EXPECT_THAT(swept_searches(store_).at(0).configs, IsEmpty()) << "the others have not run";
  store_.put({cell.configs[1], 0}, measured(0.75, 0.5));
  store_.put({cell.configs[2], 0}, failed("no memory"));
  while (!sweep.lacking(store_.scores()).trials.empty()) {
    for (const Trial& trial : sweep.lacking(store_.scores()).trials) store_.put(trial, measured(0.25, 1));
  }
  const SweptSearch search = swept_searches(store_).at(0);
  EXPECT_EQ(search.sweep, "s");
  EXPECT_EQ(search.metric, "accuracy");
  EXPECT_TRUE(search.finished);
  EXPECT_THAT(search.options, ElementsAre("hidden"));
  ASSERT_EQ(search.configs.size(), 3U);
  EXPECT_THAT(search.configs[0].validation, ElementsAre(0.75, 0.25));
  EXPECT_THAT(search.configs[0].test, ElementsAre(0.5, 1));
  EXPECT_EQ(search.configs[0].first_score, 0.75);
  EXPECT_TRUE(std::isnan(search.configs[2].first_score));
  ASSERT_EQ(search.stages.size(), 2U);
  EXPECT_EQ(search.stages[0].runs, 1);
  EXPECT_THAT(search.stages[0].seconds, ElementsAre(0.5, 1, 1));  // a failure takes none here
  EXPECT_THAT(search.stages[1].seconds, ElementsAre(1.5, 2));
  EXPECT_THAT(search.stages[1].scores, ElementsAre(0.375, 0.5));
}

}  // namespace
}  // namespace qw
