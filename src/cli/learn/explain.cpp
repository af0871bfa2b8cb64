#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/learn/open_run.h"
#include "cli/table.h"
#include "core/text.h"
#include "data/formats/node_ids.h"
#include "qw/core/error.h"
#include "qw/learn/ensemble.h"
#include "qw/transport/paths.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

// Flows are stored as float32: what is smaller than this share of the largest is rounding.
constexpr double kRounding = 1e-7;

struct ExplainArguments {
  RunArguments run;
  std::string node;
  std::string column;  // a class, "all", or empty: the predicted one
  int64_t top = 10;
};

// One path by which transport reached the node.
struct Reason {
  double amount = 0;          // + raises the score here and lowers it at the other end
  std::vector<NodeId> nodes;  // from here to the other end
};

struct ColumnReasons {
  int64_t column = 0;
  std::vector<Reason> reasons;  // the largest amount first
};

// Scores of one node; one entry per class, label or value.
struct NodeScores {
  std::vector<float> network, transport, sum;
  std::vector<float> probabilities;  // empty for values
};

struct Explanation {
  const Dataset& dataset;
  const TrainedOn& trained_on;
  const Split& split;              // of the training's nodes
  std::vector<NodeId> trained_as;  // which of them a node is, -1: none
  NodeId node;
  NodeScores scores;
  std::vector<int64_t> predicted;  // columns: the class, the labels (or the likeliest), or all values
  bool has_flow = false;
  std::vector<ColumnReasons> shown;

  const Targets& targets() const { return dataset.targets; }
  bool trains(NodeId any) const {
    return trained_as[any] >= 0 &&
           std::binary_search(split.train.begin(), split.train.end(), trained_as[any]);
  }
};

std::string column_name(const Targets& targets, int64_t column) {
  return targets.names.empty() ? fmt::format("{}", column) : targets.names[column];
}

NodeId find_node(const Dataset& dataset, const std::string& id) {
  if (dataset.node_ids.empty()) {
    const auto number = plain_number(id);
    if (number && *number < dataset.graph.num_nodes()) return *number;
    fail_usage(fmt::format("qw explain: --node {} is no node of {}; its nodes are 0 to {}", in_quotes(id),
                           dataset.name, dataset.graph.num_nodes() - 1));
  }
  const auto found = std::find(dataset.node_ids.begin(), dataset.node_ids.end(), id);
  if (found != dataset.node_ids.end()) return static_cast<NodeId>(found - dataset.node_ids.begin());
  const auto near = closest(id, dataset.node_ids);
  fail_usage(fmt::format("qw explain: --node {} is no node of {}{}", in_quotes(id), dataset.name,
                         near ? fmt::format("; did you mean {}?", in_quotes(*near)) : ""));
}

std::vector<float> numbers_of(const at::Tensor& row) {
  const at::Tensor numbers = row.to(at::kFloat).cpu().contiguous();
  const auto* begin = numbers.data_ptr<float>();
  return {begin, begin + numbers.numel()};
}

NodeScores scores_of(const Reloaded& reloaded, NodeId node, Task task) {
  const Scores& all = reloaded.scores;
  Scores row = all;
  row.network = all.network.narrow(0, node, 1);
  if (all.transport.numel() > 0) row.transport = all.transport.narrow(0, node, 1);
  NodeScores scores{numbers_of(row.network), numbers_of(row.transport), numbers_of(row.sum()), {}};
  scores.transport.resize(scores.network.size(), 0.0F);
  if (task != Task::kRegression) {
    const std::vector<double> chances =
        calibrated(task, std::vector{node}, all.network.size(1), all, reloaded.calibration.temperature);
    scores.probabilities.assign(chances.begin(), chances.end());
  }
  return scores;
}

