// Small studies: requests, data and results made by hand.
#pragma once

#include <nlohmann/json.hpp>

#include "qw/graph/generators.h"
#include "qw/study/store.h"
#include "support/support.h"

namespace qw::test {

using Json = nlohmann::ordered_json;

inline TrainRequest tiny_request(double lr = 0.01) {
  TrainRequest request;
  request.data = "tiny";
  request.split = "random:train=0.5,val=0.25";
  request.model_options.hidden = 8;
  request.learn.solver = "ce";
  request.learn.epochs = 6;
  request.learn.lr = lr;
  return request;
}

inline Dataset tiny_data() {
  CsbmOptions csbm;
  csbm.nodes = 45;
  csbm.degree = 4;
  csbm.features = 6;
  csbm.classes = 3;
  return make_csbm(csbm);
}

inline StoredResult measured(double val, double test) {
  StoredResult stored;
  stored.result.seed = 7;
  stored.result.epochs = 5;
  stored.result.best_epoch = 3;
  stored.result.train = {{"accuracy", 1.0}};
  stored.result.val = {{"accuracy", val}, {"macro_f1", 0.25}};
  stored.result.test = {{"accuracy", test}, {"macro_f1", 0.125}};
  stored.seconds = 0.5;
  stored.device = "cpu";
  return stored;
}

inline StoredResult failed(const std::string& error) {
  StoredResult stored;
  stored.error = error;
  return stored;
}

// The first `runs` runs of each config, config by config.
inline std::vector<Trial> all_trials(const std::vector<int64_t>& configs, int64_t runs) {
  std::vector<Trial> trials;
  for (const int64_t config : configs) {
    for (int64_t run = 0; run < runs; ++run) trials.push_back({config, run});
  }
  return trials;
}

}  // namespace qw::test
