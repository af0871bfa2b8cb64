#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/node_groups.h"
#include "report/quality_parts.h"

namespace qw {
namespace {

constexpr int kBins = 10;
constexpr double kFewestInBin = 5;  // nodes: a share of fewer says nothing
constexpr double kLargestSet = 20;  // all that are larger share a bar

// What is said with which probability, and whether it is so.
struct Claims {
  std::vector<double> probability;
  std::vector<char> true_of;
};

Claims claims_of(const RunRecord& record) {
  const PredictedNodes& predicted = record.predicted;
  const Targets& targets = record.trained_on.targets;
  Claims claims;
  if (targets.task == Task::kClassification) {
    claims.probability = predicted.confidence;
    for (size_t i = 0; i < predicted.labels.size(); ++i)
      claims.true_of.push_back(predicted.predicted[i] == predicted.labels[i]);
    return claims;
  }
  for (size_t i = 0; i < predicted.nodes.size() && !predicted.probability.empty(); ++i) {
    for (int64_t c = 0; c < targets.width; ++c) {
      const double truth = targets.values[predicted.nodes[i] * targets.width + c];
      if (std::isnan(truth)) continue;
      claims.probability.push_back(predicted.probability[i * targets.width + c]);
      claims.true_of.push_back(truth > 0.5);
    }
  }
  return claims;
}

}  // namespace

void add_reliability(Page& page, const RunRecord& record) {
  const Claims claims = claims_of(record);
  if (claims.probability.empty()) return;
  std::vector<double> sum(kBins, 0.0), right(kBins, 0.0), count(kBins, 0.0);
  for (size_t i = 0; i < claims.probability.size(); ++i) {
    if (std::isnan(claims.probability[i])) continue;
    const int bin = std::clamp(static_cast<int>(claims.probability[i] * kBins), 0, kBins - 1);
    sum[bin] += claims.probability[i];
    right[bin] += claims.true_of[i];
    ++count[bin];
  }
  const bool of_classes = record.has_classes();
  const std::string stated = of_classes ? "confidence" : "probability of a label";
  const std::string counted = of_classes ? "test nodes" : "labels of test nodes";
  Panel panel{
      .title = of_classes ? "Are they right as often as they say?" : "Are labels there as often as that?",
      .x_label = stated,
      .y_label = of_classes ? "share that is right" : "share that is there",
      .spread_style = SpreadStyle::kWhiskers,
      .diagonal = true};
  Series line{.name = counted};
  Panel sizes{
      .title = "How sure are they?", .x_label = stated, .y_label = counted, .kind = PanelKind::kHistogram};
  Series bars{.name = counted};
  bars.x.push_back(0);
  for (int bin = 0; bin < kBins; ++bin) {
    bars.x.push_back((bin + 1.0) / kBins);
    bars.y.push_back(count[bin]);
    if (count[bin] < kFewestInBin) continue;
    const GroupMean share = wilson(static_cast<int64_t>(count[bin]), right[bin] / count[bin]);
    line.x.push_back(sum[bin] / count[bin]);
    line.y.push_back(share.mean);
    line.spread.push_back(share.mean - share.low);
    line.spread_above.push_back(share.high - share.mean);
  }
  panel.series = {line};
  sizes.series = {bars};
  page.chart({"Confidence",
              of_classes ? "On the dashed line a confidence of 0.8 is right in 8 of 10 cases; below it, "
                           "predictions are too sure of themselves."
                         : "On the dashed line a label of probability 0.8 is there in 8 of 10 cases.",
              {panel, sizes},
              2});
}

void add_sets(Page& page, const RunRecord& record) {
  const std::vector<double>& sizes = record.predicted.set_size;
  if (sizes.empty()) return;
  const double largest = std::min(kLargestSet, *std::max_element(sizes.begin(), sizes.end()));
  std::vector<double> count(static_cast<size_t>(largest) + 1, 0.0);
  double mean = 0;
  for (const double size : sizes) {
    ++count[static_cast<size_t>(std::min(size, kLargestSet))];
    mean += size / static_cast<double>(sizes.size());
  }
  const bool of_classes = record.has_classes();
  Panel panel{.x_label = of_classes ? "classes in the set" : "labels that the set leaves open",
              .y_label = "test nodes",
              .kind = PanelKind::kBars};
  for (size_t size = 0; size < count.size(); ++size)
    panel.categories.push_back(
        fmt::format("{}{}", size, static_cast<double>(size) == kLargestSet ? " or more" : ""));
  panel.series = {{.name = "test nodes", .y = count}};
  const auto& coverage = record.summary.at("coverage");
  std::string held;
  if (coverage.at("asked").is_number() && coverage.at("test").at("mean").is_number())
    held = fmt::format(" They are made to hold {} of {}, and hold {} of those of the test nodes.",
                       percent(coverage.at("asked").get<double>()),
                       of_classes ? "the classes" : "the labels that are there and of those that are not",
                       percent(coverage.at("test").at("mean").get<double>()));
  page.chart({"Sets that hold the truth",
              fmt::format("Small sets are sure ones; {:.2f} {} on average.{}", mean,
                          of_classes ? "classes" : "labels are left open", held),
              {panel},
              1});
}

}  // namespace qw