std::vector<int64_t> predicted_columns(const Targets& targets, const NodeScores& scores) {
  std::vector<int64_t> predicted;
  for (int64_t c = 0; c < targets.width; ++c) {
    const bool is_predicted = targets.task == Task::kRegression ||
                              (targets.task == Task::kMultiLabel && scores.probabilities[c] > 0.5F);
    if (is_predicted) predicted.push_back(c);
  }
  if (!predicted.empty()) return predicted;
  return {std::max_element(scores.sum.begin(), scores.sum.end()) - scores.sum.begin()};
}

std::vector<int64_t> asked_columns(const std::string& asked, const Targets& targets,
                                   const std::vector<int64_t>& predicted) {
  if (asked.empty()) return predicted;
  std::vector<std::string> names;
  std::vector<int64_t> all, chosen;
  for (int64_t c = 0; c < targets.width; ++c) {
    names.push_back(column_name(targets, c));
    all.push_back(c);
    if (names.back() == asked) chosen.push_back(c);
  }
  if (!chosen.empty()) return chosen;
  if (asked == "all") return all;
  names.emplace_back("all");
  fail_usage("qw explain: --class " + unknown_name(asked, names));
}

std::vector<double> column_of(const at::Tensor& flow, int64_t column) {
  const at::Tensor numbers = flow.select(1, column).to(at::kDouble).contiguous();
  const auto* begin = numbers.data_ptr<double>();
  return {begin, begin + numbers.numel()};
}

std::vector<Reason> reasons_of(const Graph& graph, const std::vector<double>& flow, NodeId node) {
  double largest = 0;
  for (const double value : flow) largest = std::max(largest, std::fabs(value));
  std::vector<Reason> reasons;
  for (const FlowPath& path : paths_of_node(graph, flow, node, kRounding * largest).paths) {
    const bool receives = path.sink == node;
    reasons.push_back({receives ? path.amount : -path.amount, nodes_along(graph, path)});
    if (receives) std::reverse(reasons.back().nodes.begin(), reasons.back().nodes.end());
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const Reason& a, const Reason& b) {
    return std::fabs(a.amount) > std::fabs(b.amount);
  });
  return reasons;
}

double total_from(const std::vector<Reason>& reasons, size_t first) {
  double total = 0;
  for (size_t i = first; i < reasons.size(); ++i) total += reasons[i].amount;
  return total;
}

// One thing as it is, several as a list.
Json one_or_list(std::vector<Json> things, bool one) {
  return one ? std::move(things.front()) : Json(things);
}

Json prediction_json(const Explanation& explanation) {
  const Targets& targets = explanation.targets();
  std::vector<Json> things;
  for (const int64_t c : explanation.predicted) {
    if (targets.task == Task::kRegression) {
      things.emplace_back(explanation.scores.sum[c]);
    } else if (targets.task == Task::kClassification || explanation.scores.probabilities[c] > 0.5F) {
      things.emplace_back(column_name(targets, c));
    }
  }
  const bool one =
      targets.task == Task::kClassification || (targets.task == Task::kRegression && targets.width == 1);
  return one_or_list(std::move(things), one);
}

// What training was told of a node; null when nothing.
Json label_json(const Explanation& explanation, NodeId any) {
  const Targets& targets = explanation.trained_on.targets;
  if (!explanation.trains(any)) return nullptr;
  const NodeId node = explanation.trained_as[any];
  if (targets.task == Task::kClassification) return column_name(targets, targets.classes[node]);
  std::vector<Json> things;
  for (int64_t c = 0; c < targets.width; ++c) {
    const double value = targets.values[node * targets.width + c];
    if (targets.task == Task::kRegression) {
      things.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
    } else if (value > 0.5) {
      things.emplace_back(column_name(targets, c));
    }
  }
  return one_or_list(std::move(things), targets.task == Task::kRegression && targets.width == 1);
}

