#include "qw/learn/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/learn/explain_text.h"
#include "cli/learn/open_run.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/learn/ensemble.h"

namespace qw::cli {
namespace {

struct ExplainArguments {
  RunArguments run;
  std::string node;
  std::string column;  // a class, "all", or empty: the predicted one
  int64_t top = 10;
};

std::vector<int64_t> asked_columns(const std::string& asked, const Targets& targets) {
  if (asked.empty()) return {};
  std::vector<std::string> names;
  std::vector<int64_t> all, chosen;
  for (int64_t c = 0; c < targets.width; ++c) {
    names.push_back(targets.names.empty() ? fmt::format("{}", c) : targets.names[c]);
    all.push_back(c);
    if (names.back() == asked) chosen.push_back(c);
  }
  if (!chosen.empty()) return chosen;
  if (asked == "all") return all;
  names.emplace_back("all");
  fail_usage("qw explain: --class " + unknown_name(asked, names));
}

void explain(const ExplainArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  if (const auto members = read_members(arguments.run.folder); members && !arguments.run.run_is_given) {
    say(fmt::format("this is run 0, the first of {} that predict together; --run explains another",
                    members->runs.size()));
  }
  const Dataset& dataset = opened.dataset;
  const NodeId node = find_node(dataset, arguments.node, "qw explain");
  ExplainOptions options;
  options.columns = asked_columns(arguments.column, dataset.targets);
  options.top = arguments.top;
  const NodeExplanation explanation =
      explain_nodes(opened.folder, opened.request, opened.memory, dataset, std::vector{node}, options)
          .front();
  if (global.json) {
    nlohmann::ordered_json document{{"name", dataset.name},
                                    {"run", arguments.run.run},
                                    {"model", opened.request.model},
                                    {"solver", opened.request.learn.solver}};
    document.update(to_json(explanation));
    return print_json(document);
  }
  const NamedNode& named = explanation.node;
  print_text(fmt::format(
      "{}, {}, {}, run {}\nnode {}: predicted {}; {}\n\n{}", dataset.name, opened.request.model,
      opened.request.learn.solver, arguments.run.run, printable(named.id),
      printable(explanation.predicted.text()),
      named.trains ? "a training node with label " + printable(named.label.text()) : "no training node",
      explanation_text(explanation, opened.request.learn.solver)));
}

}  // namespace

void add_explain_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      add_run_command(app, "explain", "why a node got its label, and by which edges", arguments->run);
  command->add_option("--node", arguments->node, "the node, by the id that the data gives it")
      ->required()
      ->type_name("ID")
      ->check(not_empty());
  FieldTable table("qw explain");
  table.add("class", arguments->column, "NAME",
            "explain this class (label, value), or all; default: what is predicted");
  table.add("top", arguments->top, {0, 1e9},
            "show so many paths, neighbours, features and labels, the largest first; 0: all");
  add_options(*command, table);
  command->footer(
      "An amount of a path above 0 raises the score of the class at this node and lowers it as much at the "
      "other end of the path. A change below 0 means that what was left out speaks for the class.\n"
      "Example: qw explain runs/teams --node ann --class all");
  command->callback([arguments, command, &global] {
    arguments->run.run_is_given = command->count("--run") > 0;
    explain(*arguments, global);
  });
}

}  // namespace qw::cli
