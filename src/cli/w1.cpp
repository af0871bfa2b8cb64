#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "cli/w1_pairing.h"
#include "cli/w1_problem.h"
#include "core/deadline.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw::cli {
namespace {

constexpr double kSecondsToWrite = 5e-8;  // per edge and column

struct W1Arguments {
  DataArguments data;
  std::string mu, gamma, labelled, cost;
  std::string absent = "error";
  bool normalize = false;
  std::string batch;
  std::string flow_out, potential_out;
  std::string solver = "auto";
  double gap = 0;
  double time_limit = 0;  // 0: none

  TransportOptions options() const {
    TransportOptions options;
    options.solver = solver;
    options.gap = gap;
    if (time_limit > 0) options.time_limit = time_limit;
    return options;
  }
};

// A positive number is mass that moves from source to target.
void write_flow(const std::string& path, const Dataset& dataset, const std::vector<std::string>& names,
                const std::vector<TransportColumn>& columns) {
  std::string text = "source,target";
  for (const std::string& column : names) text += "," + csv_field(column);
  text += "\n";
  for (EdgeId e = 0; e < dataset.graph.num_edges(); ++e) {
    text += csv_field(dataset.node_id(dataset.graph.tails()[e])) + "," +
            csv_field(dataset.node_id(dataset.graph.heads()[e]));
    for (const TransportColumn& column : columns) {
      text += column.flow.empty() ? "," : fmt::format(",{}", column.flow[e]);
    }
    text += "\n";
  }
  write_file_atomically(path, text);
}

void write_potential(const std::string& path, const Dataset& dataset, const std::vector<std::string>& names,
                     const std::vector<TransportColumn>& columns) {
  std::string text = "id";
  for (const std::string& column : names) text += "," + csv_field(column);
  text += "\n";
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node) {
    text += csv_field(dataset.node_id(node));
    for (const TransportColumn& column : columns) {
      text += column.potential.empty() ? "," : fmt::format(",{}", column.potential[node]);
    }
    text += "\n";
  }
  write_file_atomically(path, text);
}

std::string quoted(const std::string& text) { return json_text(nlohmann::json(text)); }

// What was asked and what came out, for the two ways to print it.
struct Answer {
  const W1Arguments& arguments;
  const Dataset& dataset;
  const ValueProblem& problem;
  std::vector<TransportColumn> columns;

  std::string cost_name() const {
    if (dataset.graph.costs().empty()) return "";
    return arguments.data.load.edge_cost.empty() ? "cost" : arguments.data.load.edge_cost;
  }
};

// Why column `c` is infeasible and what to do.
std::string reason(const Answer& answer, size_t c) {
  const ValueProblem& problem = answer.problem;
  const TransportObstacle& obstacle = answer.columns[c].obstacle;
  const Graph& graph = answer.dataset.graph;
  const ColumnSums sums = sums_of_column(problem, c);
  if (obstacle.num_nodes == graph.num_nodes() && !sums.balanced(TransportOptions{}.balance_tolerance))
    return "infeasible: " + explain_sums(sums);
  const std::string what =
      describe_obstacle(obstacle, graph.directed(), answer.dataset.node_id(obstacle.node));
  if (graph.directed()) return what + "; a directed edge carries mass from its first end to its second only";
  return what +
         "; no edge leads out of it: its values must have equal sums, or --labelled must leave a node "
         "of it free";
}

// One problem is answered as in a batch; several as a list.
std::string as_json(const Answer& answer) {
  const Graph& graph = answer.dataset.graph;
  const std::string cost = answer.cost_name();
  std::string text =
      fmt::format("{{\"nodes\":{},\"edges\":{},\"directed\":{},\"labelled\":{},\"edge_cost\":{},",
                  graph.num_nodes(), graph.num_edges(), graph.directed(), answer.problem.labelled.size(),
                  cost.empty() ? "null" : quoted(cost));
  if (answer.arguments.absent != "error")
    text += fmt::format("\"absent\":{},", quoted(answer.arguments.absent));
  if (answer.arguments.normalize) text += "\"normalized\":true,";
  const auto fields = [&](size_t c) {
    const TransportColumn& column = answer.columns[c];
    const NodeId node = column.obstacle.node;
    std::string named = fmt::format("\"name\":{},", quoted(answer.problem.columns[c])) +
                        result_fields(column, node < 0 ? "" : answer.dataset.node_id(node));
    if (column.status == TransportStatus::kInfeasible) named += ",\"reason\":" + quoted(reason(answer, c));
    return named;
  };
  if (answer.columns.size() == 1) return text + fields(0) + "}\n";
  text += "\"columns\":[";
  for (size_t c = 0; c < answer.columns.size(); ++c) text += (c > 0 ? ",{" : "{") + fields(c) + "}";
  return text + "]}\n";
}

