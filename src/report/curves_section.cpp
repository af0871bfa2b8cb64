#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/core/parallel.h"
#include "report/curves.h"
#include "report/quality_parts.h"

namespace qw {
namespace {

constexpr size_t kMostCurves = 6;    // of a chart; of more classes their mean is drawn
constexpr double kMostPoints = 150;  // of a curve
constexpr size_t kMostRows = 200;

// One for each class or label.
std::vector<RankingCurves> curves_of(const RunRecord& record) {
  const PredictedNodes& predicted = record.predicted;
  const Targets& targets = record.trained_on.targets;
  std::vector<RankingCurves> curves(targets.width);
  parallel_tasks(static_cast<int>(targets.width), [&](int c) {
    std::vector<Ranked> nodes;
    for (size_t i = 0; i < predicted.nodes.size(); ++i) {
      const NodeId node = predicted.nodes[i];
      const double truth = targets.task == Task::kClassification
                               ? static_cast<double>(targets.classes[node] == c)
                               : targets.values[node * targets.width + c];
      if (!std::isnan(truth))
        nodes.push_back({predicted.probability[i * targets.width + c], truth > 0.5 ? 1.0 : -1.0});
    }
    curves[c] = ranking_curves(std::move(nodes), kMostPoints);
  });
  return curves;
}

// Without nodes of both kinds there is no curve.
bool exists(const RankingCurves& curves) { return !curves.recall.empty(); }

// Whoever ranks by chance has the same precision at any recall.
double share_of(const RankingCurves& curves) {
  return static_cast<double>(curves.positives) / static_cast<double>(curves.positives + curves.negatives);
}

Series by_chance(const std::string& name, double share) {
  return {.name = name, .x = {0, 1}, .y = {share, share}, .thin = true};
}

// Adds the mean of those curves that there are.
void add_mean(const std::vector<RankingCurves>& curves, const char* things, Panel& roc, Panel& precision) {
  const MeanCurves mean = mean_curves(curves);
  double count = 0, share = 0;
  for (const RankingCurves& each : curves) {
    if (!exists(each)) continue;
    ++count;
    share += share_of(each);
  }
  const std::string name = fmt::format("mean of {} {}", count, things);
  roc.series = {{.name = name, .x = mean.at, .y = mean.true_positive}};
  precision.series = {{.name = name, .x = mean.at, .y = mean.precision}};
  if (count > 0) precision.series.push_back(by_chance(name, share / count));
}

Figure drawn(const RunRecord& record, const std::vector<RankingCurves>& curves) {
  Panel roc{.title = "ROC",
            .x_label = "false positive rate",
            .y_label = "true positive rate (recall)",
            .diagonal = true,
            .x_reach = {0, 1}};
  Panel precision{
      .title = "Precision and recall", .x_label = "recall", .y_label = "precision", .y_reach = {0, 1}};
  const bool of_classes = record.has_classes();
  if (curves.size() <= kMostCurves) {
    for (size_t c = 0; c < curves.size(); ++c) {
      if (!exists(curves[c])) continue;
      const std::string name = record.class_name(static_cast<int64_t>(c));
      roc.series.push_back({.name = name, .x = curves[c].false_positive, .y = curves[c].true_positive});
      precision.series.push_back({.name = name, .x = curves[c].recall, .y = curves[c].precision});
      precision.series.push_back(by_chance(name, share_of(curves[c])));
    }
  } else {
    add_mean(curves, of_classes ? "classes" : "labels", roc, precision);
  }
  return {of_classes ? "Each class against the rest" : "Each label",
          fmt::format(
              "Test nodes ranked by probability{0}. Recall is the share of {1} that is found, precision the "
              "share of what is found that is of {1}. Dashed and thin: ranked by chance. The areas below "
              "the curves stand in the table; curves have some {2:.0f} points.",
              curves.size() > kMostCurves ? ", the mean over all curves" : "",
              of_classes ? "the class" : "the label", kMostPoints),
          {roc, precision},
          2};
}

}  // namespace

void add_curves(Page& page, const RunRecord& record) {
  const PredictedNodes& predicted = record.predicted;
  const bool unknown = std::any_of(predicted.probability.begin(), predicted.probability.end(),
                                   [](double value) { return std::isnan(value); });
  if (predicted.probability.empty() || unknown) return;
  const std::vector<RankingCurves> curves = curves_of(record);
  page.chart(drawn(record, curves));
  PageTable table{"Areas below the curves, test nodes",
                  {{record.has_classes() ? "class" : "label", false},
                   {"nodes", true},
                   {"others", true},
                   {"ROC AUC", true},
                   {"average precision", true}},
                  {}};
  for (size_t c = 0; c < std::min(kMostRows, curves.size()); ++c) {
    table.rows.push_back({record.class_name(static_cast<int64_t>(c)), with_thousands(curves[c].positives),
                          with_thousands(curves[c].negatives), percent(curves[c].roc_auc),
                          percent(curves[c].average_precision)});
  }
  page.table(table);
  if (curves.size() > kMostRows) page.paragraph(fmt::format("The first {} of {}.", kMostRows, curves.size()));
}

}  // namespace qw
