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

TEST(Targets, OneHotOfClasses) {
  const Targets values = one_hot(class_targets({2, -1, 0}, {"a", "b", "c"}));
  EXPECT_EQ(values.task, Task::kRegression);
  EXPECT_EQ(values.width, 3);
  EXPECT_EQ(values.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values.size(), 3);
  EXPECT_EQ(values.labelled(), 2);
  const std::vector<double> first(values.values.begin(), values.values.begin() + 3);
  const std::vector<double> last(values.values.begin() + 6, values.values.end());
  EXPECT_EQ(first, (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(last, (std::vector<double>{1, 0, 0}));
  for (int c = 0; c < 3; ++c) EXPECT_TRUE(std::isnan(values.values[3 + c])) << c;
}

TEST(Targets, LabelsThatOccurAreTheClasses) {
  const Targets gaps = label_targets({6, 1, -1, 2, 1, 2019, 2, 6, 6});
  EXPECT_EQ(gaps.width, 4);
  EXPECT_EQ(gaps.classes, (std::vector<int32_t>{2, 0, -1, 1, 0, 3, 1, 2, 2}));
  EXPECT_EQ(gaps.names, (std::vector<std::string>{"1", "2", "6", "2019"}));
  const Targets counted = label_targets({1, 0, 2});
  EXPECT_EQ(counted.classes, (std::vector<int32_t>{1, 0, 2}));
  EXPECT_TRUE(counted.names.empty()) << "0, 1, 2 need no names";
  EXPECT_EQ(label_targets({2, 0}, {"a", "b", "c"}).names, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(label_targets({3, 1, 2}).width, 3) << "counted from 1, as many as nodes";
  EXPECT_EQ(label_targets({-1, -1}).width, 0);
  EXPECT_EQ(error_of([] { label_targets({0, -2}); }), "node 1 has class -2; classes count from 0");
  EXPECT_EQ(error_of([] { label_targets({0, 1}, {"a"}); }), "1 names of classes for 2 classes");
  EXPECT_EQ(error_of([] {
              label_targets({54487, 31200, 8});
            }),
            "the labels are 3 different numbers up to 54487 on 3 nodes, too many to be classes; "
            "as values they can be learned from a CSV (--task regression)");
}

TEST(Targets, Errors) {
  EXPECT_EQ(error_of([] {
              one_hot(value_targets({1, 2}));
            }),
            "one-hot values are made of classes; the task is regression");
  EXPECT_EQ(error_of([] { class_targets({0, -2}); }), "node 1 has class -2; classes count from 0");
  EXPECT_EQ(error_of([] { class_targets({0, 7}); }), "the largest class is 7, but there are only 2 nodes");
}

}  // namespace
}  // namespace qw
