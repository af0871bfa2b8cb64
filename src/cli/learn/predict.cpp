#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "cli/learn/open_run.h"
#include "cli/table.h"
#include "core/file.h"
#include "core/text.h"
#include "data/load_fields.h"
#include "qw/core/error.h"
#include "qw/learn/ensemble.h"

namespace qw::cli {
namespace {

struct PredictArguments {
  RunArguments run;
  DataArguments data;  // other data than that of the training
  bool ensemble = false;
  double coverage = 0;  // 0: the training's
  std::string out;
};

struct EvalArguments {
  RunArguments run;
  bool ensemble = false;
};

// The labels of other data as the training calls them: classes by their names.
Targets labels_as_trained(const Targets& trained, const Targets& given) {
  Targets labels{trained.task, trained.width, {}, {}, trained.names};
  if (given.task == Task::kNone) return labels;
  if (given.task != trained.task || (given.task != Task::kClassification && given.width != trained.width)) {
    say(fmt::format("the labels of this data are {} and those of the training {}: they are left out",
                    task_name(given.task), task_name(trained.task)));
    return labels;
  }
  labels.values = given.values;
  if (given.task != Task::kClassification) return labels;
  const auto name = [](const Targets& targets, int64_t c) {
    return targets.names.empty() ? fmt::format("{}", c) : targets.names[c];
  };
  std::map<std::string, int32_t> known;
  for (int64_t c = 0; c < trained.width; ++c) known.emplace(name(trained, c), static_cast<int32_t>(c));
  int64_t unknown = 0;
  for (const int32_t label : given.classes) {
    const auto found = label < 0 ? known.end() : known.find(name(given, label));
    unknown += label >= 0 && found == known.end();
    labels.classes.push_back(found == known.end() ? -1 : found->second);
  }
  if (unknown > 0) say(fmt::format("{} nodes have a class that the training does not know", unknown));
  return labels;
}

void check_arguments(const RunArguments& run, bool ensemble, const TrainRequest& request) {
  if (ensemble && run.run != 0) fail_usage("qw: --ensemble is of all runs: leave --run out");
  if (ensemble && request.runs < 2) {
    fail_usage(
        fmt::format("qw: {} has one run, and an ensemble needs several: train with --runs 10", run.folder));
  }
}

std::vector<std::filesystem::path> folders_of(const RunArguments& run, bool ensemble,
                                              const OpenedRun& opened) {
  std::vector<std::filesystem::path> folders;
  for (int64_t k = 0; ensemble && k < opened.request.runs; ++k) {
    folders.push_back(finished_run(run.folder, k));
  }
  if (!ensemble) folders.push_back(opened.folder);
  return folders;
}

void predict(const PredictArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  check_arguments(arguments.run, arguments.ensemble, opened.request);
  const Dataset& trained_on = *opened.trained_on;
  const bool other = !arguments.data.what.empty() || !arguments.data.load.edges.empty();
  std::unique_ptr<Dataset> given;
  if (other) given = std::make_unique<Dataset>(load(arguments.data));
  const Dataset& dataset = other ? *given : trained_on;
  const Targets targets = other ? labels_as_trained(trained_on.targets, dataset.targets) : trained_on.targets;
  const Ensemble ensemble(folders_of(arguments.run, arguments.ensemble, opened), opened.request, trained_on,
                          dataset);
  const auto fresh = std::count(ensemble.parts().begin(), ensemble.parts().end(), NodePart::kNew);
  if (fresh > 0) {
    say(fmt::format("{} nodes are new: they are predicted by the network alone, without transport", fresh));
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
  if (arguments.ensemble) predictions.use_ensemble(ensemble.mean(), ensemble.spread());
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

void evaluate(const EvalArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  check_arguments(arguments.run, arguments.ensemble, opened.request);
  const Dataset& dataset = *opened.trained_on;
  const Ensemble ensemble(folders_of(arguments.run, arguments.ensemble, opened), opened.request, dataset,
                          dataset);
  nlohmann::ordered_json document{{"name", dataset.name}};
  if (!arguments.ensemble) document["run"] = arguments.run.run;
  TextTable table({"", "train", "val", "test"});
  std::vector<Metrics> metrics;
  for (const NodePart part : {NodePart::kTrain, NodePart::kVal, NodePart::kTest}) {
    const std::vector<NodeId> nodes = ensemble.nodes_of(part);
    metrics.push_back(
        arguments.ensemble
            ? measure(dataset.targets, nodes, ensemble.predicted(), {opened.request.learn.metric})
            : measure(dataset.targets, nodes, ensemble.scores(),
                      {opened.request.learn.metric, ensemble.calibration().temperature}));
    document["nodes"][part_name(part)] = nodes.size();
    for (const auto& [metric, value] : metrics.back()) document[part_name(part)][metric] = value;
  }
  if (arguments.ensemble && ensemble.nodes_of(NodePart::kTest).empty()) {
    say("no node is for test in every run: an ensemble of runs with splits of their own cannot be tested; "
        "train "
        "with one split for all (--split-file)");
  }
  std::vector<std::string> counts{"nodes"};
  for (const NodePart part : {NodePart::kTrain, NodePart::kVal, NodePart::kTest})
    counts.push_back(fmt::format("{}", ensemble.nodes_of(part).size()));
  table.add(counts);
  for (size_t m = 0; m < metrics[0].size(); ++m) {
    std::vector<std::string> row{metrics[0][m].first};
    for (const Metrics& part : metrics) row.push_back(fmt::format("{:.4f}", part[m].second));
    table.add(row);
  }
  if (global.json) {
    print_json(document);
  } else {
    print_text(table.text());
  }
}

constexpr const char* kEnsembleHelp = "of all runs together: the mean of their probabilities, or values";

}  // namespace

void add_predict_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command =
      add_run_command(app, "predict", "the labels that a training predicts, as CSV", arguments->run);
  command->add_option("--data", arguments->data.what, "other data: nodes that are new, known by their ids")
      ->type_name("DATA")
      ->check(not_empty());
  add_options(*command, load_fields(arguments->data.load, "qw predict"));
  FieldTable table("qw predict");
  table.add("ensemble", arguments->ensemble, kEnsembleHelp);
  table.add("coverage", arguments->coverage, {0, 0.999},
            "share of the nodes whose truth the sets should hold; 0: as the training was told");
  table.add("out", arguments->out, "FILE", "write the predictions here instead of to standard output");
  add_options(*command, table);
  command->callback([arguments, &global] { predict(*arguments, global); });
}

void add_eval_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = add_run_command(app, "eval", "how good a training's predictions are", arguments->run);
  FieldTable table("qw eval");
  table.add("ensemble", arguments->ensemble, kEnsembleHelp);
  add_options(*command, table);
  command->callback([arguments, &global] { evaluate(*arguments, global); });
}

}  // namespace qw::cli
