#include "data/missing_features.h"

#include "qw/graph/generators.h"
#include "support/support.h"

namespace qw {
namespace {

Dataset without_features() {
  Dataset dataset;
  dataset.name = "toy";
  dataset.graph = generate("karate").graph;
  return dataset;
}

TEST(MissingFeatures, AreMadeOfTheGraphAndSaid) {
  for (const char* how : {"auto", "degree"}) {
    Dataset dataset = without_features();
    add_missing_features(dataset, how);
    EXPECT_EQ(dataset.features.columns, 4);
    EXPECT_EQ(dataset.notes, (std::vector<std::string>{
                                 "there are no features; made from the graph: log_degree, clustering, "
                                 "core_number, neighbour_log_degree; --missing-features constant uses none "
                                 "of it"}));
    check_consistent(dataset);
  }
}

TEST(MissingFeatures, LargeGraphsGoWithoutClusteringAndAreTold) {
  Dataset dataset = without_features();
  StructureOptions options;
  options.most_edges_for_clustering = 77;
  add_missing_features(dataset, "auto", options);
  EXPECT_EQ(dataset.notes,
            (std::vector<std::string>{"there are no features; made from the graph: log_degree, core_number, "
                                      "neighbour_log_degree (clustering is left out, since there are so many "
                                      "edges); --missing-features constant uses none of it"}));
}

TEST(MissingFeatures, ByOption) {
  Dataset constant = without_features();
  add_missing_features(constant, "constant");
  EXPECT_EQ(constant.features.dense, std::vector<float>(34, 1.0f));
  EXPECT_TRUE(constant.notes.empty()) << "it was asked for";
  Dataset none = without_features();
  add_missing_features(none, "none");
  EXPECT_EQ(none.features.columns, 0);
}

TEST(MissingFeatures, DataWithFeaturesKeepThem) {
  Dataset karate = generate("karate");
  for (const char* how : {"auto", "none"}) add_missing_features(karate, how);
  EXPECT_EQ(karate.features.columns, 34);
  for (const std::string how : {"degree", "constant"}) {
    EXPECT_EQ(test::error_of([&] { add_missing_features(karate, how); }),
              "--missing-features " + how + " is for data without features; 'karate' has 34 columns of them");
  }
}

}  // namespace
}  // namespace qw
