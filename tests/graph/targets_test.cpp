#include "qw/graph/targets.h"

#include <cmath>

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(Targets, ClassesMayBeMissing) {
  const Targets targets = class_targets({2, -1, 0});
  EXPECT_EQ(targets.width, 3);
  EXPECT_EQ(targets.labelled(), 2);
  EXPECT_FALSE(targets.known(1));
  EXPECT_EQ(task_name(targets.task), "classification");
}

TEST(Targets, ValuesMayBeMissing) {
  const Targets targets = value_targets({1, std::nan(""), std::nan(""), std::nan("")}, {"a", "b"});
  EXPECT_EQ(targets.size(), 2);
  EXPECT_TRUE(targets.known(0));
  EXPECT_FALSE(targets.known(1));
}

TEST(Targets, Errors) {
  EXPECT_EQ(error_of([] { class_targets({0, -2}); }), "node 1 has class -2; classes count from 0");
  EXPECT_EQ(error_of([] { class_targets({0, 7}); }), "the largest class is 7, but there are only 2 nodes");
}

}  // namespace
}  // namespace qw
