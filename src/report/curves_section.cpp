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

// Whoever ranks by chance has the same precision at any recall.
Series by_chance(const std::string& name, const RankingCurves& curves) {
  const auto all = static_cast<double>(curves.positives + curves.negatives);
  const double share = static_cast<double>(curves.positives) / all;
  return {.name = name, .x = {0, 1}, .y = {share, share}, .thin = true};
}

Figure drawn(const RunRecord& record, const std::vector<RankingCurves>& curves) {
  Panel roc{.title = "ROC",
            .x_label = "share of the others that is taken for it",
            .y_label = "share of its own that is found",
            .diagonal = true};
  Panel precision{.title = "Precision and recall", .x_label = "recall", .y_label = "precision"};
  const bool of_classes = record.has_classes();
  if (curves.size() <= kMostCurves) {
    for (size_t c = 0; c < curves.size(); ++c) {
      const std::string name = record.class_name(static_cast<int64_t>(c));
      roc.series.push_back({.name = name, .x = curves[c].false_positive, .y = curves[c].true_positive});
      precision.series.push_back({.name = name, .x = curves[c].recall, .y = curves[c].precision});
      precision.series.push_back(by_chance(name, curves[c]));
    }
  } else {
    const MeanCurves mean = mean_curves(curves);
    const std::string name = fmt::format("mean of {} {}", curves.size(), of_classes ? "classes" : "labels");
    roc.series = {{.name = name, .x = mean.at, .y = mean.true_positive}};
    precision.series = {{.name = name, .x = mean.at, .y = mean.precision}};
  }
  return {
      of_classes ? "Each class against the rest" : "Each label",
      fmt::format("Test nodes ranked by probability{}. Recall is the share of a class that is found, "
                  "precision the share of what is found that is of the class. Dashed and thin: ranked by "
                  "chance. The areas below the curves stand in the table; curves have some {:.0f} points.",
                  curves.size() > kMostCurves ? ", the mean over all curves" : "", kMostPoints),
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
                   {"ROC", true},
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
