#include "qw/graph/features.h"

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(Features, SparseByDensity) {
  std::vector<float> values(40, 0.0f);
  values[3] = 2;
  values[39] = -1;
  const Features sparse = features_from_dense(4, 10, values);
  EXPECT_TRUE(sparse.sparse);
  EXPECT_EQ(sparse.nonzeros(), 2);
  EXPECT_EQ(sparse.offsets, (std::vector<int64_t>{0, 1, 1, 1, 2}));
  EXPECT_EQ(sparse.indices, (std::vector<int32_t>{3, 9}));
  EXPECT_EQ(sparse.values, (std::vector<float>{2, -1}));

  const Features dense = features_from_dense(2, 2, {1, 0, 2, 3});
  EXPECT_FALSE(dense.sparse);
  EXPECT_EQ(dense.nonzeros(), 3);
}

TEST(Features, RowsAreSortedSummedAndCleaned) {
  const Features features = features_from_rows(20, {0, 4, 4, 6}, {5, 1, 5, 7, 2, 3}, {1, 2, 3, 0, 4, -4});
  EXPECT_TRUE(features.sparse);
  EXPECT_EQ(features.offsets, (std::vector<int64_t>{0, 2, 2, 4}));
  EXPECT_EQ(features.indices, (std::vector<int32_t>{1, 5, 2, 3}));
  EXPECT_EQ(features.values, (std::vector<float>{2, 4, 4, -4}));
}

TEST(Features, DenseRowsBecomeDense) {
  const Features features = features_from_rows(2, {0, 2, 3}, {0, 1, 1}, {1, 2, 3});
  EXPECT_FALSE(features.sparse);
  EXPECT_EQ(features.dense, (std::vector<float>{1, 2, 0, 3}));
}

TEST(Features, BothWaysAgree) {
  std::vector<float> values(300 * 7, 0.0f);
  for (size_t i = 0; i < values.size(); i += 5) values[i] = static_cast<float>(i);
  const Features whole = features_from_dense(300, 7, values);
  EXPECT_TRUE(whole.sparse);
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;
  std::vector<float> entries;
  for (int row = 0; row < 300; ++row) {
    for (int column = 0; column < 7; ++column) {
      if (values[row * 7 + column] == 0) continue;
      indices.push_back(column);
      entries.push_back(values[row * 7 + column]);
    }
    offsets.push_back(static_cast<int64_t>(indices.size()));
  }
  const Features rows = features_from_rows(7, offsets, indices, entries);
  EXPECT_EQ(whole.offsets, rows.offsets);
  EXPECT_EQ(whole.indices, rows.indices);
  EXPECT_EQ(whole.values, rows.values);
}

TEST(Features, RowNormalisation) {
  const Features dense = row_normalised(features_from_dense(3, 2, {1, 3, 0.25, 0.5, 0, 0}));
  EXPECT_EQ(dense.dense, (std::vector<float>{0.25f, 0.75f, 0.25f, 0.5f, 0, 0}));
  const Features sparse = row_normalised(features_from_rows(10, {0, 2, 3}, {0, 4, 9}, {1, 3, 0.5}));
  EXPECT_EQ(sparse.values, (std::vector<float>{0.25f, 0.75f, 0.5f}));
}

TEST(Features, Errors) {
  EXPECT_EQ(error_of([] { features_from_rows(2, {0, 1}, {2}, {1}); }), "feature column 2 is outside 0 to 1");
  EXPECT_EQ(error_of([] {
              features_from_rows(2, {0, 2}, {0}, {1});
            }),
            "sparse features are inconsistent: 1 indices, 1 values, row offsets end at 2");
  EXPECT_EQ(error_of([] {
              features_from_rows(2, {0, 1, 0, 1}, {0}, {1});
            }),
            "sparse features are inconsistent: 1 indices, 1 values, row offsets end at 1");
  EXPECT_EQ(error_of([] { features_from_rows(int64_t{1} << 40, {0}, {}, {}); }),
            "features have 0 to 2147483647 columns, not 1099511627776");
}

TEST(Features, Empty) {
  EXPECT_EQ(features_from_dense(0, 0, {}).nonzeros(), 0);
  EXPECT_EQ(features_from_rows(3, {0}, {}, {}).rows, 0);
}

}  // namespace
}  // namespace qw
