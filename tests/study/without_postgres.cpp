// A build without libpq says so.
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

}  // namespace
}  // namespace qw
