#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cli/learn/commands.h"
#include "cli/learn/data_at.h"
#include "cli/learn/work_report.h"
#include "cli/learn/write_report.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "learn/device.h"
#include "paper/experiment.h"
#include "qw/core/error.h"
#include "qw/report/chart.h"

namespace qw::cli {
namespace {

struct ReproduceArguments {
  std::vector<std::string> what;
  ExperimentOptions options;
  std::string device = "cpu";
  std::string out = "reproduce";
  std::string store;
  std::string presets;
  std::vector<std::string> data_at;
  std::string report;
  bool png = false;
  bool show = false;
};

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Refuses names that no experiment has.
void check_names(const char* option, const std::vector<std::string>& given,
                 const std::set<std::string>& known) {
  for (const std::string& name : given) {
    if (known.contains(name)) continue;
    fail_usage(fmt::format("qw reproduce: {} {}", option, unknown_name(name, {known.begin(), known.end()})));
  }
}

void check_names(const ExperimentOptions& options) {
  std::set<std::string> models, datasets;
  for (const std::string& name : experiment_names()) {
    for (const ExperimentCell& cell : make_experiment(name, {}).cells) {
      models.insert(cell.request.model);
      datasets.insert(cell.column);
    }
  }
  check_names("--models", options.models, models);
  check_names("--datasets", options.datasets, datasets);
}

// Those that were asked for; of "all", those that have cells left.
std::vector<Experiment> experiments_of(const ReproduceArguments& arguments) {
  ExperimentOptions options = arguments.options;
  if (!arguments.presets.empty()) options.presets = read_presets(arguments.presets);
  check_names(options);
  const bool all = is_one_of(arguments.what, "all");
  std::vector<Experiment> experiments;
  for (const std::string& name : all ? experiment_names() : arguments.what) {
    Experiment experiment = make_experiment(name, options);
    if (!experiment.cells.empty()) {
      experiments.push_back(std::move(experiment));
    } else if (!all) {
      fail_usage(fmt::format("qw reproduce: {} has none of these models and data sets", name));
    }
  }
  return experiments;
}

// Times are those of one device, and so have a file of their own.
std::string store_of(const ReproduceArguments& arguments, const Experiment& experiment) {
  const std::filesystem::path folder = arguments.out;
  if (experiment.one_at_a_time) return folder / fmt::format("times-{}.db", arguments.device);
  return arguments.store.empty() ? (folder / "results.db").string() : arguments.store;
}

void check_store(const ReproduceArguments& arguments, const std::vector<Experiment>& experiments) {
  const bool all_are_times =
      std::all_of(experiments.begin(), experiments.end(),
                  [](const Experiment& experiment) { return experiment.one_at_a_time; });
  if (arguments.store.empty() || !all_are_times) return;
  fail_usage(
      fmt::format("qw reproduce: {} has times, which are this device's own and stay in {}: leave out --store",
                  experiments.front().name, store_of(arguments, experiments.front())));
}

void check_data(const DataAt& data_at, const std::vector<Experiment>& experiments) {
  std::vector<nlohmann::ordered_json> data;
  for (const Experiment& experiment : experiments) {
    for (const ExperimentCell& cell : experiment.cells) data.push_back(cell.request.data);
  }
  data_at.check(data);
}

void train_lacking(const ReproduceArguments& arguments, const Experiment& experiment, const DataAt& data_at,
                   ResultStore& store) {
  WorkReport report(experiment.name);
  StudyWork work;
  work.lacking = [&](const TrialScores& scores) { return lacking(experiment, store, scores); };
  work.load = [&](const nlohmann::ordered_json& data) { return data_at.load(data); };
  work.device = arguments.device;
  work.one_at_a_time = experiment.one_at_a_time;
  work.progress = [&](const WorkProgress& progress) { report.show(progress); };
  do_work(store, work);
}

void write_figure(const std::filesystem::path& path, const std::string& svg, bool png) {
  if (svg.empty()) return;
  write_file_atomically(path, svg);
  if (png) write_png(path, std::filesystem::path(path).replace_extension(".png"));
}

void reproduce(const ReproduceArguments& arguments, const GlobalOptions& global) {
  prepare_libtorch();
  if (!arguments.show) device_named(arguments.device);  // refused before anything is made
  const std::string page = report_file("qw reproduce", arguments.report, arguments.out);
  const std::vector<Experiment> experiments = experiments_of(arguments);
  check_store(arguments, experiments);
  if (arguments.show && !arguments.data_at.empty())
    fail_usage("qw reproduce: --show trains nothing: leave out --data-at");
  const DataAt data_at("qw reproduce", arguments.data_at);
  check_data(data_at, experiments);
  const std::filesystem::path folder = arguments.out;
  std::filesystem::create_directories(folder);
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  std::vector<MeasuredExperiment> all;
  for (const Experiment& experiment : experiments) {
    ResultStore store(store_of(arguments, experiment));
    if (!arguments.show) train_lacking(arguments, experiment, data_at, store);
    all.push_back({&experiment, measure(experiment, store)});
    const std::vector<MeasuredCell>& cells = all.back().cells;
    const std::string stem = (folder / experiment.name).string();
    const std::string markdown = to_markdown(experiment, cells);
    documents.push_back(to_json(experiment, cells));
    write_file_atomically(stem + ".md", markdown);
    write_file_atomically(stem + ".csv", to_csv(cells));
    write_file_atomically(stem + ".json", json_text(documents.back(), 1) + "\n");
    write_figure(stem + ".svg", to_svg(experiment, cells), arguments.png);
    if (!global.json) print_text(markdown + "\n");
  }
  if (!page.empty()) write_file_atomically(page, to_html(all));
  if (global.json) print_json(documents);
}

}  // namespace

void add_reproduce_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command =
      app.add_subcommand("reproduce", "the paper's tables and figures, ours beside the paper's");
  command->add_option("what", arguments->what, join(experiment_names(), ", ") + ", or all")
      ->type_name("WHAT")
      ->required()
      ->check(not_empty());
  FieldTable table("qw reproduce");
  table.add("models", arguments->options.models, "NAMES", "only these models: gcn,gat");
  table.add("datasets", arguments->options.datasets, "NAMES", "only these data sets: cora,texas");
  table.add("runs", arguments->options.runs, {1, 1e6}, "runs of every cell, with the published seeds");
  table.add("device", arguments->device, "NAME", "where to learn: cpu, cuda or cuda:N");
  table.add("out", arguments->out, "DIR",
            "where tables (Markdown, CSV, JSON), figures (SVG) and results.db go");
  table.add("store", arguments->store, "STORE",
            "results in another file (SQLite), say that of a sweep, or in postgresql://host/database");
  table.add("data_at", arguments->data_at, "NAME=PATH", kDataAtHelp);
  table.add("presets", arguments->presets, "FILE",
            "settings that qw sweep presets wrote, instead of qw's own");
  table.add("arxiv", arguments->options.arxiv, "DIR", "OGB's folder of ogbn-arxiv, for table3");
  table.add("png", arguments->png, "figures as PNG, too (by rsvg-convert)");
  table.add("show", arguments->show, "train nothing; show what is there");
  add_options(*command, table);
  add_report_option(*command, arguments->report);
  command->footer("What is done stays done: repeat the command to go on, or run it several times at once.");
  command->callback([arguments, &global] { reproduce(*arguments, global); });
}

}  // namespace qw::cli
