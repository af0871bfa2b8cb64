#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/learn/open_run.h"
#include "cli/table.h"
#include "core/file.h"
#include "data/load_fields.h"

namespace qw::cli {
namespace {

struct PredictArguments {
  RunArguments run;
  DataArguments data;  // other data than that of the training
  std::string out;
};

void predict(const PredictArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  const bool other = !arguments.data.what.empty() || !arguments.data.load.edges.empty();
  std::unique_ptr<Dataset> given;
  if (other) {
    given = std::make_unique<Dataset>(load(arguments.data));
    given->targets = Targets{opened.trained_on->targets.task,
                             opened.trained_on->targets.width,
                             {},
                             {},
                             opened.trained_on->targets.names};
  }
  const Dataset& dataset = other ? *given : *opened.trained_on;
  const Reloaded reloaded = reload(opened.folder, opened.request, *opened.trained_on, dataset);
  const auto fresh = std::count(reloaded.is_new.begin(), reloaded.is_new.end(), 1);
  if (fresh > 0) {
    say(fmt::format("{} nodes are new: they are predicted by the network alone, without transport", fresh));
  }
  const std::string csv = predictions_csv(dataset, reloaded.scores, reloaded.is_new);
  if (!arguments.out.empty()) write_file_atomically(arguments.out, csv);
  if (global.json) {
    print_json({{"nodes", dataset.graph.num_nodes()}, {"new", fresh}, {"out", arguments.out}});
  } else if (arguments.out.empty()) {
    print_text(csv);
  } else {
    print_text(fmt::format("{} predictions written to {}\n", dataset.graph.num_nodes(), arguments.out));
  }
}

void evaluate(const RunArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments);
  const Dataset& dataset = *opened.trained_on;
  const Split split = split_of(opened.request, dataset, arguments.run);
  const Reloaded reloaded = reload(opened.folder, opened.request, dataset, dataset);
  nlohmann::ordered_json document{{"name", dataset.name}, {"run", arguments.run}};
  TextTable table({"", "train", "val", "test"});
  const std::pair<const char*, const std::vector<NodeId>*> parts[] = {
      {"train", &split.train}, {"val", &split.val}, {"test", &split.test}};
  std::vector<Metrics> metrics;
  for (const auto& [name, nodes] : parts) {
    metrics.push_back(measure(dataset.targets, *nodes, reloaded.scores));
    for (const auto& [metric, value] : metrics.back()) document[name][metric] = value;
  }
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

}  // namespace

void add_predict_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command =
      add_run_command(app, "predict", "the labels that a training predicts, as CSV", arguments->run);
  command->add_option("--data", arguments->data.what, "other data: nodes that are new, known by their ids")
      ->type_name("DATA");
  add_options(*command, load_fields(arguments->data.load, "qw predict"));
  FieldTable table("qw predict");
  table.add("out", arguments->out, "FILE", "write the predictions here instead of to standard output");
  add_options(*command, table);
  command->callback([arguments, &global] { predict(*arguments, global); });
}

void add_eval_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = add_run_command(app, "eval", "how good a training's predictions are", *arguments);
  command->callback([arguments, &global] { evaluate(*arguments, global); });
}

}  // namespace qw::cli
