// Verdicts of fit_best on generated graphs where the truth is known.
#include <gtest/gtest.h>

#include <cstdlib>

#include "qw/graph/generators.h"
#include "qw/study/fit_best.h"
#include "support/support.h"

namespace qw {
namespace {

// How often verdicts may be wrong at their level; QW_SEEDS=100 looks at more graphs than a test should.
class Truth : public ::testing::Test {
 protected:
  static std::string answer(const FitBestResult& result, const std::string& question) {
    for (const FitVerdict& verdict : result.verdicts) {
      if (verdict.question == question) return verdict.answer;
    }
    return "none";
  }

  // With `homophily` 0.25 edges know nothing of four classes, with `signal` 0 features do not.
  static FitBestResult fit(int seed, double homophily, double signal, bool leak = false) {
    CsbmOptions csbm;
    csbm.nodes = 400;
    csbm.features = 12;
    csbm.classes = 4;
    csbm.degree = 8;
    csbm.homophily = homophily;
    csbm.signal = signal;
    csbm.seed = 1000 + seed;
    Dataset data = make_csbm(csbm);
    if (leak) {
      std::vector<float> rows;
      for (NodeId node = 0; node < csbm.nodes; ++node)
        rows.insert(rows.end(),
                    {static_cast<float>(node % 7), static_cast<float>(data.targets.classes[node])});
      data.features = features_from_dense(csbm.nodes, 2, rows);
      data.features.names = {"harmless", "made"};
    }
    const test::TemporaryFolder folder;
    return fit_best(data, {.trials = leak ? 3 : 40, .seed = 1 + seed}, folder.path());
  }

  int seeds() const { return seeds_; }
  void expect_mostly(int right, const char* question) const {
    EXPECT_GE(20 * right, 19 * seeds_) << question << " " << right << " of " << seeds_;
  }

 private:
  const int seeds_ = std::getenv("QW_SEEDS") == nullptr ? 1 : std::atoi(std::getenv("QW_SEEDS"));
};

TEST_F(Truth, GraphsWithoutSignal) {
  int graph = 0, features = 0;
  for (int seed = 0; seed < seeds(); ++seed) {
    const FitBestResult result = fit(seed, 0.25, 2);
    graph += answer(result, "does the graph help?") != "yes";
    features += answer(result, "do the features help?") == "yes";
  }
  expect_mostly(graph, "graph");
  expect_mostly(features, "features");
}

TEST_F(Truth, FeaturesWithoutSignal) {
  int graph = 0, features = 0;
  for (int seed = 0; seed < seeds(); ++seed) {
    const FitBestResult result = fit(seed, 0.8, 0);
    graph += answer(result, "does the graph help?") == "yes";
    features += answer(result, "do the features help?") != "yes";
  }
  expect_mostly(graph, "graph");
  expect_mostly(features, "features");
}

TEST_F(Truth, BothHaveSignal) {
  int graph = 0, features = 0;
  for (int seed = 0; seed < seeds(); ++seed) {
    const FitBestResult result = fit(seed, 0.6, 0.5);
    graph += answer(result, "does the graph help?") == "yes";
    features += answer(result, "do the features help?") == "yes";
  }
  expect_mostly(graph, "graph");
  expect_mostly(features, "features");
}

TEST_F(Truth, AFeatureThatLeaks) {
  int warned = 0;
  for (int seed = 0; seed < seeds(); ++seed) {
    const FitBestResult result = fit(seed, 0.8, 1, true);
    warned += result.warnings.size() == 1 && result.warnings[0].find("'made'") != std::string::npos;
  }
  expect_mostly(warned, "warnings");
}

}  // namespace
}  // namespace qw