std::string as_text(const Answer& answer) {
  TextTable table({"column", "status", "distance", "at least", "at most"});
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.12g}", value) : std::string("-");
  };
  for (size_t c = 0; c < answer.columns.size(); ++c) {
    const TransportColumn& column = answer.columns[c];
    table.add({answer.problem.columns[c], name(column.status), number(column.distance), number(column.lower),
               number(column.upper)});
  }
  const std::string cost = answer.cost_name();
  return table.text() + (cost.empty()
                             ? "unit: value x edges; every edge costs 1 (--cost names a column of costs)\n"
                             : fmt::format("unit: value x {}\n", printable(cost)));
}

std::string interval_of(const TransportColumn& column) {
  if (std::isinf(column.lower)) return "is beyond the largest number";
  return std::isfinite(column.upper)
             ? fmt::format("is between {:.12g} and {:.12g}", column.lower, column.upper)
             : fmt::format("is at least {:.12g}, if there is one", column.lower);
}

// What to do about a column that is not solved to the end.
std::string advice_for(const TransportColumn& column, const std::string& solver) {
  if (column.status == TransportStatus::kTimeLimit) return "raise --time-limit";
  if (column.status == TransportStatus::kCancelled) return "interrupted";
  if (solver == "primal-dual") return "--solver auto goes on to the exact distance";
  if (std::isinf(column.upper)) return "scale the costs or values down";
  return "costs or values differ by too many orders of magnitude to say more";
}

void note_wide_intervals(const Answer& answer) {
  for (size_t c = 0; c < answer.columns.size(); ++c) {
    const TransportColumn& column = answer.columns[c];
    if (column.status == TransportStatus::kOptimal || column.status == TransportStatus::kInfeasible) continue;
    say(fmt::format("{}: not solved to the end: the distance {}; {}", printable(answer.problem.columns[c]),
                    interval_of(column), advice_for(column, answer.arguments.solver)));
  }
}

// Results are printed by then; the exit code is that of an error.
void fail_if_infeasible(const Answer& answer) {
  constexpr int64_t kMostReasons = 5;
  int64_t infeasible = 0;
  std::string message;
  for (size_t c = 0; c < answer.columns.size(); ++c) {
    if (answer.columns[c].status != TransportStatus::kInfeasible || ++infeasible > kMostReasons) continue;
    message += fmt::format("{}qw: {}: {}", message.empty() ? "" : "\n", printable(answer.problem.columns[c]),
                           reason(answer, c));
  }
  if (infeasible > kMostReasons)
    message += fmt::format("\nqw: {} more columns are infeasible", infeasible - kMostReasons);
  if (infeasible > 0) fail(message);
}

void fail_if_interrupted(const Answer& answer) {
  const auto stopped =
      std::ranges::count(answer.columns, TransportStatus::kCancelled, &TransportColumn::status);
  if (stopped > 0)
    fail(fmt::format("interrupted: {} of {} columns are not solved to the end", stopped,
                     answer.columns.size()));
}

