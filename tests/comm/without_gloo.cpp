// What a build without Gloo says: compiled with what such a build has in its place.
#include "comm/comm.h"
#include "comm/launch.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(WithoutGloo, AProcessIsAlone) { EXPECT_EQ(join({}, {}, 1)->size(), 1); }

TEST(WithoutGloo, SeveralAreRefused) {
  Place place;
  place.size = 2;
  EXPECT_EQ(error_of([&] { join(place, {}, 1); }),
            "this qw works with one process, not 2: it was built without Gloo (libgloo-dev)");
  EXPECT_EQ(error_of([] { run_processes(2); }),
            "this qw works with one process, not 2: it was built without Gloo (libgloo-dev)");
}

}  // namespace
}  // namespace qw
