#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/node_groups.h"
#include "report/quality_parts.h"
#include "report/sections.h"

namespace qw {
namespace {

// Of each test node: 1 where its class is right, the share of its labels that are, or its mean absolute
// error.
std::vector<double> goodness(const RunRecord& record) {
  const PredictedNodes& predicted = record.predicted;
  const Targets& targets = record.trained_on.targets;
  std::vector<double> good;
  for (size_t i = 0; i < predicted.nodes.size(); ++i) {
    if (targets.task == Task::kClassification) {
      good.push_back(predicted.predicted[i] == predicted.labels[i] ? 1 : 0);
      continue;
    }
    double sum = 0, known = 0;
    for (int64_t c = 0; c < targets.width; ++c) {
      const double truth = targets.values[predicted.nodes[i] * targets.width + c];
      if (std::isnan(truth)) continue;
      const size_t at = i * targets.width + c;
      sum += targets.task == Task::kRegression
                 ? std::fabs(predicted.value[at] - truth)
                 : static_cast<double>((predicted.probability[at] > 0.5) == (truth > 0.5));
      ++known;
    }
    good.push_back(sum / known);
  }
  return good;
}

class GroupsPart {
 public:
  explicit GroupsPart(const RunRecord& record) : record_(record), good_(goodness(record)) {
    const Task task = record.trained_on.targets.task;
    is_share_ = task != Task::kRegression;
    measure_ = task == Task::kClassification ? "share of nodes that is right"
               : task == Task::kMultiLabel   ? "share of labels that is right"
                                             : "mean absolute error";
    figure_ = {is_share_ ? "Where predictions are right" : "How large errors are, and where",
               task == Task::kClassification
                   ? "Test nodes in groups: shares with 95 % intervals (Wilson's). In brackets, how many "
                     "nodes a group "
                     "has."
                   : "Test nodes in groups: means with 95 % intervals. In brackets, how many nodes a group "
                     "has.",
               {},
               2};
    table_ = {
        "Groups of test nodes, with 95 % intervals",
        {{"by", false}, {"group", false}, {"nodes", true}, {measure_, true}, {"from", true}, {"to", true}},
        {}};
  }

  void add(const NodeGroups& groups) {
    const std::vector<GroupMean> means = group_means(groups, good_, record_.has_classes());
    Panel panel{.title = fmt::format("By {} ({})", groups.by, groups.unit),
                .x_label = measure_,
                .kind = PanelKind::kIntervals};
    Series series{.name = "test nodes"};
    for (size_t g = 0; g < means.size(); ++g) {
      GroupMean mean = means[g];
      if (mean.nodes == 0) continue;
      if (mean.low < 0) mean.low = 0;  // no share or error is below 0, whatever Student's interval is
      if (is_share_ && mean.high > 1) mean.high = 1;
      panel.categories.push_back(fmt::format("{} ({})", groups.names[g], with_thousands(mean.nodes)));
      series.y.push_back(mean.mean);
      series.spread.push_back(mean.mean - mean.low);
      series.spread_above.push_back(mean.high - mean.mean);
      for (const double end : {mean.low, mean.mean, mean.high}) {
        if (std::isfinite(end)) largest_ = std::max(largest_, end);
      }
      table_.rows.push_back({groups.by, groups.names[g], with_thousands(mean.nodes), text(mean.mean),
                             text(mean.low), text(mean.high)});
    }
    if (series.y.empty()) return;
    panel.series = {std::move(series)};
    figure_.panels.push_back(std::move(panel));
  }

  // All panels have one scale, so that they can be compared.
  void show(Page& page) {
    if (figure_.panels.empty()) return;
    for (Panel& panel : figure_.panels) panel.x_reach = {0, is_share_ ? 1 : largest_};
    page.chart(figure_);
    page.table(table_);
  }

 private:
  std::string text(double value) const {
    if (is_share_) return percent(value);
    return std::isfinite(value) ? number_text(value) : "";
  }

  const RunRecord& record_;
  std::vector<double> good_;
  bool is_share_ = true;
  double largest_ = 0;  // of all means and ends of intervals
  std::string measure_;
  Figure figure_;
  PageTable table_;
};

}  // namespace

void add_groups(Page& page, const RunRecord& record) {
  const TrainedOn& data = record.trained_on;
  const std::vector<NodeId>& nodes = record.predicted.nodes;
  if (data.graph.num_edges() == 0) return;
  GroupsPart part(record);
  part.add(group_by_degree(data.graph, nodes));
  if (record.has_classes()) part.add(group_by_homophily(data.graph, data.targets, nodes));
  part.add(group_by_distance(data.graph, record.predicted.split.train, nodes));
  part.show(page);
}

}  // namespace qw
