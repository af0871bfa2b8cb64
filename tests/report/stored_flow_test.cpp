#include "report/stored_flow.h"

#include "core/safetensors.h"
#include "support/support.h"

namespace qw {
namespace {

using test::edge_list;
using test::error_of;

class StoredFlowTest : public ::testing::Test {
 protected:
  StoredFlowTest() {
    Dataset dataset;
    dataset.graph = Graph::build(edge_list(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
    dataset.features.rows = 5;
    dataset.targets = class_targets({0, 1, 0, 1, 0});
    trained_on_ = remember(dataset, {{{0}, {}, {1, 2}}}, "stored");
  }

  std::filesystem::path write(const std::vector<int32_t>& heads, const std::vector<int32_t>& tails,
                              const std::vector<float>& values, int64_t columns) const {
    const auto count = static_cast<int64_t>(heads.size());
    std::filesystem::path file = folder_.path() / "flow.safetensors";
    write_safetensors(file, {{"flow", TensorType::kF32, {count, columns}, std::as_bytes(std::span(values))},
                             {"heads", TensorType::kI32, {count}, std::as_bytes(std::span(heads))},
                             {"tails", TensorType::kI32, {count}, std::as_bytes(std::span(tails))}});
    return file;
  }

  test::TemporaryFolder folder_;
  TrainedOn trained_on_;
};

TEST_F(StoredFlowTest, PathsOfAllColumnsByAmount) {
  // Heads are below tails: a flow above 0 goes down. The last edge may carry nothing.
  const StoredFlow flow = read_flow(write({0, 1, 2}, {1, 2, 3}, {-3, 0, -3, 0, -1, 0.5}, 2), trained_on_);
  EXPECT_EQ(flow.graph.num_edges(), 3);
  EXPECT_EQ(flow.columns, 2);
  const std::vector<ColumnPath> paths = largest_paths(flow, 10);
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[0].path.amount, 2);
  EXPECT_EQ(nodes_along(flow.graph, paths[0].path), (std::vector<NodeId>{0, 1, 2}));
  EXPECT_EQ(paths[1].path.amount, 1);
  EXPECT_EQ(nodes_along(flow.graph, paths[1].path), (std::vector<NodeId>{0, 1, 2, 3}));
  EXPECT_EQ(paths[2].column, 1);
  EXPECT_EQ(nodes_along(flow.graph, paths[2].path), (std::vector<NodeId>{3, 2}));
  EXPECT_EQ(largest_paths(flow, 1).size(), 1u);
}

TEST_F(StoredFlowTest, NothingMovesWithoutFlow) {
  const StoredFlow flow = read_flow(write({0, 1}, {1, 2}, {0, 0, 0, 0}, 2), trained_on_);
  EXPECT_TRUE(largest_paths(flow, 10).empty());
}

TEST_F(StoredFlowTest, OtherGraphsAreRefused) {
  const auto refused = [&](const std::filesystem::path& file) {
    EXPECT_EQ(error_of([&] { read_flow(file, trained_on_); }),
              file.string() + ": is no flow on the graph of the training");
  };
  refused(write({0, 1}, {1, 2}, {0, 0, 0, 0, 0, 0}, 3));
  refused(write({1, 0}, {2, 1}, {0, 0, 0, 0}, 2));
  EXPECT_NE(error_of([&] { read_flow(write({0}, {9}, {0, 0}, 2), trained_on_); }), "");
}

}  // namespace
}  // namespace qw
