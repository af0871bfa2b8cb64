// A training that takes milliseconds, for tests of what trainings leave.
#pragma once

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

}  // namespace qw::test