// A folder with a typing error should not be made, nor be found out about after an hour.
void require_place(const char* option, const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path file(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    fail(fmt::format("{} {}: is a folder; name a file", option, printable(path)));
  const std::filesystem::path folder = file.parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  fail(fmt::format("{} {}: there is no folder {}; make it, or name another", option, printable(path),
                   printable(folder.string())));
}

void require_finite_sums(const ValueProblem& problem) {
  for (size_t c = 0; c < problem.columns.size(); ++c) {
    if (std::isfinite(sums_of_column(problem, c).magnitude)) continue;
    fail(
        fmt::format("column {}: the values of --mu and --gamma are too large: the sum of their magnitudes "
                    "overflows; divide both by the same number",
                    in_quotes(problem.columns[c])));
  }
}

NodeIds ids_of(const Dataset& dataset) {
  return dataset.node_ids.empty() ? NodeIds::row_numbers(dataset.graph.num_nodes(), "the graph")
                                  : NodeIds::named(dataset.node_ids, "the graph");
}

ValueProblem read_problem(const W1Arguments& arguments, const NodeIds& ids) {
  ValueQuestion question;
  question.normalize = arguments.normalize;
  question.absent = arguments.absent == "zero"   ? Absent::kZero
                    : arguments.absent == "free" ? Absent::kFree
                                                 : Absent::kError;
  if (!arguments.labelled.empty())
    question.labelled = read_labelled(arguments.labelled, ids, arguments.data.load);
  ValueTable tables[2];
  parallel_tasks(2, [&](int i) {
    tables[i] = read_value_table(i == 0 ? arguments.mu : arguments.gamma, ids, arguments.data.load);
  });
  for (const ValueTable& table : tables) {
    for (const std::string& note : table.notes) say(fmt::format("{}: {}", table.file, note));
  }
  ValueProblem problem = pose_problem(std::move(tables[0]), std::move(tables[1]), question, ids);
  for (const std::string& note : problem.notes) say(note);
  return problem;
}

void solve_files(const W1Arguments& arguments, const GlobalOptions& global) {
  const Deadline deadline =
      arguments.time_limit > 0 ? Deadline::after_seconds(arguments.time_limit) : Deadline::never();
  require_place("--flow", arguments.flow_out);
  require_place("--potential", arguments.potential_out);
  const Dataset dataset = load(arguments.data);
  const ValueProblem problem = read_problem(arguments, ids_of(dataset));
  require_finite_sums(problem);
  const auto num_columns = static_cast<int64_t>(problem.columns.size());
  TransportOptions options = arguments.options();
  const TransportPlan plan(dataset.graph, problem.labelled);
  // What was spent on reading counts, and so does what writing will take.
  const double to_write =
      kSecondsToWrite * static_cast<double>(dataset.graph.num_edges()) * static_cast<double>(num_columns);
  options.time_limit = std::max(0.0, deadline.seconds_left() - to_write);
  options.cancelled = Interrupt::happened;
  const Interrupt interrupt;
  const Answer answer{arguments, dataset, problem,
                      plan.solve(problem.mu, problem.gamma, num_columns, options)};
  if (!arguments.flow_out.empty()) write_flow(arguments.flow_out, dataset, problem.columns, answer.columns);
  if (!arguments.potential_out.empty())
    write_potential(arguments.potential_out, dataset, problem.columns, answer.columns);
  print_text(global.json ? as_json(answer) : as_text(answer));
  note_wide_intervals(answer);
  fail_if_interrupted(answer);
  fail_if_infeasible(answer);
}

void solve_batch(const W1Arguments& arguments) {
  const bool from_standard_input = arguments.batch == "-";
  std::ifstream file;
  if (!from_standard_input) {
    file.open(arguments.batch);
    if (!file) fail(fmt::format("{}: cannot be read", arguments.batch));
  }
  std::istream& input = from_standard_input ? std::cin : file;
  // Who writes a line into a pipe waits for its answer.
  const size_t together = from_standard_input ? 1 : 64 * static_cast<size_t>(thread_count());
  const TransportOptions options = arguments.options();
  int64_t lines = 0;
  int64_t bad_lines = 0;
  std::vector<std::string> block;
  for (bool more = true; more;) {
    block.clear();
    for (std::string line;
         block.size() < together && (more = static_cast<bool>(std::getline(input, line)));) {
      block.push_back(std::move(line));
    }
    std::vector<std::string> answers(block.size());
    std::vector<char> bad(block.size(), 0);
    parallel_tasks(static_cast<int>(block.size()), [&](int i) {
      if (trim(block[i]).empty()) return;
      bool is_bad = false;
      answers[i] = answer_line(block[i], lines + i + 1, options, is_bad);
      bad[i] = is_bad ? 1 : 0;
    });
    for (const std::string& answer : answers) print_text(answer);
    lines += static_cast<int64_t>(block.size());
    bad_lines += std::count(bad.begin(), bad.end(), 1);
  }
  if (bad_lines > 0) fail(fmt::format("{} of {} lines were bad: their answers say why", bad_lines, lines));
}

bool is_given(const CLI::App& command, const std::string& option) { return command.count(option) > 0; }

// A line of a batch is a whole problem, so that all that describes one is of no use beside it.
void refuse_beside_batch(const CLI::App& command) {
  constexpr std::array kUsed = {"--batch", "--solver", "--gap", "--time-limit"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kUsed, name) != kUsed.end()) continue;
    fail_usage(
        fmt::format("qw w1: {} has no use beside --batch, whose lines say all about their problems", name));
  }
}

// Options of data that say nothing about transport.
void refuse_unused_data_options(const CLI::App& command) {
  if (is_given(command, "--edge-weight")) {
    fail_usage("qw w1: --edge-weight has no use here: what an edge costs is named by --cost");
  }
  for (const char* option :
       {"--target", "--task", "--one-hot", "--split-column", "--split-file", "--missing-features"}) {
    if (is_given(command, option))
      fail_usage(fmt::format("qw w1: {} has no use here: the values are those of --mu and --gamma", option));
  }
}

void check_limits(const W1Arguments& arguments) {
  constexpr std::array kStopAtAGap = {"auto", "cost-scaling", "primal-dual"};
  constexpr double kTightestGapOfPrimalDual = 1e-6;
  const std::string& solver = arguments.solver;
  if (arguments.gap > 0 && std::ranges::find(kStopAtAGap, solver) == kStopAtAGap.end()) {
    fail_usage(fmt::format(
        "qw w1: --gap has no use with --solver {}, which goes on to the exact distance; leave one out",
        solver));
  }
  if (solver == "primal-dual" && arguments.gap > 0 && arguments.gap < kTightestGapOfPrimalDual) {
    fail_usage(
        fmt::format("qw w1: --solver primal-dual comes to a gap of 1e-6 at best, not --gap {}; leave one out",
                    arguments.gap));
  }
}

