// A build without libpq says so, and one without stores at all.
#include "study/fit/shared_trials.h"
#include "study/postgres.h"

#include <gtest/gtest.h>

#include "support/support.h"

namespace qw {
namespace {

TEST(WithoutPostgres, SaysSoInOneLineWithoutThePassword) {
  EXPECT_EQ(
      test::error_of([] { open_postgres("postgresql://ada:secret@host/db"); }),
      "postgresql://ada@host/db: this qw was built without PostgreSQL (libpq); keep the results in a file");
}

TEST(WithoutStores, SaysSoInOneLine) {
  EXPECT_EQ(test::error_of([] { open_shared_trials({}, {.store = "s.db"}); }),
            "this qw was built without stores of results (QW_SWEEP=OFF): fit without one");
}

}  // namespace
}  // namespace qw
