#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/interrupt.h"
#include "cli/learn/commands.h"
#include "cli/learn/dry_run.h"
#include "cli/learn/open_run.h"
#include "cli/learn/options_text.h"
#include "cli/learn/processes.h"
#include "cli/learn/refused_options.h"
#include "cli/learn/report_nodes.h"
#include "cli/learn/train_progress.h"
#include "cli/learn/train_text.h"
#include "cli/learn/training_log.h"
#include "cli/learn/write_report.h"
#include "cli/program.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/text.h"
#include "data/load_fields.h"
#include "distributed/train_partition.h"
#include "learn/learn_options.h"
#include "learn/run_files.h"
#include "nn/model_options.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/learn/memory_plan.h"
#include "qw/learn/run.h"
#include "qw/study/presets.h"

namespace qw::cli {
namespace {

struct TrainArguments {
  DataArguments data;
  TrainRequest request;
  std::string out;
  std::string log_dir;
  std::string resume;
  std::string preset;
  std::string presets;
  std::string report;
  bool dry_run = false;
  std::string machine;
  ProcessOptions processes;
};

constexpr const char* kAutomatic = "auto";

// The preset's options, but for those that were written on this command line.
void use_preset(const CLI::App& command, const Preset& preset, TrainRequest& request) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (const auto& [field, value] : preset.options.items()) {
    if (!is_written(command, field)) options[field] = value;
  }
  set_options(request, options, fmt::format("preset {}", preset.name));
  say(fmt::format("preset {}: {} ({})", preset.name, options_text(preset.options), preset.found_by));
}

std::vector<Preset> known_presets(const TrainArguments& arguments) {
  return arguments.presets.empty() ? presets() : read_presets(arguments.presets);
}

// A preset is for its data, unless other data was given.
void use_named_preset(const CLI::App& command, TrainArguments& arguments) {
  const std::vector<Preset> known = known_presets(arguments);
  const Preset& preset = find_preset(arguments.preset, known);
  if (arguments.data.what.empty() && arguments.data.load.edges.empty()) {
    arguments.data = data_from_json(preset.data, fmt::format("preset {}", preset.name));
  }
  use_preset(command, preset, arguments.request);
}

// The request of the training whose flow is fitted again, with what was written on this command line instead.
TrainRequest refit_request(const CLI::App& command, TrainArguments& arguments) {
  refuse_beside_refit(command);
  const std::string folder = std::filesystem::absolute(arguments.request.refit_flow).string();
  nlohmann::ordered_json document = to_json(read_request(folder));
  const nlohmann::ordered_json given = to_json(arguments.request);
  for (const char* section : {"request", "learn"}) {
    for (const auto& [field, value] : given.at(section).items()) {
      if (is_written(command, field)) document[section][field] = value;
    }
  }
  TrainRequest request = request_from_json(document, folder + "/config.json");
  request.refit_flow = folder;
  if (command.count("--solver") == 0 && request.learn.solver != "exact") request.learn.solver = "proximal";
  return request;
}

// Values are learned worse than by a linear model with what suits classes: dropout, and a network that sees a
// node's own features only through its neighbours.
void use_value_defaults(const CLI::App& command, const Dataset& dataset, TrainRequest& request) {
  if (dataset.targets.task != Task::kRegression || !dataset.targets.classes.empty()) return;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  std::vector<std::string> chosen;
  const Preset suited = automatic_preset(dataset, {}, "");
  for (const auto& [field, value] : suited.options.items()) {
    if (is_written(command, field)) continue;
    options[field] = value;
    chosen.push_back(
        fmt::format("--{} {}", field, value.is_string() ? value.get<std::string>() : json_text(value)));
  }
  if (chosen.empty()) return;
  set_options(request, options, "qw train");
  say(fmt::format("values to learn: {} unless told otherwise", join(chosen, " ")));
}

void say_what_is_guessed(const Dataset& dataset, const TrainRequest& request) {
  const FeatureScaling scaling(request.scale_features, dataset);
  if (request.scale_features == "auto" && scaling.kind() != "none") say(scaling.summary());
  const RunSplit chosen = split_of_run(dataset, request.split, 0);
  const bool stored = chosen.spec.starts_with("stored");
  const auto splits = static_cast<int64_t>(dataset.splits.size());
  if (stored && request.runs > splits && request.split.find("index=") == std::string::npos) {
    say(splits == 1
            ? "all runs have the one stored split; --split stratified draws one for each"
            : fmt::format("{} runs take turns at {} stored splits; --split stratified draws one for each",
                          request.runs, splits));
  }
  if (dataset.graph.directed() && (request.model == "bernnet" || request.model == "chebnetii")) {
    say(fmt::format(
        "{} weighs an edge by the incoming edges of both ends: nodes without any send nothing; --model "
        "gcn or graphsage hear them",
        request.model));
  }
  if (chosen.spec.starts_with("kfold") && request.runs == 1 &&
      request.split.find("fold=") == std::string::npos)
    say(fmt::format("{}: one fold of those that --runs would go through", chosen.spec));
}

bool names_data(const DataArguments& data) { return !data.what.empty() || !data.load.edges.empty(); }

// Data read as that of the training in `folder`, where this knows how; else as it was told to.
Dataset load_for(const std::string& folder, const TrainArguments& arguments) {
  const std::string config = folder + "/config.json";
  if (!has_memory(folder)) {
    return load(names_data(arguments.data) ? arguments.data : data_from_json(arguments.request.data, config));
  }
  const TrainingMemory memory = read_memory(folder);
  Dataset dataset = load(data_as_trained(arguments.data, arguments.request, memory, config));
  dataset.splits = memory.trained_on.splits;
  dataset.default_split = memory.trained_on.split;
  return dataset;
}

// What is asked for, by which data.
void complete_request(const CLI::App& command, TrainArguments& arguments) {
  TrainRequest& request = arguments.request;
  if (!arguments.resume.empty()) {
    refuse_beside_resume(command);
    if (std::filesystem::exists(std::filesystem::path(arguments.resume) / "search"))
      fail_usage(fmt::format("qw train: {} is a folder of qw fit, which goes on by its own command",
                             arguments.resume));
    arguments.out = arguments.resume;
    request = read_request(arguments.resume);
    return;
  }
  if (!request.refit_flow.empty()) {
    request = refit_request(command, arguments);
    if (names_data(arguments.data)) request.data = data_json(arguments.data);
    return;
  }
  if (!arguments.preset.empty() && arguments.preset != kAutomatic) use_named_preset(command, arguments);
  request.data = data_json(arguments.data);
}

Dataset load_data(const TrainArguments& arguments) {
  if (!arguments.resume.empty()) return load_for(arguments.resume, arguments);
  if (!arguments.request.refit_flow.empty()) return load_for(arguments.request.refit_flow, arguments);
  return load(arguments.data);
}

// And what depends on it.
void suit_request(const CLI::App& command, const Dataset& dataset, TrainArguments& arguments) {
  const bool goes_on = !arguments.resume.empty() || !arguments.request.refit_flow.empty();
  if (goes_on) return;
  if (arguments.preset.empty()) use_value_defaults(command, dataset, arguments.request);
  if (arguments.preset == kAutomatic) {
    use_preset(command,
               automatic_preset(dataset, split_of(arguments.request, dataset, 0).train,
                                is_written(command, "model") ? arguments.request.model : "",
                                known_presets(arguments)),
               arguments.request);
  }
  refuse_ignored(command, arguments.data.load, arguments.request);
}

using Progress = std::function<bool(const TrainProgress&)>;

// Until it is done, or until Ctrl-C; then it says what is kept.
std::vector<RunResult> train_or_stop(const Dataset& dataset, const TrainArguments& arguments, bool may_draw,
                                     const std::function<std::vector<RunResult>(const Progress&)>& work) {
  const Interrupt interrupt;
  const MetricInfo& metric = find_metric(dataset.targets.task, arguments.request.learn.metric);
  std::optional<TrainingLog> log;
  if (!arguments.log_dir.empty()) log.emplace(arguments.log_dir, arguments.request, metric.name);
  try {
    TrainingReport report(metric, may_draw);
    std::vector<RunResult> results = work([&](const TrainProgress& progress) {
      report.show(progress);
      if (log) log->add(progress);
      return !Interrupt::happened();
    });
    if (log) log->complete(arguments.out);
    return results;
  } catch (const TrainingStopped&) {
    const std::string logged = log ? " --log-dir " + arguments.log_dir : "";
    say(arguments.out.empty()
            ? "stopped; nothing is kept, since there is no --out"
            : fmt::format("stopped; all that was learned is in {}; go on with: qw train --resume {}{}",
                          arguments.out, arguments.out, logged));
    throw CLI::RuntimeError(kInterruptedExit);
  }
}

// By a process that is not the first.
std::vector<RunResult> train_silently(const std::function<std::vector<RunResult>(const Progress&)>& work) {
  const Interrupt interrupt;
  try {
    return work({});
  } catch (const TrainingStopped&) {
    throw CLI::RuntimeError(kInterruptedExit);
  }
}

void show_results(const Dataset& dataset, const TrainArguments& arguments,
                  const std::vector<RunResult>& results, bool json) {
  for (const std::string& warning : result_warnings(dataset, arguments.request, results))
    say("warning: " + warning);
  const std::string page = report_file("qw train", arguments.report, arguments.out);
  if (!page.empty()) write_file_atomically(page, explained_report(arguments.out));
  if (!json) return print_text(training_text(dataset, arguments.request, results, arguments.out));
  nlohmann::ordered_json document = summary_json(arguments.request, dataset, results);
  document["peak_rss_mb"] = peak_rss_mb();
  print_json(document);
}

// Empty where the data is none.
std::string partition_of(const TrainArguments& arguments) {
  const nlohmann::ordered_json& json = arguments.request.data;
  if (json.is_null()) return "";
  const DataArguments data = data_from_json(json, "config.json");
  return data.load.edges.empty() && is_partition(data.what) ? data.what : "";
}

// Whether a partition is trained part by part; else one process joins it.
bool goes_by_parts(const TrainArguments& arguments, const std::string& partition) {
  if (partition.empty()) {
    if (has_several_processes(arguments.processes))
      fail_usage(
          "qw train: several processes train a partition of the data; make one with qw data partition");
    return false;
  }
  std::string joined = needs_joined_graph(arguments.request);
  if (arguments.preset == kAutomatic) joined = "--preset auto";
  const std::string option = given_option(data_from_json(arguments.request.data, "config.json").load);
  if (!option.empty()) joined = option;
  if (joined.empty()) return true;
  if (has_several_processes(arguments.processes))
    fail_usage(fmt::format("qw train: {} needs the whole graph in one process", joined));
  say(fmt::format("{}: the parts of {} are joined", joined, partition));
  return false;
}

// All processes work; the first one speaks.
void train_parts(const CLI::App& command, TrainArguments& arguments, const std::string& partition,
                 const GlobalOptions& global) {
  const PartitionManifest manifest = open_partition(partition);
  const at::Device device = device_of_process(arguments.request.device);
  arguments.processes.device = arguments.request.device;
  Agreement agreement = agreement_on(arguments.request);
  agreement.emplace_back("preset", arguments.preset.empty() ? "none" : arguments.preset);
  std::unique_ptr<Comm> comm = join_processes_of(manifest, arguments.processes, agreement, global);
  const bool speaks = comm->rank() == 0;
  if (!speaks) set_quiet(true);
  comm->say_when_lost(arguments.out.empty() ? "nothing is kept, since there is no --out"
                                            : fmt::format("go on with: qw train --resume {}", arguments.out));
  const Dataset labels = labels_of_partition(manifest);
  suit_request(command, labels, arguments);
  report_file("qw train", arguments.report, arguments.out);  // refused before anything is trained
  if (arguments.request.baselines == "auto") {
    say("no baselines are fitted part by part; --baselines all joins the parts");
    arguments.request.baselines = "none";
  }
  const auto work = [&](const Progress& progress) {
    const PartitionTraining training{manifest,
                                     labels,
                                     arguments.request,
                                     arguments.out,
                                     [](const FeatureScaling& scaling) {
                                       if (scaling.kind() != "none") say(scaling.summary());
                                     },
                                     progress,
                                     Interrupt::happened,
                                     device};
    std::optional<std::vector<RunResult>> results = train_partition(*comm, training);
    if (results) return *std::move(results);
    comm.reset();  // all have stopped, and none takes that for an error
    throw TrainingStopped();
  };
  const std::vector<RunResult> results =
      speaks ? train_or_stop(labels, arguments, !global.json, work) : train_silently(work);
  if (speaks) show_results(labels, arguments, results, global.json);
}

// Machines for a plan; the first of the known ones where none is named.
Machine machine_of(const TrainArguments& arguments) {
  return machine_named(arguments.machine.empty() ? known_machines().front() : arguments.machine);
}

// Parts are planned for machines that need not be here.
void refuse_device_of_plan(const TrainRequest& request) {
  if (request.device == "cpu") return;
  fail_usage(
      fmt::format("qw train: a plan over parts is for the machines of --machine (for GPUs: h200), not "
                  "for --device {}",
                  request.device));
}

void plan_parts(const CLI::App& command, TrainArguments& arguments, const std::string& partition,
                const GlobalOptions& global) {
  refuse_device_of_plan(arguments.request);
  const int processes = count_processes(arguments.processes);
  const PartitionManifest manifest = open_partition(partition);
  require_parts(manifest, processes);
  suit_request(command, labels_of_partition(manifest), arguments);
  const PartedGraph graph = parted_graph(manifest, arguments.request);
  print_dry_run(graph, arguments.request, processes, machine_of(arguments), global.json);
}

// A graph that is not here has nothing but its size.
void plan_size(const CLI::App& command, const TrainArguments& arguments, const GlobalOptions& global) {
  const std::string& size = arguments.data.what;
  if (!arguments.dry_run)
    fail_usage("qw train: size:... is a graph that is not here; --dry-run plans its training");
  for (const char* option : {"split", "split_file", "split_column"})
    if (is_written(command, option))
      fail_usage("qw train: a graph of which only the size is known has no split; give train= and val=");
  const std::string option = given_option(arguments.data.load);
  if (!option.empty()) fail_usage(fmt::format("qw train: {} reads data, and size:... has none", option));
  if (arguments.preset == kAutomatic)
    fail_usage("qw train: --preset auto looks at the data, and size:... has none");
  if (const std::string joined = needs_joined_graph(arguments.request); !joined.empty())
    fail_usage(fmt::format("qw train: {} needs the joined graph; size:... is planned in parts", joined));
  refuse_device_of_plan(arguments.request);
  const int processes = count_processes(arguments.processes);
  const PartedGraph graph = parted_graph(graph_size(size), processes);
  print_dry_run(graph, arguments.request, processes, machine_of(arguments), global.json);
}

void run_training(const CLI::App& command, TrainArguments& arguments, const GlobalOptions& global) {
  prepare_libtorch();
  complete_request(command, arguments);
  arguments.request.command = command_line();
  if (is_size_spec(arguments.data.what)) return plan_size(command, arguments, global);
  const std::string partition = partition_of(arguments);
  const bool by_parts = goes_by_parts(arguments, partition);
  if (!arguments.machine.empty() && !(by_parts && arguments.dry_run))
    fail_usage("qw train: --machine is for --dry-run over parts");
  if (by_parts && arguments.dry_run) return plan_parts(command, arguments, partition, global);
  if (by_parts) return train_parts(command, arguments, partition, global);
  const Dataset dataset = load_data(arguments);
  suit_request(command, dataset, arguments);
  report_file("qw train", arguments.report, arguments.out);
  if (arguments.dry_run) return print_dry_run(dataset, arguments.request, global.json);
  device_of(arguments.request);  // refused before anything is chosen
  const bool goes_on = !arguments.resume.empty() || !arguments.request.refit_flow.empty();
  if (!goes_on) say_what_is_guessed(dataset, arguments.request);
  const std::vector<RunResult> results = train_or_stop(
      dataset, arguments, !global.json,
      [&](const Progress& progress) { return train(dataset, arguments.request, arguments.out, progress); });
  show_results(dataset, arguments, results, global.json);
}

}  // namespace

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void add_train_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<TrainArguments>();
  arguments->request.split = "auto";
  CLI::App* command = app.add_subcommand("train", "learn the labels of a graph");
  add_data_options(*command, arguments->data);
  std::string footer = "Models:";
  for (const ModelInfo& info : models()) {
    footer += fmt::format("\n  {:<12}{}{}", info.name, info.summary,
                          info.options.empty() ? "" : "; heeds --" + join(info.options, ", --"));
  }
  footer += "\nSolvers:";
  for (const SolverInfo& info : solvers()) footer += fmt::format("\n  {:<20}{}", info.name, info.summary);
  command->footer(footer);
  TrainRequest& request = arguments->request;
  add_options(*command, request_fields(request));
  FieldTable table("qw train");
  table.add("out", arguments->out, "DIR", "keep model, flow, predictions and metrics here");
  table.add(
      "log_dir", arguments->log_dir, "DIR",
      "write every epoch here while it trains, for TensorBoard and as metrics.csv, a folder for each run");
  table.add("resume", arguments->resume, "DIR", "go on with a training that was interrupted");
  table.add(
      "preset", arguments->preset, "NAME",
      "settings found by a sweep, as data/model/method (see qw presets); auto: suited to the graph; what is "
      "written here besides wins");
  table.add("presets", arguments->presets, "FILE",
            "presets that qw sweep presets wrote, instead of qw's own");
  table.add(
      "dry_run", arguments->dry_run,
      "say what would be done and how much memory it takes; run nothing. Over parts, also of a graph "
      "that is not here (--data size:nodes=N,edges=E,features=F,classes=C), what is sent and how long an "
      "epoch takes");
  table.add("machine", arguments->machine, "NAME",
            "what the plan of --dry-run over parts takes machines and network to be: " +
                join(known_machines(), ", ") +
                "; cpu:gflops=200,memory=50,bandwidth=25,latency=0.02 says more");
  add_process_options(table, arguments->processes);
  add_options(*command, table);
  add_report_option(*command, arguments->report);
  add_options(*command, model_fields(request.model_options));
  add_options(*command, learn_fields(request.learn));
  command->callback([arguments, command, &global] { run_training(*command, *arguments, global); });
}

}  // namespace qw::cli
