#include "cli/learn/train_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/learning_line.h"
#include "core/progress.h"

namespace qw::cli {
namespace {

constexpr int64_t kPlainLineEvery = 100;  // epochs
constexpr std::chrono::milliseconds kBetweenDraws{100};
constexpr int64_t kMostKept = 100;  // runs whose values stay when they are done

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Runs often stop early.
std::string at_most(double seconds, const std::string& words) {
  return seconds < 1 ? "" : words + time_text(seconds);
}

}  // namespace

TrainingReport::TrainingReport(const MetricInfo& metric, bool may_draw)
    : metric_(metric), on_(!quiet()), draws_(may_draw && can_draw_live()), unicode_(shows_unicode()) {}

void TrainingReport::show(const TrainProgress& progress) {
  if (!on_) return;
  note(progress);
  if (!draws_) {
    if ((progress.record.epoch + 1) % kPlainLineEvery == 0) fmt::print(stderr, "{}\n", plain_line(progress));
    return;
  }
  const auto now = Clock::now();
  if (now - last_ < kBetweenDraws) return;
  last_ = now;
  block_.draw(lines(progress.runs, progress.epochs));
}

void TrainingReport::note(const TrainProgress& progress) {
  Run& run = runs_[progress.run];
  // Where no node validates, the loss is all there is to see.
  if (run.values.empty()) run.by_loss = std::isnan(progress.history.front().val_metric);
  const bool higher_is_better = metric_.higher_is_better && !run.by_loss;
  for (const EpochRecord& record : progress.history.subspan(run.values.size())) {
    const double value = run.by_loss ? record.loss : record.val_metric;
    if (run.values.empty() || (higher_is_better ? value > run.best : value < run.best)) run.best = value;
    run.values.push_back(value);
  }
  run.loss = progress.record.loss;
  run.is_done = progress.is_last;
  ++run.epochs_here;
  if (run.is_done && progress.runs > kMostKept) run.values = {};
}

std::string TrainingReport::plain_line(const TrainProgress& progress) const {
  const std::string left = at_most(seconds_left(progress.runs, progress.epochs), ", at most ");
  return fmt::format("run {} of {}, epoch {}: loss {:.4f}, validation {:.4f}, {} {:.4f}{}", progress.run + 1,
                     progress.runs, progress.record.epoch + 1, progress.record.loss, progress.record.val_loss,
                     metric_.name, progress.record.val_metric, left.empty() ? "" : left + " left");
}

// Runs that are done give way where not all have room.
std::vector<std::string> TrainingReport::lines(int64_t runs, int64_t epochs) const {
  const TerminalSize terminal = terminal_size();
  const int width = terminal.columns - 1;  // some terminals wrap at the last column
  const auto done =
      std::count_if(runs_.begin(), runs_.end(), [](const auto& each) { return each.second.is_done; });
  const size_t room = static_cast<size_t>(std::max(1, terminal.rows - 3));
  const bool all_fit = runs_.size() <= room;
  std::vector<std::string> shown;
  for (const auto& [number, run] : runs_) {
    const bool is_shown = !run.is_done || (all_fit && !run.values.empty());
    if (is_shown && shown.size() < room) shown.push_back(line_of(number, run, runs, epochs, width));
  }
  if (runs == 1) return shown;
  const std::string left = at_most(seconds_left(runs, epochs), ", up to ");
  shown.push_back(fmt::format("{} of {} runs done{}", done, runs, left.empty() ? "" : left + " left"));
  return shown;
}

std::string TrainingReport::line_of(int64_t number, const Run& run, int64_t runs, int64_t epochs,
                                    int width) const {
  const auto epoch = static_cast<int64_t>(run.values.size());
  const double each = seconds_between(run.begin, Clock::now()) / static_cast<double>(run.epochs_here);
  LearningLine line;
  if (runs > 1) line.title = fmt::format("run {} of {}", number + 1, runs);
  line.epoch = epoch;
  line.epochs = epochs;
  line.measure = run.by_loss ? "loss" : metric_.name;
  line.values = run.values;
  line.best = run.best;
  line.loss = run.loss;
  line.rest = run.is_done ? "done" : at_most(each * static_cast<double>(epochs - epoch), "up to ");
  return learning_line(line, width, unicode_);
}

double TrainingReport::seconds_left(int64_t runs, int64_t epochs) const {
  int64_t here = 0;
  int64_t left = (runs - static_cast<int64_t>(runs_.size())) * epochs;
  for (const auto& [number, run] : runs_) {
    here += run.epochs_here;
    if (!run.is_done) left += epochs - static_cast<int64_t>(run.values.size());
  }
  return seconds_between(start_, Clock::now()) / static_cast<double>(here) * static_cast<double>(left);
}

}  // namespace qw::cli
