#include "qw/graph/generators.h"

#include <cmath>
#include <cstring>

#include "qw/graph/statistics.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

template <class Value>
uint64_t fingerprint(std::span<const Value> values, uint64_t hash = 1469598103934665603ull) {
  for (const Value value : values) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    hash = (hash ^ bits) * 1099511628211ull;
  }
  return hash;
}

uint64_t fingerprint(const Dataset& dataset) {
  uint64_t hash = fingerprint(dataset.graph.heads());
  hash = fingerprint(dataset.graph.tails(), hash);
  hash = fingerprint(std::span<const float>(dataset.features.dense), hash);
  return fingerprint(std::span<const int32_t>(dataset.targets.classes), hash);
}

TEST(Csbm, HasWhatWasAsked) {
  const Dataset dataset = generate("csbm:nodes=3000,degree=10,homophily=0.2,features=64,classes=5,seed=1");
  check_consistent(dataset);
  EXPECT_EQ(dataset.graph.num_nodes(), 3000);
  EXPECT_EQ(dataset.graph.num_edges(), 15000);
  EXPECT_EQ(dataset.features.columns, 64);
  EXPECT_EQ(class_counts(dataset.targets), (std::vector<int64_t>(5, 600)));
  EXPECT_EQ(intra_edge_rate(dataset.graph, dataset.targets), 0.2);
}

TEST(Csbm, FeaturesAreClassMeansPlusNoise) {
  const Dataset dataset = generate("csbm:nodes=5000,features=16,classes=2,signal=3,degree=4");
  // Averages over a class estimate its mean, of length 3, to 1/sqrt(2500) in each of 16 directions of size
  // 1/4.
  std::vector<double> sums(2 * 16, 0.0);
  double noise = 0;
  for (int64_t node = 0; node < 5000; ++node) {
    for (int k = 0; k < 16; ++k)
      sums[dataset.targets.classes[node] * 16 + k] += dataset.features.dense[node * 16 + k] / 2500;
  }
  for (int c = 0; c < 2; ++c) {
    double square = 0;
    for (int k = 0; k < 16; ++k) square += sums[c * 16 + k] * sums[c * 16 + k];
    EXPECT_NEAR(std::sqrt(square), 3.0, 0.05);
  }
  for (int64_t node = 0; node < 5000; ++node) {
    for (int k = 0; k < 16; ++k) {
      const double rest =
          dataset.features.dense[node * 16 + k] - sums[dataset.targets.classes[node] * 16 + k];
      noise += rest * rest / 5000;
    }
  }
  EXPECT_NEAR(noise, 1.0, 0.03);
}

TEST(Csbm, SameBitsForAnyNumberOfThreadsAndOnEveryPlatform) {
  const std::string spec = "csbm:nodes=20000,degree=20,homophily=0.7,features=8,classes=3,seed=9";
  uint64_t first = 0;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const uint64_t now = fingerprint(generate(spec));
    if (first == 0) first = now;
    EXPECT_EQ(now, first);
  }
  EXPECT_EQ(first, 9620784705157391413ull);  // written down once on aarch64
  EXPECT_NE(fingerprint(generate("csbm:nodes=20000,degree=20,homophily=0.7,features=8,classes=3,seed=10")),
            first);
}

TEST(Csbm, Extremes) {
  EXPECT_EQ(generate("csbm:nodes=1,degree=0,classes=1,features=0").graph.num_edges(), 0);
  EXPECT_EQ(intra_edge_rate(generate("csbm:nodes=100,degree=4,homophily=1,classes=2").graph,
                            generate("csbm:nodes=100,degree=4,homophily=1,classes=2").targets),
            1.0);
  EXPECT_EQ(generate("csbm:nodes=20,degree=5,homophily=0,classes=2").graph.num_edges(), 50);
}

TEST(Csbm, Errors) {
  EXPECT_EQ(error_of([] { generate("csbm:nodes=0"); }),
            "csbm: nodes '0' is not a whole number from 1 to 2147483646");
  EXPECT_EQ(error_of([] { generate("csbm:nodes=3,classes=5"); }),
            "csbm: 5 classes need at least as many nodes, not 3");
  EXPECT_EQ(error_of([] { generate("csbm:nodes=10,degree=8,classes=1,homophily=1"); }),
            "csbm: degree=8 and homophily=1 want 40 edges within classes, but only 45 pairs are there and at "
            "most half "
            "of them are drawn; lower the degree");
  EXPECT_EQ(
      error_of([] { generate("csbm:nodes=10,degree=2,classes=1"); }),
      "csbm: degree=2 and homophily=0.2 want 8 edges between classes, but only 0 pairs are there and at most "
      "half of them are drawn; lower the degree");
  EXPECT_EQ(error_of([] { generate("karate:nodes=3"); }),
            "karate: takes no options, but 'nodes=3' was given");
  EXPECT_EQ(error_of([] { generate("carate"); }),
            "generator 'carate' is unknown; did you mean 'karate'? known: csbm, karate");
}

TEST(Karate, IsTheClub) {
  const Dataset club = generate("karate");
  check_consistent(club);
  EXPECT_EQ(club.graph.num_nodes(), 34);
  EXPECT_EQ(club.graph.num_edges(), 78);
  EXPECT_EQ(club.targets.width, 4);
  EXPECT_EQ(connected_components(club.graph).count, 1);
  EXPECT_EQ(degree_statistics(club.graph).largest, 17);
  // Modularity of the four communities: sum over classes of (edges within)/m - (degree sum / 2m)^2 ; the best
  // possible partition reaches 0.4198.
  std::vector<double> within(4, 0.0), degree(4, 0.0);
  for (int64_t e = 0; e < 78; ++e) {
    const int32_t a = club.targets.classes[club.graph.heads()[e]];
    const int32_t b = club.targets.classes[club.graph.tails()[e]];
    within[a] += a == b;
    degree[a] += 1;
    degree[b] += 1;
  }
  double modularity = 0;
  for (int c = 0; c < 4; ++c) modularity += within[c] / 78 - degree[c] * degree[c] / (156.0 * 156.0);
  EXPECT_NEAR(modularity, 0.4198, 0.005);
  EXPECT_EQ(class_counts(club.targets), (std::vector<int64_t>{13, 12, 4, 5}));
}

}  // namespace
}  // namespace qw
