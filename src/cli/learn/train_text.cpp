#include "cli/learn/train_text.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"
#include "core/text.h"

namespace qw::cli {
namespace {

// Shares with four decimals; errors of large values with five digits.
std::string readable(double value) {
  return std::abs(value) < 100 ? fmt::format("{:.4f}", value) : fmt::format("{:.5g}", value);
}

std::string spread_text(const std::vector<RunResult>& results, const Metrics& (*part_of)(const RunResult&),
                        size_t metric, bool with_std = false) {
  std::vector<double> values;
  for (const RunResult& result : results) {
    if (part_of(result).empty()) return "-";
    values.push_back(part_of(result)[metric].second);
  }
  const Summary summary = summarise(values);
  if (results.size() == 1) return readable(summary.mean);
  return fmt::format("{} +- {}", readable(summary.mean), readable(summary.ci95)) +
         (with_std ? fmt::format(" (std {})", readable(summary.std)) : "");
}

std::string split_text(const Dataset& dataset, const TrainRequest& request, const RunResult& first) {
  const SplitSizes& sizes = first.split;
  std::string text = fmt::format("split {}: {} train, {} val, {} test{}\n",
                                 split_of_run(dataset, request.split, first.run).spec, sizes.all.train,
                                 sizes.all.val, sizes.all.test, request.split == "auto" ? " (--split)" : "");
  constexpr size_t kMostShown = 20;
  if (sizes.classes.empty() || sizes.classes.size() > kMostShown) return text;
  TextTable table({"class", "train", "val", "test"});
  for (const SplitSizes::Row& row : sizes.classes) {
    table.add({printable(row.name), fmt::format("{}", row.train), fmt::format("{}", row.val),
               fmt::format("{}", row.test)});
  }
  return text + table.text() + "\n";
}

std::string metrics_text(const Dataset& dataset, const std::vector<RunResult>& results) {
  const auto train = [](const RunResult& each) -> const Metrics& { return each.train; };
  const auto val = [](const RunResult& each) -> const Metrics& { return each.val; };
  const auto test = [](const RunResult& each) -> const Metrics& { return each.test; };
  const auto trivial = [](const RunResult& each) -> const Metrics& { return each.baselines.trivial.test; };
  const auto linear = [](const RunResult& each) -> const Metrics& { return each.baselines.linear.test; };
  TextTable table(
      {"", "train", "val", "test", "test of " + trivial_name(dataset.targets.task), "test of linear"});
  for (size_t m = 0; m < results.front().test.size(); ++m) {
    table.add({results.front().test[m].first, spread_text(results, train, m), spread_text(results, val, m),
               spread_text(results, test, m, true), spread_text(results, trivial, m),
               spread_text(results, linear, m)});
  }
  return table.text();
}

std::string certainty_text(const Dataset& dataset, const TrainRequest& request,
                           const std::vector<RunResult>& results) {
  std::vector<double> coverage, size;
  for (const RunResult& result : results) {
    coverage.push_back(result.certainty.coverage);
    size.push_back(result.certainty.size);
  }
  if (results.front().split.all.val == 0) {
    return "there are no validation nodes: the last epoch counts, nothing is calibrated, and sets hold "
           "everything "
           "(--split)\n";
  }
  const double reached = summarise(coverage).mean, mean_size = summarise(size).mean;
  if (!std::isfinite(reached) || !std::isfinite(mean_size)) return "";
  const bool values = dataset.targets.task == Task::kRegression;
  return fmt::format(
      "{} for {:g} % of the nodes (--coverage) hold the truth of {:.1f} % of the test nodes; mean {} "
      "{:.4g}\n",
      values ? "intervals" : "sets", 100 * request.coverage, 100 * reached, values ? "width" : "size",
      mean_size);
}

}  // namespace

std::string training_text(const Dataset& dataset, const TrainRequest& request,
                          const std::vector<RunResult>& results, const std::string& out) {
  std::string text = fmt::format("{}, {}, {}: {} run{}\n", dataset.name, request.model, request.learn.solver,
                                 results.size(), results.size() == 1 ? "" : "s");
  text += split_text(dataset, request, results.front()) + metrics_text(dataset, results);
  if (results.size() == 1 && !results.front().classes.empty()) {
    TextTable classes({"class", "test nodes", "precision", "recall", "F1"});
    for (const ClassRow& row : results.front().classes) {
      const auto share = [&](double value) { return row.nodes == 0 ? "-" : fmt::format("{:.3f}", value); };
      classes.add({printable(row.name), fmt::format("{}", row.nodes), share(row.precision), share(row.recall),
                   share(row.f1)});
    }
    text += "\n" + classes.text();
  }
  if (results.size() > 1) text += "+- is the half width of a 95 % bootstrap interval of the mean\n";
  if (request.baselines == "auto" && results.front().baselines.linear.test.empty()) {
    text += "linear was left out: it would take more than a tenth of the training's time (--baselines all)\n";
  }
  text += certainty_text(dataset, request, results);
  if (!out.empty()) text += fmt::format("predictions: {}/run-0/predictions.csv\n", out);
  return text;
}

}  // namespace qw::cli