Json reasons_json(const Explanation& explanation, const ColumnReasons& of, size_t top) {
  Json paths = Json::array();
  const size_t listed = std::min(top, of.reasons.size());
  for (size_t i = 0; i < listed; ++i) {
    const Reason& reason = of.reasons[i];
    std::vector<std::string> ids;
    for (const NodeId node : reason.nodes) ids.push_back(explanation.dataset.node_id(node));
    paths.push_back({{"node", ids.back()},
                     {"training", explanation.trains(reason.nodes.back())},
                     {"label", label_json(explanation, reason.nodes.back())},
                     {"amount", reason.amount},
                     {"path", ids}});
  }
  return {{"class", column_name(explanation.targets(), of.column)},
          {"amount", total_from(of.reasons, 0)},
          {"paths", paths},
          {"more", {{"paths", of.reasons.size() - listed}, {"amount", total_from(of.reasons, listed)}}}};
}

Json as_json(const Explanation& explanation, const OpenedRun& opened, const ExplainArguments& arguments,
             size_t top) {
  const NodeScores& scores = explanation.scores;
  Json document{{"name", explanation.dataset.name},
                {"run", arguments.run.run},
                {"model", opened.request.model},
                {"solver", opened.request.learn.solver},
                {"task", task_name(explanation.targets().task)},
                {"node", arguments.node},
                {"training", explanation.trains(explanation.node)},
                {"label", label_json(explanation, explanation.node)},
                {"prediction", prediction_json(explanation)}};
  for (size_t c = 0; c < scores.sum.size(); ++c) {
    Json row{{"class", column_name(explanation.targets(), static_cast<int64_t>(c))},
             {"network", scores.network[c]},
             {"transport", scores.transport[c]},
             {"sum", scores.sum[c]}};
    if (!scores.probabilities.empty()) row["probability"] = scores.probabilities[c];
    document["scores"].push_back(std::move(row));
  }
  document["transport"] = explanation.has_flow ? Json::array() : Json(nullptr);
  for (const ColumnReasons& each : explanation.shown) {
    document["transport"].push_back(reasons_json(explanation, each, top));
  }
  return document;
}

// A label or a prediction as one cell of a table.
std::string cell(const Json& thing) {
  if (thing.is_null()) return "unlabelled";
  if (thing.is_string()) return printable(thing.get<std::string>());
  if (thing.is_number()) return fmt::format("{:.6g}", thing.get<double>());
  std::vector<std::string> parts;
  for (const Json& part : thing) parts.push_back(part.is_null() ? "?" : cell(part));
  return parts.empty() ? "none" : join(parts, " ");
}

std::string scores_text(const Explanation& explanation) {
  const NodeScores& scores = explanation.scores;
  const bool has_probabilities = !scores.probabilities.empty();
  std::vector<std::string> header{has_probabilities ? "class" : "value", "network", "transport", "sum"};
  if (has_probabilities) header.emplace_back("probability");
  TextTable table(header);
  for (size_t c = 0; c < scores.sum.size(); ++c) {
    std::vector<std::string> row{printable(column_name(explanation.targets(), static_cast<int64_t>(c))),
                                 fmt::format("{:.5g}", scores.network[c]),
                                 fmt::format("{:+.5g}", scores.transport[c]),
                                 fmt::format("{:.5g}", scores.sum[c])};
    if (has_probabilities) row.push_back(fmt::format("{:.4f}", scores.probabilities[c]));
    table.add(row);
  }
  return table.text();
}

