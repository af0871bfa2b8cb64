#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/learn/open_run.h"
#include "cli/table.h"
#include "core/file.h"
#include "qw/core/error.h"
#include "qw/learn/ensemble.h"

namespace qw::cli {
namespace {

struct PredictArguments {
  RunArguments run;
  bool ensemble = false, single = false;
  double coverage = 0;  // 0: the training's
  std::string out;
};

struct EvalArguments {
  RunArguments run;
  bool ensemble = false, single = false;
};

// The runs that are asked, and how loudly each speaks.
struct Speakers {
  std::vector<std::filesystem::path> folders;
  std::vector<double> weights;             // empty: the same for all
  std::optional<Calibration> calibration;  // of all together, where it is known

  bool several() const { return folders.size() > 1; }
};

// Of a folder of qw fit all its members, unless one run is asked for.
Speakers speakers_of(const RunArguments& run, bool ensemble, bool single, const OpenedRun& opened) {
  if (ensemble && run.run_is_given) fail_usage("qw: --ensemble is of all runs: leave --run out");
  if (single && (ensemble || run.run_is_given))
    fail_usage("qw: --single is the best candidate alone: leave --ensemble and --run out");
  const std::optional<EnsembleMembers> members = read_members(run.folder);
  if (single && !members)
    fail_usage(fmt::format("qw: --single is for folders of qw fit; {} is none", run.folder));
  Speakers speakers;
  if (members && !run.run_is_given) {
    for (const int64_t member : single ? members->single : members->runs)
      speakers.folders.push_back(finished_run(run.folder, member));
    speakers.calibration = single ? members->single_calibration : members->calibration;
    if (!single) speakers.weights = members->weights;
    return speakers;
  }
  if (ensemble && opened.request.runs < 2) {
    fail_usage(
        fmt::format("qw: {} has one run, and an ensemble needs several: train with --runs 10", run.folder));
  }
  for (int64_t k = 0; ensemble && k < opened.request.runs; ++k) {
    speakers.folders.push_back(finished_run(run.folder, k));
  }
  if (!ensemble) speakers.folders.push_back(opened.folder);
  return speakers;
}

Ensemble ensemble_of(const Speakers& speakers, const OpenedRun& opened) {
  Ensemble ensemble(speakers.folders, opened.request, opened.memory, opened.dataset, speakers.weights);
  if (speakers.calibration) ensemble.use_calibration(*speakers.calibration);
  return ensemble;
}

// The data of the command, and of the training, is not written over.
void refuse_data_as_output(const std::string& out, const std::vector<std::string>& data) {
  for (const std::string& input : data) {
    std::error_code ignored;
    if (!input.empty() && std::filesystem::equivalent(out, input, ignored))
      fail_usage(fmt::format("qw predict: --out {} is a file of the data, which it would replace", out));
  }
}

std::vector<std::string> files_of(const LoadOptions& load) {
  return {load.edges, load.nodes, load.split_file};
}

std::vector<std::string> files_of(const nlohmann::ordered_json& data) {
  const nlohmann::ordered_json load = data.is_object() ? data.value("load", nlohmann::ordered_json::object())
                                                       : nlohmann::ordered_json::object();
  return {load.value("edges", ""), load.value("nodes", ""), load.value("split_file", "")};
}

void predict(const PredictArguments& arguments, const GlobalOptions& global) {
  refuse_data_as_output(arguments.out, files_of(arguments.run.data.load));
  const OpenedRun opened = open_run(arguments.run);
  refuse_data_as_output(arguments.out, files_of(opened.request.data));
  const Speakers speakers = speakers_of(arguments.run, arguments.ensemble, arguments.single, opened);
  const Dataset& dataset = opened.dataset;
  const Targets& targets = dataset.targets;
  const Ensemble ensemble = ensemble_of(speakers, opened);
  const auto fresh = std::count(ensemble.parts().begin(), ensemble.parts().end(), NodePart::kNew);
  if (fresh > 0) {
    say(fmt::format("{} new: predicted by the network alone, without transport",
                    fresh == 1 ? "1 node is" : fmt::format("{} nodes are", fresh)));
  }
  const double coverage = arguments.coverage > 0 ? arguments.coverage : opened.request.coverage;
  std::optional<PredictionSets> sets;
  if (ensemble.calibration().strangeness.empty()) {
    say("sets are left out: no node validates in every run; train with one split for all (--split-file)");
  } else {
    sets.emplace(targets.task, targets.width, ensemble.calibration(), coverage);
    if (!sets->informative()) {
      say(fmt::format("the validation nodes are too few for --coverage {:g}: sets hold everything",
                      coverage));
    }
  }
  Predictions predictions(dataset, targets, ensemble.scores(), ensemble.calibration(), sets,
                          ensemble.parts());
  if (speakers.several()) predictions.use_ensemble(ensemble.mean(), ensemble.spread());
  const std::string csv = arguments.out.empty() && global.json ? "" : predictions.csv();
  if (!arguments.out.empty()) write_file_atomically(arguments.out, csv);
  if (global.json) {
    print_json({{"nodes", dataset.graph.num_nodes()},
                {"new", fresh},
                {"coverage", coverage},
                {"out", arguments.out},
                {"predictions", predictions.json()}});
  } else if (arguments.out.empty()) {
    print_text(csv);
  } else {
    print_text(fmt::format("{} predictions written to {}\n", dataset.graph.num_nodes(), arguments.out));
  }
}

// Nodes of one part of the training's that have a label now, or of those that got it since.
struct MeasuredPart {
  std::string name;
  std::vector<NodeId> nodes;
  Metrics metrics;
};

std::vector<MeasuredPart> parts_to_measure(const OpenedRun& opened, const Ensemble& ensemble) {
  const TrainedOn& trained_on = opened.memory.trained_on;
  const Targets& targets = opened.dataset.targets;
  std::vector<MeasuredPart> parts;
  for (const NodePart part : {NodePart::kTrain, NodePart::kVal, NodePart::kTest}) {
    MeasuredPart& measured = parts.emplace_back(MeasuredPart{part_name(part), ensemble.nodes_of(part), {}});
    std::erase_if(measured.nodes, [&](NodeId node) { return !targets.known(node); });
  }
  MeasuredPart since{"since", {}, {}};
  const std::vector<NodeId> was = places(opened.dataset, trained_on);
  for (NodeId node = 0; node < opened.dataset.graph.num_nodes(); ++node) {
    const bool is_new = was[node] < 0 || !trained_on.targets.known(was[node]);
    if (is_new && targets.known(node)) since.nodes.push_back(node);
  }
  if (!since.nodes.empty()) parts.push_back(std::move(since));
  return parts;
}

std::string metrics_text(const std::vector<MeasuredPart>& parts) {
  std::vector<std::string> header{""}, counts{"nodes"};
  for (const MeasuredPart& part : parts) {
    header.push_back(part.name);
    counts.push_back(fmt::format("{}", part.nodes.size()));
  }
  TextTable table(header);
  table.add(counts);
  for (size_t m = 0; m < parts[0].metrics.size(); ++m) {
    std::vector<std::string> row{parts[0].metrics[m].first};
    for (const MeasuredPart& part : parts) row.push_back(fmt::format("{:.4f}", part.metrics[m].second));
    table.add(row);
  }
  return table.text();
}

void evaluate(const EvalArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  const Speakers speakers = speakers_of(arguments.run, arguments.ensemble, arguments.single, opened);
  const Dataset& dataset = opened.dataset;
  const Ensemble ensemble = ensemble_of(speakers, opened);
  nlohmann::ordered_json document{{"name", dataset.name}};
  if (!speakers.several()) document["run"] = arguments.run.run;
  std::vector<MeasuredPart> parts = parts_to_measure(opened, ensemble);
  if (std::all_of(parts.begin(), parts.end(), [](const MeasuredPart& part) { return part.nodes.empty(); })) {
    fail(fmt::format("{}: no node has a label that the training knows, so that there is nothing to measure",
                     dataset.name));
  }
  const std::string& metric = opened.request.learn.metric;
  for (MeasuredPart& part : parts) {
    part.metrics = speakers.several() ? measure(dataset.targets, part.nodes, ensemble.predicted(), {metric})
                                      : measure(dataset.targets, part.nodes, ensemble.scores(),
                                                {metric, ensemble.calibration().temperature});
    document["nodes"][part.name] = part.nodes.size();
    for (const auto& [name, value] : part.metrics) document[part.name][name] = value;
  }
  if (speakers.several() && ensemble.nodes_of(NodePart::kTest).empty()) {
    say("no node is for test in every run: an ensemble of runs with splits of their own cannot be tested; "
        "train with one split for all (--split-file)");
  }
  if (parts.back().name == "since") {
    const size_t since = parts.back().nodes.size();
    say(fmt::format("since: {} got a label after the training, to which nothing was fitted",
                    since == 1 ? "1 node" : fmt::format("{} nodes", since)));
  }
  if (global.json) {
    print_json(document);
  } else {
    print_text(metrics_text(parts));
  }
}

constexpr const char* kEnsembleHelp =
    "of all runs together: the mean of their probabilities, or values; of a folder of qw fit always so";
constexpr const char* kSingleHelp = "folder of qw fit: of the best candidate alone";

}  // namespace

void add_predict_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command =
      add_run_command(app, "predict", "the labels that a training predicts, as CSV", arguments->run);
  FieldTable table("qw predict");
  table.add("ensemble", arguments->ensemble, kEnsembleHelp);
  table.add("single", arguments->single, kSingleHelp);
  table.add("coverage", arguments->coverage, {0, 0.999},
            "share of the nodes whose truth the sets should hold; 0: as the training was told");
  table.add("out", arguments->out, "FILE", "write the predictions here instead of to standard output");
  add_options(*command, table);
  command->callback([arguments, command, &global] {
    arguments->run.run_is_given = command->count("--run") > 0;
    predict(*arguments, global);
  });
}

void add_eval_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = add_run_command(app, "eval", "how good a training's predictions are", arguments->run);
  FieldTable table("qw eval");
  table.add("ensemble", arguments->ensemble, kEnsembleHelp);
  table.add("single", arguments->single, kSingleHelp);
  add_options(*command, table);
  command->callback([arguments, command, &global] {
    arguments->run.run_is_given = command->count("--run") > 0;
    evaluate(*arguments, global);
  });
}

}  // namespace qw::cli
