#include "qw/learn/fit.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include "learn/problem.h"
#include "support/torch/golden_models.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

// Two rings of twenty, one red and one blue; every other node keeps its colour to itself.
Dataset two_rings() {
  EdgeList edges;
  edges.num_nodes = 40;
  std::vector<int32_t> classes;
  std::vector<float> features;
  for (NodeId node = 0; node < 40; ++node) {
    const NodeId ring = node / 20;
    edges.tails.push_back(node);
    edges.heads.push_back(ring * 20 + (node + 1) % 20);
    classes.push_back(node % 2 == 0 ? ring : -1);
    features.push_back(ring == 0 ? 1.0f : 0.1f * static_cast<float>(node % 3));
    features.push_back(1.0f);
  }
  Dataset data;
  data.graph = Graph::build(edges);
  data.features = features_from_dense(40, 2, features);
  data.targets = class_targets(classes, {"red", "blue"});
  return data;
}

FitOptions options_for(const std::string& solver) {
  FitOptions options;
  options.device = test::device().str();
  options.learn.solver = solver;
  options.learn.epochs = 60;
  options.runs = 2;
  return options;
}

TEST(Fit, PredictsInMemoryAndFromTheFolderItSaves) {
  const Dataset data = two_rings();
  const test::TemporaryFolder folder;
  NodePredictions predicted;
  {
    const Fitted fitted = fit(data, options_for("proximal"));
    ASSERT_EQ(fitted.metrics().size(), 2u);
    EXPECT_GT(fitted.metrics()[0].train.front().second, 0.9);
    predicted = fitted.predict(data);
    EXPECT_EQ(fitted.scores(data).network.sizes(), (std::vector<int64_t>{40, 2}));
    EXPECT_EQ(fitted.flow(data, 1).sizes(), (std::vector<int64_t>{data.graph.num_edges(), 2}));
    fitted.save(folder.path() / "saved");
    EXPECT_EQ(test::error_of([&] { fitted.save(folder.path() / "saved"); }),
              (folder.path() / "saved").string() + " is there already, and not empty");
  }
  ASSERT_EQ(predicted.values.size(), 80u);
  for (NodeId node = 0; node < 40; ++node) {
    EXPECT_EQ(predicted.classes[node], node / 20) << node;
    EXPECT_NEAR(predicted.values[2 * node] + predicted.values[2 * node + 1], 1, 1e-9);
  }
  EXPECT_EQ(predicted.names, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(load_fitted(folder.path() / "saved").predict(data).values, predicted.values);
}

TEST(Fit, LeavesNothingBehindAndStopsWhenTold) {
  const auto temporary = [] {
    int64_t count = 0;
    for (const auto& each : fs::directory_iterator(fs::temp_directory_path()))
      count += each.path().filename().string().starts_with("qw-fit-");
    return count;
  };
  const test::TemporaryFolder own;
  const test::ScopedEnvironment scoped("TMPDIR", own.path().c_str());
  fit(two_rings(), options_for("ce"));
  FitOptions stopping = options_for("ce");
  stopping.progress = [](const TrainProgress& progress) { return progress.record.epoch < 3; };
  EXPECT_THROW(fit(two_rings(), stopping), TrainingStopped);
  EXPECT_EQ(temporary(), 0);
}

TEST(Fit, SaysWhatDoesNotFit) {
  const Dataset data = two_rings();
  const Fitted fitted = fit(data, options_for("ce"));
  Dataset narrow = data;
  narrow.features = features_from_dense(40, 1, std::vector<float>(40, 1.0f));
  EXPECT_THAT(test::error_of([&] { fitted.predict(narrow); }),
              testing::HasSubstr("has 1 features; the training had 2"));
  const test::TemporaryFolder folder;
  EXPECT_EQ(test::error_of([&] { load_fitted(folder.path()); }),
            folder.path().string() + " holds no training that says what it was trained on");
}

}  // namespace
}  // namespace qw
