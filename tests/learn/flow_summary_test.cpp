// What a summary says of a flow whose values are known.
#include <numeric>

#include "learn/problem.h"

#include "support/on_device.h"

namespace qw {
namespace {

constexpr int64_t kMiddle = FlowHistogram::kBins / 2;

// Of a flow of two columns along a path.
FlowSummary summary_of(const std::vector<double>& values) {
  const auto edges = static_cast<NodeId>(values.size() / 2);
  EdgeList path;
  path.num_nodes = edges + 1;
  for (NodeId node = 0; node < edges; ++node) {
    path.heads.push_back(node);
    path.tails.push_back(node + 1);
  }
  const Graph graph = Graph::build(path, {});
  Flow flow(graph, {}, 2, {}, test::options(at::kDouble));
  flow.set(at::tensor(values, at::kDouble).reshape({edges, 2}).to(test::device()), 0.25);
  return flow.summary();
}

int64_t total(const FlowHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), int64_t{0});
}

TEST(FlowSummary, HistogramCountsEqualBinsAndTheRestOutside) {
  // Middles of the bins over [-1, 1], bin b b + 1 times; then the limits, and one value beyond in 2000.
  std::vector<double> values;
  const double width = 2.0 / FlowHistogram::kBins;
  for (int64_t bin = 0; bin < FlowHistogram::kBins; ++bin) {
    values.insert(values.end(), bin + 1, -1.0 + width * (static_cast<double>(bin) + 0.5));
  }
  values.insert(values.end(), 10, 1.0);
  values.insert(values.end(), 10, -1.0);
  const auto inside = static_cast<int64_t>(values.size());
  values.insert(values.end(), {50.0, -70.0, 90.0});
  const FlowSummary summary = summary_of(values);
  ASSERT_EQ(summary.entries, inside + 3);
  EXPECT_EQ(summary.histogram.limit, 1.0);
  ASSERT_EQ(summary.histogram.counts.size(), 121u);
  for (int64_t bin = 1; bin < 120; ++bin) EXPECT_EQ(summary.histogram.counts[bin], bin + 1) << bin;
  EXPECT_EQ(summary.histogram.counts[0], 1 + 10 + 1);
  EXPECT_EQ(summary.histogram.counts[120], 121 + 10 + 2);
  EXPECT_EQ(summary.quantiles.back(), 90.0);
  EXPECT_EQ(summary.violation, 0.25);
}

TEST(FlowSummary, HistogramOfAFlowThatIsNearlyZeroReachesItsLargestValue) {
  std::vector<double> values(4000, 0.0);
  values[17] = -3.0;
  values[18] = 1.0;
  const FlowHistogram histogram = summary_of(values).histogram;
  EXPECT_EQ(histogram.limit, 3.0);
  EXPECT_EQ(histogram.counts[0], 1);
  EXPECT_EQ(histogram.counts[kMiddle], 3998);
  EXPECT_EQ(total(histogram), 4000);
}

TEST(FlowSummary, HistogramOfNoFlowIsAllInTheMiddle) {
  const FlowHistogram zeros = summary_of(std::vector<double>(10, 0.0)).histogram;
  EXPECT_EQ(zeros.limit, 0.0);
  EXPECT_EQ(zeros.counts[kMiddle], 10);
  EXPECT_EQ(total(zeros), 10);
  const FlowHistogram nothing = summary_of({}).histogram;
  EXPECT_EQ(nothing.limit, 0.0);
  EXPECT_EQ(total(nothing), 0);
}

}  // namespace
}  // namespace qw
