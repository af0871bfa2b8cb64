#include <fmt/format.h>

#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/work_report.h"
#include "core/file.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/report/chart.h"
#include "qw/study/experiment.h"

namespace qw::cli {
namespace {

struct ReproduceArguments {
  std::vector<std::string> what;
  ExperimentOptions options;
  std::string device = "cpu";
  std::string out = "reproduce";
  std::string store;
  std::string presets;
  bool png = false;
  bool show = false;
};

std::vector<std::string> asked(const std::vector<std::string>& what) {
  std::vector<std::string> names;
  for (const std::string& name : what) {
    if (name == "all") return experiment_names();
    names.push_back(name);
  }
  return names;
}

void write_figure(const std::filesystem::path& path, const std::string& svg, bool png) {
  if (svg.empty()) return;
  write_file_atomically(path, svg);
  if (png) write_png(path, std::filesystem::path(path).replace_extension(".png"));
}

void reproduce(const ReproduceArguments& arguments, const GlobalOptions& global) {
  use_threads_in_libtorch();
  ExperimentOptions options = arguments.options;
  if (!arguments.presets.empty()) options.presets = read_presets(arguments.presets);
  std::vector<Experiment> experiments;
  for (const std::string& name : asked(arguments.what)) experiments.push_back(make_experiment(name, options));
  const std::filesystem::path folder = arguments.out;
  std::filesystem::create_directories(folder);
  ResultStore store(arguments.store.empty() ? folder / "results.db" : std::filesystem::path(arguments.store));
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const Experiment& experiment : experiments) {
    if (!arguments.show) {
      WorkReport report(experiment.name);
      Work work;
      work.lacking = [&](const TrialScores& scores) { return lacking(experiment, store, scores); };
      work.load = [](const nlohmann::ordered_json& data) { return load(data_from_json(data, "reproduce")); };
      work.device = arguments.device;
      work.one_at_a_time = experiment.one_at_a_time;
      work.progress = [&](const WorkProgress& progress) { report.show(progress); };
      do_work(store, work);
    }
    const std::vector<MeasuredCell> cells = measure(experiment, store);
    const std::filesystem::path stem = folder / experiment.name;
    const std::string markdown = to_markdown(experiment, cells);
    const nlohmann::ordered_json document = to_json(experiment, cells);
    write_file_atomically(stem.string() + ".md", markdown);
    write_file_atomically(stem.string() + ".csv", to_csv(cells));
    write_file_atomically(stem.string() + ".json", document.dump(1) + "\n");
    write_figure(stem.string() + ".svg", to_svg(experiment, cells), arguments.png);
    documents.push_back(document);
    if (!global.json) print_text(markdown + "\n");
  }
  if (global.json) print_json(documents);
}

}  // namespace

void add_reproduce_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* command =
      app.add_subcommand("reproduce", "the paper's tables and figures, ours beside the paper's");
  command->add_option("what", arguments->what, join(experiment_names(), ", ") + ", or all")
      ->type_name("WHAT")
      ->required();
  FieldTable table("qw reproduce");
  table.add("models", arguments->options.models, "NAMES", "only these models");
  table.add("datasets", arguments->options.datasets, "NAMES", "only these data sets");
  table.add("runs", arguments->options.runs, {1, 1e6}, "runs of every cell, with the published seeds");
  table.add("device", arguments->device, "NAME", "where to learn: cpu, cuda or cuda:N");
  table.add("out", arguments->out, "DIR",
            "where tables (Markdown, CSV, JSON), figures (SVG) and results.db go");
  table.add("store", arguments->store, "FILE", "results in another file (SQLite), say that of a sweep");
  table.add("presets", arguments->presets, "FILE",
            "settings that qw sweep presets wrote, instead of qw's own");
  table.add("arxiv", arguments->options.arxiv, "DIR", "OGB's folder of ogbn-arxiv, for table3");
  table.add("png", arguments->png, "figures as PNG, too (by rsvg-convert)");
  table.add("show", arguments->show, "train nothing; show what is there");
  add_options(*command, table);
  command->footer("What is done stays done: repeat the command to go on, or run it several times at once.");
  command->callback([arguments, &global] { reproduce(*arguments, global); });
}

}  // namespace qw::cli