// Throws where options contradict each other or would be ignored.
void check_arguments(W1Arguments& arguments, const CLI::App& command) {
  check_limits(arguments);
  if (is_given(command, "--batch")) {
    refuse_beside_batch(command);
    return;
  }
  refuse_unused_data_options(command);
  // An empty shell variable is no request for the default.
  for (const auto& [option, value] :
       {std::pair{"--labelled", &arguments.labelled}, std::pair{"--cost", &arguments.cost},
        std::pair{"--flow", &arguments.flow_out}, std::pair{"--potential", &arguments.potential_out}}) {
    if (is_given(command, option) && value->empty()) fail_usage(fmt::format("qw w1: {} is empty", option));
  }
  if (arguments.mu.empty() || arguments.gamma.empty())
    fail_usage("qw w1: give both --mu and --gamma, or --batch");
  std::string& edge_cost = arguments.data.load.edge_cost;
  if (!arguments.cost.empty()) {
    if (!edge_cost.empty() && edge_cost != arguments.cost) {
      fail_usage(fmt::format("qw w1: --cost {} and --edge-cost {} name two columns of costs: give one",
                             in_quotes(arguments.cost), in_quotes(edge_cost)));
    }
    edge_cost = arguments.cost;
  }
  if (!arguments.labelled.empty() && arguments.absent == "free") {
    fail_usage("qw w1: --labelled names the nodes that are bound, so that --absent free has no use");
  }
  if (!arguments.flow_out.empty() && arguments.flow_out == arguments.potential_out) {
    fail_usage(fmt::format("qw w1: --flow and --potential would both be written to {}", arguments.flow_out));
  }
}

}  // namespace

void add_w1_command(CLI::App& app, const GlobalOptions& global) {
  auto arguments = std::make_shared<W1Arguments>();
  CLI::App* command =
      app.add_subcommand("w1", "the exact Wasserstein-1 distance between values on a graph, with proof");
  arguments->data.load.missing_features = "none";
  add_data_options(*command, arguments->data);
  std::string footer = "Solvers:\n  auto              the one expected to be quickest";
  std::vector<std::string> names{"auto"};
  for (const TransportSolverInfo& info : transport_solvers()) {
    footer += fmt::format("\n  {:<18}{}", info.name, info.summary);
    names.push_back(info.name);
  }
  command->footer(
      footer +
      "\nFlows: --flow writes source,target and the flow; a positive one moves from source to target, a "
      "negative one (undirected graphs only) from target to source."
      "\nA line of a batch is a JSON object: nodes, directed, edges [[u, v], ...], weights, labelled, mu, "
      "gamma; its answer has status, distance, lower, upper, flow, potential. A flow > 0 on a directed edge "
      "[u, v] moves from u to v; on an undirected one it moves from v to u."
      "\nExit code: 1 when a column is infeasible, a line of a batch is bad, or Ctrl-C came first; 0 when a "
      "line is infeasible.");
  FieldTable table("qw w1");
  table.add("mu", arguments->mu, "FILE", "CSV: node ids, then a column of values for each problem");
  table.add("gamma", arguments->gamma, "FILE", "the values that mu is to be moved to");
  table.add("labelled", arguments->labelled, "IDS",
            "the nodes that are bound to their values, the others give and take freely: a file of ids or ids "
            "with commas; default: all nodes");
  table.add_choice("absent", arguments->absent, {"error", "zero", "free"},
                   "what a node is that has no row in --mu or --gamma: an error, of value 0, or not bound");
  table.add("normalize", arguments->normalize, "divide each column of --mu and of --gamma by its sum");
  table.add("cost", arguments->cost, "COL",
            "column of --edges: what one unit pays for the way, as --edge-cost");
  table.add_choice("solver", arguments->solver, names, "who solves (listed below)");
  table.add("gap", arguments->gap, {0, 1}, "be content with this relative gap; 0: exact");
  table.add("time_limit", arguments->time_limit, {0, 1e9},
            "stop after so many seconds with a certified interval; 0: no limit");
  table.add("flow", arguments->flow_out, "FILE", "write the flow here, as CSV");
  table.add("potential", arguments->potential_out, "FILE", "write the potentials here, as CSV");
  table.add("batch", arguments->batch, "FILE",
            "solve the problems of a file, one JSON object a line; -: standard input");
  add_options(*command, table);
  command->callback([arguments, command, &global] {
    check_arguments(*arguments, *command);
    if (is_given(*command, "--batch")) {
      solve_batch(*arguments);
    } else {
      solve_files(*arguments, global);
    }
  });
}

}  // namespace qw::cli
