#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections.h"

namespace qw {
namespace {

using Epochs = std::map<std::string, std::vector<double>>;

constexpr size_t kMostPoints = 400;  // of a line

// The mean over the runs that got that far, thinned.
Series mean_of(const std::vector<Epochs>& runs, const std::string& key, const std::string& name) {
  size_t longest = 0;
  for (const Epochs& run : runs) {
    const auto found = run.find(key);
    if (found != run.end()) longest = std::max(longest, found->second.size());
  }
  Series series{.name = name};
  const size_t stride = 1 + longest / kMostPoints;
  for (size_t epoch = 0; epoch < longest; epoch += stride) {
    double sum = 0, count = 0;
    for (const Epochs& run : runs) {
      const auto found = run.find(key);
      if (found == run.end() || epoch >= found->second.size() || !std::isfinite(found->second[epoch]))
        continue;
      sum += found->second[epoch];
      ++count;
    }
    series.x.push_back(static_cast<double>(epoch));
    series.y.push_back(count > 0 ? sum / count : std::nan(""));
  }
  return series;
}

}  // namespace

void add_training(Page& page, const RunRecord& record) {
  if (record.fit || record.epochs.empty() || record.epochs.front().empty()) return;
  page.section("Training");
  const std::string metric = record.summary.value("metric", "metric");
  Panel loss{.title = "Loss", .x_label = "epoch", .y_label = "loss"};
  loss.series = {mean_of(record.epochs, "loss", "train"), mean_of(record.epochs, "val_loss", "validation")};
  Panel quality{.title = metric, .x_label = "epoch", .y_label = metric};
  for (const auto& [key, name] :
       {std::pair{"train", "train"}, std::pair{"val", "validation"}, std::pair{"test", "test"}})
    quality.series.push_back(mean_of(record.epochs, key, name));
  const size_t runs = record.trained_on.splits.size();
  page.chart({"By epoch",
              runs == 1
                  ? std::string("The nodes that train, validate and test.")
                  : fmt::format("Means over {} runs; a run that stopped early counts as far as it came.",
                                record.epochs.size()),
              {loss, quality},
              2});
  PageTable table{"Runs", {{"run", true}, {"epochs", true}, {"chosen epoch", true}}, {}};
  for (const char* part : {"train", "val", "test"})
    table.columns.push_back({fmt::format("{} {}", part, metric), true});
  for (size_t run = 0; run < runs; ++run) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {fmt::format("{}", run), record.summary.at("epochs").at(run).dump(),
           record.summary.at("best_epoch").at(run).dump()};
    for (const char* part : {"train", "val", "test"}) {
      const auto& values = record.summary.at(part);
      const bool has = values.contains(metric) && values.at(metric).at("runs").at(run).is_number();
      row.push_back(has ? metric_text(metric, values.at(metric).at("runs").at(run).get<double>()) : "");
    }
  }
  page.table(table);
}

}  // namespace qw
