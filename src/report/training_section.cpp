#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections.h"

namespace qw {
namespace {

using Epochs = std::map<std::string, std::vector<double>>;

constexpr size_t kMostPoints = 400;       // of a mean
constexpr size_t kMostThinPoints = 1000;  // of the lines of all runs together
constexpr size_t kLeastThinPoints = 40;   // of one of them

const std::vector<double>* values_of(const Epochs& run, const std::string& key) {
  const auto found = run.find(key);
  return found == run.end() ? nullptr : &found->second;
}

size_t longest_of(const std::vector<Epochs>& runs, const std::string& key) {
  size_t longest = 0;
  for (const Epochs& run : runs) {
    if (const auto* values = values_of(run, key)) longest = std::max(longest, values->size());
  }
  return longest;
}

// The mean over the runs as far as all came, thinned.
Series mean_of(const std::vector<Epochs>& runs, const std::string& key, const std::string& name) {
  size_t shortest = longest_of(runs, key);
  for (const Epochs& run : runs) {
    if (const auto* values = values_of(run, key)) shortest = std::min(shortest, values->size());
  }
  Series series{.name = name};
  const size_t stride = 1 + shortest / kMostPoints;
  for (size_t epoch = 0; epoch < shortest; epoch += stride) {
    double sum = 0, count = 0;
    for (const Epochs& run : runs) {
      const auto* values = values_of(run, key);
      if (values == nullptr || !std::isfinite((*values)[epoch])) continue;
      sum += (*values)[epoch];
      ++count;
    }
    series.x.push_back(static_cast<double>(epoch));
    series.y.push_back(count > 0 ? sum / count : std::nan(""));
  }
  return series;
}

// The mean of a quantity and, of several runs, each of them.
void add_lines(Panel& panel, const std::vector<Epochs>& runs, const std::string& key,
               const std::string& name) {
  panel.series.push_back(mean_of(runs, key, name));
  if (runs.size() < 2) return;
  const size_t points = std::max(kLeastThinPoints, kMostThinPoints / runs.size());
  for (const Epochs& run : runs) {
    const auto* values = values_of(run, key);
    if (values == nullptr) continue;
    Series line{.name = name, .thin = true};
    for (size_t epoch = 0; epoch < values->size(); epoch += 1 + values->size() / points) {
      line.x.push_back(static_cast<double>(epoch));
      line.y.push_back((*values)[epoch]);
    }
    panel.series.push_back(std::move(line));
  }
}

// A mark for each run at the epoch that was chosen; gaps keep them apart.
void add_chosen(Panel& panel, const RunRecord& record, const std::string& key) {
  Series marks{.name = "chosen epoch"};
  for (size_t run = 0; run < record.epochs.size(); ++run) {
    const auto* values = values_of(record.epochs[run], key);
    const auto& chosen = record.summary.at("best_epoch").at(run);
    if (values == nullptr || !chosen.is_number_integer()) continue;
    const auto epoch = chosen.get<int64_t>();
    if (epoch < 0 || epoch >= static_cast<int64_t>(values->size())) continue;
    marks.x.insert(marks.x.end(), {static_cast<double>(epoch), std::nan("")});
    marks.y.insert(marks.y.end(), {(*values)[epoch], std::nan("")});
  }
  if (!marks.x.empty()) panel.series.push_back(std::move(marks));
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Figure by_epoch(const RunRecord& record, const std::string& metric) {
  Panel loss{.title = "Loss", .x_label = "epoch", .y_label = "loss"};
  add_lines(loss, record.epochs, "loss", "train");
  add_lines(loss, record.epochs, "val_loss", "validation");
  add_chosen(loss, record, "val_loss");
  Panel quality{.title = capitalised(metric), .x_label = "epoch", .y_label = metric};
  for (const auto& [key, name] :
       {std::pair{"train", "train"}, std::pair{"val", "validation"}, std::pair{"test", "test"}})
    add_lines(quality, record.epochs, key, name);
  add_chosen(quality, record, "val");
  const size_t runs = record.trained_on.splits.size(), drawn = record.epochs.size();
  std::string text = runs == 1
                         ? "The nodes that train, validate and test; a mark at the epoch that was chosen."
                         : fmt::format(
                               "Thick: the mean over {} runs{}, as far as all came. Thin: each run. Marks: "
                               "the epoch that was chosen in each.",
                               drawn, drawn < runs ? fmt::format(" (the first of {})", runs) : "");
  if (longest_of(record.epochs, "loss") > kMostPoints) text += " Of long trainings not every epoch is drawn.";
  return {"By epoch", text, {quality, loss}, 2};
}

std::string duration(double milliseconds) {
  return milliseconds < 1000 ? fmt::format("{:.3g} ms", milliseconds)
                             : fmt::format("{:.3g} s", milliseconds / 1000);
}

std::string how_it_ended(const RunRecord& record) {
  const auto& learn = record.summary.at("config").at("learn");
  const auto most = learn.at("epochs").get<int64_t>(), patience = learn.value("patience", int64_t{0});
  int64_t early = 0;
  const auto& epochs = record.summary.at("epochs");
  for (const auto& count : epochs) early += count.get<int64_t>() < most;
  std::string text;
  if (patience == 0) {
    text = fmt::format("Without early stopping: {} epochs.", most);
  } else if (epochs.size() == 1) {
    text = fmt::format("Early stopping (patience {}) {}.", patience,
                       early == 0 ? fmt::format("did not end the run before epoch {}", most)
                                  : fmt::format("ended the run after {} epochs", epochs.front().dump()));
  } else {
    text = fmt::format("Early stopping (patience {}) ended {} of {} runs before epoch {}.", patience,
                       early == 0 ? "none" : fmt::format("{}", early), epochs.size(), most);
  }
  const auto& time = record.summary.at("step_ms");
  if (time.is_number()) text += fmt::format(" A step took {} (median).", duration(time.get<double>()));
  return text;
}

}  // namespace

void add_training(Page& page, const RunRecord& record) {
  if (record.fit || record.epochs.empty() || record.epochs.front().empty()) return;
  page.section("Training");
  const std::string metric = record.summary.value("metric", "metric");
  page.paragraph(how_it_ended(record));
  page.chart(by_epoch(record, metric));
  PageTable table{"Runs", {{"run", true}, {"epochs", true}, {"chosen epoch", true}}, {}};
  for (const char* part : {"train", "validation", "test"})
    table.columns.push_back({fmt::format("{} {}", part, metric), true});
  for (size_t run = 0; run < record.trained_on.splits.size(); ++run) {
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
