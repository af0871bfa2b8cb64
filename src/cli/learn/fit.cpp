#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "cli/interrupt.h"
#include "cli/learn/commands.h"
#include "cli/learn/data_at.h"
#include "cli/learn/report_nodes.h"
#include "cli/learn/write_report.h"
#include "cli/program.h"
#include "cli/table.h"
#include "core/file.h"
#include "core/live_block.h"
#include "core/progress.h"
#include "core/text.h"
#include "learn/learn_options.h"
#include "qw/core/error.h"
#include "qw/learn/run.h"
#include "qw/study/fit_best.h"
#include "study/fit/fit_scaling.h"

namespace qw::cli {
namespace {

struct FitArguments {
  DataArguments data;
  FitBestOptions options;
  std::string time = "5m";
  std::string out;
  std::string report;
  std::vector<std::string> data_at;
};

// "90", "90s", "5m", "1.5h".
double parse_time(const std::string& text) {
  const std::string unit(text.empty() ? "" : text.substr(text.find_last_of("0123456789.") + 1));
  const std::optional<double> number = parse_number(text.substr(0, text.size() - unit.size()));
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (!number || factor == 0 || !(*number > 0) || !std::isfinite(*number))
    fail_usage(fmt::format("qw fit: --time {} is no time; write 90s, 5m or 2h", in_quotes(text)));
  return *number * factor;
}

// The system counts in hundredths; loading LibTorch is part of the time that a person waits.
double seconds_since_start() {
  const std::string stat = read_file("/proc/self/stat"), uptime = read_file("/proc/uptime");
  const std::vector<std::string> fields = split(stat.substr(stat.rfind(')') + 2), ' ');
  constexpr size_t kStart = 19;  // after the name
  const std::optional<double> began = fields.size() > kStart ? parse_number(fields[kStart]) : std::nullopt;
  const std::optional<double> now = parse_number(uptime.substr(0, uptime.find(' ')));
  return began && now ? std::max(0.0, *now - *began / static_cast<double>(sysconf(_SC_CLK_TCK))) : 0.0;
}

// On a terminal one line that changes; else a line now and then.
class FitReport {
 public:
  explicit FitReport(std::string metric) : metric_(std::move(metric)) {}

  void show(const FitProgress& progress) {
    using std::chrono::steady_clock;
    const auto now = steady_clock::now();
    const auto pause = draws_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000);
    if (quiet() || progress.trials == 0 || now - last_ < pause) return;
    last_ = now;
    const auto trials = [](int64_t count) {
      return fmt::format("{} {}", count, count == 1 ? "training" : "trainings");
    };
    const std::string left =
        progress.trials_left >= 0 ? trials(progress.trials_left) : time_text(progress.seconds_left);
    const std::string line = fmt::format("{}, {} left; best {} {:.4f}: {}", trials(progress.trials), left,
                                         metric_, progress.score, progress.best);
    if (draws_) {
      block_.draw({line});
    } else {
      say(line);
    }
  }

