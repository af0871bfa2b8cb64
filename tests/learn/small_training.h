// A training that takes milliseconds, for tests of what trainings leave.
#pragma once

#include <gtest/gtest.h>

#include "learn/problem.h"
#include "qw/learn/run.h"

namespace qw::test {

inline TrainRequest small_request(const std::string& solver = "bregman") {
  TrainRequest request;
  request.data = {{"what", "csbm"}};
  request.model_options.hidden = 8;
  request.learn.solver = solver;
  request.learn.epochs = 8;
  request.learn.lambda = 10;
  request.seed = 5;
  request.checkpoint_every = 3;
  request.split = "random:train=0.5,val=0.25";
  request.device = test::device().str();
  return request;
}

inline Dataset small_data() { return test::small_problem("ce").data; }

inline Dataset data_with_values() {
  Dataset data = small_data();
  data.targets = test::smooth_values(data.features, 2);
  data.format = "csv";
  return data;
}

inline void expect_same_metrics(const Metrics& actual, const Metrics& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].first, expected[i].first);
    EXPECT_TRUE(same_number(actual[i].second, expected[i].second)) << actual[i].first;
  }
}

}  // namespace qw::test
