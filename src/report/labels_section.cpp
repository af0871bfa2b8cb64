#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/metrics/metrics.h"
#include "report/quality_parts.h"

namespace qw {
namespace {

constexpr int64_t kMostRows = 200;
constexpr int64_t kMostBars = 20;
constexpr const char* kWhat =
    "Test nodes. Precision is the share of the predicted labels that are right, recall the share of the "
    "labels "
    "that are found, and F1 their harmonic mean.";

// Of test nodes whose label is known.
struct LabelCounts {
  int64_t there = 0, predicted = 0, both = 0, known = 0;

  double precision() const { return predicted == 0 ? std::nan("") : ratio(both, predicted); }
  double recall() const { return there == 0 ? std::nan("") : ratio(both, there); }
  double f1() const { return there + predicted == 0 ? std::nan("") : ratio(2 * both, there + predicted); }

 private:
  static double ratio(int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  }
};

LabelCounts count(const RunRecord& record, int64_t c) {
  const PredictedNodes& predicted = record.predicted;
  const Targets& targets = record.trained_on.targets;
  LabelCounts counts;
  for (size_t i = 0; i < predicted.nodes.size(); ++i) {
    const double truth = targets.values[predicted.nodes[i] * targets.width + c];
    if (std::isnan(truth)) continue;
    const bool there = truth > 0.5, said = predicted.probability[i * targets.width + c] > 0.5;
    ++counts.known;
    counts.there += there;
    counts.predicted += said;
    counts.both += there && said;
  }
  return counts;
}

}  // namespace

void add_labels(Page& page, const RunRecord& record) {
  if (record.predicted.probability.empty()) return;
  const int64_t width = record.trained_on.targets.width;
  PageTable table{"Labels, test nodes",
                  {{"label", false},
                   {"nodes that have it", true},
                   {"predicted", true},
                   {"precision", true},
                   {"recall", true},
                   {"F1", true}},
                  {}};
  Panel panel{.x_label = "share", .y_label = "label", .kind = PanelKind::kIntervals, .x_reach = {0, 1}};
  Series precision{.name = "precision"}, recall{.name = "recall"}, f1{.name = "F1"};
  for (int64_t c = 0; c < std::min(width, kMostRows); ++c) {
    const LabelCounts counts = count(record, c);
    table.rows.push_back({record.class_name(c), with_thousands(counts.there),
                          with_thousands(counts.predicted), percent(counts.precision()),
                          percent(counts.recall()), percent(counts.f1())});
    if (c >= kMostBars) continue;
    panel.categories.push_back(record.class_name(c));
    precision.y.push_back(counts.precision());
    recall.y.push_back(counts.recall());
    f1.y.push_back(counts.f1());
  }
  panel.series = {std::move(precision), std::move(recall), std::move(f1)};
  page.chart({"How well each label is found",
              width <= kMostBars ? std::string(kWhat)
                                 : fmt::format("{} The first {} of {} labels.", kWhat, kMostBars, width),
              {panel},
              1});
  page.table(table);
  if (width > kMostRows) page.paragraph(fmt::format("The first {} of {} labels.", kMostRows, width));
}

}  // namespace qw