 private:
  std::string metric_;
  bool draws_ = can_draw_live();
  LiveBlock block_;
  std::chrono::steady_clock::time_point last_;
};

std::string verdict_text(const FitVerdict& verdict) {
  const bool points = verdict.measure == "accuracy";
  const double scale = points ? 100 : 1;
  const double difference = scale * verdict.difference;
  const double shown = std::fabs(difference) < (points ? 0.05 : 0.0005) ? 0 : difference;  // no "-0.0"
  return fmt::format("{} {}: {:+.{}f} +- {:.{}f} {} ({} beside {})\n", verdict.question, verdict.answer,
                     shown, points ? 1 : 3, scale * verdict.half_width, points ? 1 : 3,
                     points ? "points of accuracy" : "of r2", verdict.candidate, verdict.against);
}

std::string fit_text(const Dataset& dataset, const FitBestResult& result, const std::string& out) {
  const std::string metric = result.validation.empty() ? "score" : result.validation.front().first;
  std::string text =
      fmt::format("{}: {} trainings in {}, {}\n", dataset.name, result.trials, time_text(result.seconds),
                  result.folds == 1 ? "one fold" : fmt::format("{} folds", result.folds));
  TextTable table({"", "folds", metric, "weight"});
  constexpr size_t kShown = 12;
  size_t shown = 0;
  for (const RankedCandidate& row : result.candidates) {
    if (row.weight == 0 && shown >= kShown) continue;
    ++shown;
    table.add({row.name, fmt::format("{}", row.folds), fmt::format("{:.4f}", row.score),
               row.weight > 0 ? fmt::format("{:.2f}", row.weight) : "-"});
  }
  text += table.text();
  TextTable metrics({"", "validation", "test", "test, best alone"});
  for (size_t k = 0; k < result.validation.size(); ++k) {
    const auto cell = [&](const Metrics& of) {
      return k < of.size() ? fmt::format("{:.4f}", of[k].second) : "-";
    };
    metrics.add(
        {result.validation[k].first, cell(result.validation), cell(result.test), cell(result.single_test)});
  }
  text += metrics.text();
  if (std::isfinite(result.certainty.coverage)) {
    text += fmt::format(
        "sets for {:g} % of the nodes (--coverage) hold the truth of {:.1f} % of the test nodes\n",
        100 * result.coverage_asked, 100 * result.certainty.coverage);
  }
  for (const FitVerdict& verdict : result.verdicts) text += verdict_text(verdict);
  if (!result.learning_curve.empty()) {
    std::vector<std::string> points;
    for (const LearningPoint& point : result.learning_curve)
      points.push_back(fmt::format("{:.4f} from {}", point.score, point.labels));
    text += fmt::format("{} by training labels: {}\n", metric, join(points, ", "));
  } else {
    text += "would more labels help? There was no time to ask: --time or --trials give it more\n";
  }
  return text + fmt::format("predictions for all nodes: {}/predictions.csv\n", out);
}

// The data where this machine has it; its name in a store is what was written.
DataArguments data_here(const FitArguments& arguments, FitBestOptions& options) {
  if (arguments.options.store.empty() && !arguments.data_at.empty())
    fail_usage("qw fit: --data-at is for workers that share a --store: name the files themselves");
  const DataAt data_at("qw fit", arguments.data_at);
  options.data_in_store = data_as_written(arguments.data);
  data_at.check({options.data_in_store});
  return data_at.here(arguments.data);
}

void fit_now(FitArguments& arguments, const GlobalOptions& global) {
  prepare_libtorch();
  if (arguments.out.empty()) fail_usage("qw fit: --out DIR says where the result goes");
  refuse_two_splits("qw fit", arguments.data.load, arguments.options.split);
  const std::string page = report_file("qw fit", arguments.report, arguments.out);
  FitBestOptions& options = arguments.options;
  options.seconds = parse_time(arguments.time);
  const DataArguments data = data_here(arguments, options);
  const Dataset dataset = load(data);
  if (options.scale_features == "auto") {
    const FeatureScaling scaling = scaling_for_fit(dataset, "auto");
    if (scaling.kind() != "none") say(scaling.summary());
  }
  options.data = data_json(data);
  options.command = command_line();
  options.spent = seconds_since_start();
  const Interrupt interrupt;
  FitBestResult result;
  try {
    FitReport report(find_metric(dataset.targets.task, options.metric).name);
    options.progress = [&](const FitProgress& progress) {
      report.show(progress);
      return !Interrupt::happened();
    };
    result = fit_best(dataset, options, arguments.out);
  } catch (const TrainingStopped&) {
    say(fmt::format("stopped; what was tried is in {}; the same command goes on", arguments.out));
    throw CLI::RuntimeError(kInterruptedExit);
  }
  for (const std::string& warning : result.warnings) say("warning: " + warning);
  if (!page.empty()) write_file_atomically(page, explained_report(arguments.out));
  if (global.json) return print_json(to_json(result));
  print_text(fit_text(dataset, result, arguments.out));
}

}  // namespace

void add_fit_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<FitArguments>();
  CLI::App* command = app.add_subcommand("fit", "the best prediction for a graph in the time you have");
  add_data_options(*command, arguments->data);
  FitBestOptions& options = arguments->options;
  FieldTable table("qw fit");
  table.add("time", arguments->time, "TIME", "for everything: 90s, 5m, 2h");
  table.add("trials", options.trials, {0, 1e6},
            "so many trainings instead of a time: the same result every time; 0: by time");
  table.add("out", arguments->out, "DIR",
            "keep models, predictions and the race here; interrupted, the same command goes on");
  table.add(
      "store", options.store, "STORE",
      "share the trainings with every qw fit of the same options, each with an --out of its own: a file "
      "(SQLite), or postgresql://host/database for many machines");
  table.add("data_at", arguments->data_at, "NAME=PATH", kDataAtHelp);
  std::vector<std::string> metrics;
  LearnOptions any;
  const FieldTable of_learning = learn_fields(any);
  for (const Field& field : of_learning.fields()) {
    if (field.name == "metric") metrics = field.choices;
  }
  table.add_choice("metric", options.metric, metrics,
                   "what counts; auto: accuracy, macro_f1 of several labels, r2 of values");
  table.add(
      "split", options.split, "SPEC",
      "who is held out for test (see qw data split); all other labelled nodes train and validate by turns");
  table.add("seed", options.seed, {0, 9e18}, "of the split, the folds and the trainings");
  table.add("device", options.device, "NAME", "where to learn: cpu, cuda or cuda:N");
  table.add_choice("scale_features", options.scale_features, {"auto", "rows", "columns", "none"},
                   "as in qw train; auto makes no exception of the paper's graphs");
  table.add("coverage", options.coverage, {0.01, 0.999},
            "share of the nodes whose truth the sets (or intervals) of predictions.csv should hold");
  add_options(*command, table);
  add_report_option(*command, arguments->report);
  command->callback([arguments, &global] { fit_now(*arguments, global); });
}

}  // namespace qw::cli
