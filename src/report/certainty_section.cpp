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
  Panel panel{.title = "Reliability",
              .x_label = stated,
              .y_label = of_classes ? "share that is right" : "share that is there",
              .spread_style = SpreadStyle::kWhiskers,
              .diagonal = true,
              .x_reach = {0, 1}};
  Series line{.name = counted};
  Panel sizes{.title = "Confidence", .x_label = stated, .y_label = counted, .kind = PanelKind::kHistogram};
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
  page.chart(
      {"Calibration",
       fmt::format("{} Bins of fewer than {:.0f} {} have no point.",
                   of_classes ? "On the dashed line a confidence of 0.8 is right in 8 of 10 cases; below it, "
                                "predictions are too sure of themselves."
                              : "On the dashed line a label of probability 0.8 is there in 8 of 10 cases.",
                   kFewestInBin, of_classes ? "nodes" : "labels"),
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
  if (coverage.at("asked").is_number() && coverage.at("test").at("runs").at(0).is_number())
    held = fmt::format(
        fmt::runtime(of_classes ? " They are made to hold the true class of {} of nodes, and hold that of {} "
                                  "of the test nodes."
                                : " They are made to be right about {} of the labels of nodes, and are about "
                                  "{} of those of the test nodes."),
        percent(coverage.at("asked").get<double>()),
        percent(coverage.at("test").at("runs").at(0).get<double>()));
  page.chart({"Conformal sets",
              fmt::format("{}; {:.2f} on average.{}",
                          of_classes ? "How many classes a set has: few where the prediction is sure"
                                     : "How many labels a set leaves open: few where the prediction is sure",
                          mean, held),
              {panel},
              1});
}

}  // namespace qw