std::string reasons_text(const Explanation& explanation, const ColumnReasons& of, size_t top) {
  const std::string name = printable(column_name(explanation.targets(), of.column));
  const Graph& graph = explanation.dataset.graph;
  if (graph.out().degree(explanation.node) + graph.in().degree(explanation.node) == 0) {
    return fmt::format("\n{}: the node has no edges, so nothing can reach it\n", name);
  }
  if (of.reasons.empty()) return fmt::format("\n{}: transport brings nothing to this node\n", name);
  const size_t listed = std::min(top, of.reasons.size()), more = of.reasons.size() - listed;
  std::string text =
      fmt::format("\n{}: transport brings {:+.5g}, by {} path{}; the other end of a path gets the opposite\n",
                  name, total_from(of.reasons, 0), of.reasons.size(), of.reasons.size() == 1 ? "" : "s");
  TextTable table({"amount", "other end", "training label", "path"});
  for (size_t i = 0; i < listed; ++i) {
    const Reason& reason = of.reasons[i];
    std::vector<std::string> ids;
    for (const NodeId node : reason.nodes) ids.push_back(printable(explanation.dataset.node_id(node)));
    table.add({fmt::format("{:+.5g}", reason.amount), ids.back(),
               cell(label_json(explanation, reason.nodes.back())), join(ids, " - ")});
  }
  text += table.text();
  if (more > 0) text += fmt::format("and {} more, together {:+.5g}\n", more, total_from(of.reasons, listed));
  return text;
}

std::string as_text(const Explanation& explanation, const OpenedRun& opened,
                    const ExplainArguments& arguments, size_t top) {
  const Json label = label_json(explanation, explanation.node);
  std::string text = fmt::format(
      "{}, {}, {}, run {}\nnode {}: predicted {}; {}\n\n{}", explanation.dataset.name, opened.request.model,
      opened.request.learn.solver, arguments.run.run, printable(arguments.node),
      cell(prediction_json(explanation)),
      explanation.trains(explanation.node) ? "a training node with label " + cell(label) : "no training node",
      scores_text(explanation));
  if (!explanation.has_flow) {
    text +=
        fmt::format("\nsolver {} has no transport: the network alone decides\n", opened.request.learn.solver);
  }
  for (const ColumnReasons& each : explanation.shown) text += reasons_text(explanation, each, top);
  return text;
}

void explain(const ExplainArguments& arguments, const GlobalOptions& global) {
  const OpenedRun opened = open_run(arguments.run);
  if (const auto members = read_members(arguments.run.folder); members && !arguments.run.run_is_given) {
    say(fmt::format("this is run 0, the first of {} that predict together; --run explains another",
                    members->runs.size()));
  }
  const Dataset& dataset = opened.dataset;
  const NodeId node = find_node(dataset, arguments.node);
  const Reloaded reloaded = reload(opened.folder, opened.request, opened.memory, dataset);
  const TrainedOn& trained_on = opened.memory.trained_on;
  Explanation explanation{dataset,
                          trained_on,
                          trained_on.splits.at(arguments.run.run),
                          reloaded.trained_as,
                          node,
                          scores_of(reloaded, node, dataset.targets.task),
                          {},
                          reloaded.flow.numel() > 0,
                          {}};
  explanation.predicted = predicted_columns(dataset.targets, explanation.scores);
  const std::vector<int64_t> columns =
      asked_columns(arguments.column, dataset.targets, explanation.predicted);
  if (explanation.has_flow) {
    for (const int64_t c : columns)
      explanation.shown.push_back({c, reasons_of(dataset.graph, column_of(reloaded.flow, c), node)});
  }
  const size_t top = arguments.top == 0 ? SIZE_MAX : static_cast<size_t>(arguments.top);
  if (global.json) {
    print_json(as_json(explanation, opened, arguments, top));
  } else {
    print_text(as_text(explanation, opened, arguments, top));
  }
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
            "show the paths of this class (label, value), or of all; default: of what is predicted");
  table.add("top", arguments->top, {0, 1e9}, "show so many paths, the largest first; 0: all");
  add_options(*command, table);
  command->footer(
      "An amount above 0 raises the score of the class at this node and lowers it as much at the other end "
      "of the path.\nExample: qw explain runs/teams --node ann --class all");
  command->callback([arguments, command, &global] {
    arguments->run.run_is_given = command->count("--run") > 0;
    explain(*arguments, global);
  });
}

}  // namespace qw::cli
