#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "cli/w1_problem.h"
#include "core/deadline.h"
#include "core/file.h"
#include "core/progress.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "data/formats/gzip.h"
#include "data/formats/node_ids.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw::cli {
namespace {

constexpr double kSecondsToWrite = 5e-8;  // per edge and column

struct W1Arguments {
  DataArguments data;
  std::string mu, gamma, labelled, cost;
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

std::string read_text(const std::string& path) {
  std::string bytes = read_file(path);
  return path.ends_with(".gz") ? gunzip(bytes, path) : bytes;
}

// Values of nodes: a column of ids, then columns of numbers.
struct ValueTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<NodeId> nodes;
  std::vector<double> values;  // [nodes, columns]
};

double value_of(std::string_view field, const std::string& column, const std::string& path, int64_t line) {
  const auto value = parse_number(trim(field));
  if (!value || !std::isfinite(*value)) {
    fail_at_line(path, line,
                 fmt::format("{} in column {} is not a number", in_quotes(field), in_quotes(column)));
  }
  return *value;
}

// A first row of a known node and numbers is no header.
bool is_data(const std::vector<std::string_view>& row, const NodeIds& ids) {
  return ids.find(trim(row[0])) && std::all_of(row.begin() + 1, row.end(), [](std::string_view field) {
           return parse_number(trim(field)).has_value();
         });
}

ValueTable read_value_table(const std::string& path, const NodeIds& ids) {
  const std::string text = read_text(path);
  CsvScanner scanner(text, path);
  std::vector<std::string_view> fields;
  bool more = scanner.next(fields);
  if (!more || fields.size() < 2) {
    fail_at_line(path, 1, "expected a column of node ids and at least one of values");
  }
  ValueTable table{path, {}, {}, {}};
  const size_t width = fields.size();
  const bool headless = is_data(fields, ids);
  for (size_t c = 1; c < width; ++c) {
    table.columns.push_back(headless ? fmt::format("{}", c) : std::string(trim(fields[c])));
  }
  if (!headless) more = scanner.next(fields);
  std::vector<char> seen(ids.size(), 0);
  for (; more; more = scanner.next(fields)) {
    if (fields.size() != width) {
      fail_at_line(path, scanner.line(), fmt::format("expected {} fields, found {}", width, fields.size()));
    }
    const auto node = ids.find(trim(fields[0]));
    if (!node) fail_at_line(path, scanner.line(), ids.explain(trim(fields[0])));
    if (seen[*node]) {
      fail_at_line(path, scanner.line(), fmt::format("node {} stands here twice", in_quotes(fields[0])));
    }
    seen[*node] = 1;
    table.nodes.push_back(*node);
    for (size_t c = 1; c < width; ++c) {
      table.values.push_back(value_of(fields[c], table.columns[c - 1], path, scanner.line()));
    }
  }
  return table;
}

// Ids in a file, one a line, or written down with commas between them.
std::vector<NodeId> read_labelled(const std::string& what, const NodeIds& ids) {
  const bool is_file = std::filesystem::exists(what);
  const std::string text = is_file ? read_text(what) : what;
  std::vector<NodeId> labelled;
  int64_t line = 0;
  for (const std::string& part : split(text, is_file ? '\n' : ',')) {
    ++line;
    const std::string_view id = trim(part);
    if (id.empty()) continue;
    const auto node = ids.find(id);
    if (!node && is_file) fail_at_line(what, line, ids.explain(id));
    if (!node) fail_usage(fmt::format("qw w1: --labelled: {}", ids.explain(id)));
    labelled.push_back(*node);
  }
  return labelled;
}

// Rows of `table` in the order of `labelled`.
std::vector<double> rows_for(const ValueTable& table, const std::vector<NodeId>& labelled,
                             const Dataset& dataset) {
  std::vector<int64_t> row_of(dataset.graph.num_nodes(), -1);
  for (size_t row = 0; row < table.nodes.size(); ++row) row_of[table.nodes[row]] = static_cast<int64_t>(row);
  const size_t width = table.columns.size();
  std::vector<double> values;
  values.reserve(labelled.size() * width);
  for (const NodeId node : labelled) {
    if (row_of[node] < 0) {
      fail(fmt::format("{}: has no row for node {}, which is labelled", table.file,
                       in_quotes(dataset.node_id(node))));
    }
    const double* row = table.values.data() + row_of[node] * width;
    values.insert(values.end(), row, row + width);
  }
  return values;
}

void write_flow(const std::string& path, const Dataset& dataset, const std::vector<std::string>& names,
                const std::vector<TransportColumn>& columns) {
  std::string text = "source,target";
  for (const std::string& column : names) text += "," + csv_field(column);
  text += "\n";
  for (EdgeId e = 0; e < dataset.graph.num_edges(); ++e) {
    text += csv_field(dataset.node_id(dataset.graph.heads()[e])) + "," +
            csv_field(dataset.node_id(dataset.graph.tails()[e]));
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

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// One problem is answered as in a batch; several as a list.
std::string as_json(const Dataset& dataset, const std::vector<std::string>& names,
                    const std::vector<TransportColumn>& columns) {
  std::string text = fmt::format("{{\"nodes\":{},\"edges\":{},\"directed\":{},", dataset.graph.num_nodes(),
                                 dataset.graph.num_edges(), dataset.graph.directed());
  const auto fields = [&](size_t c) {
    const NodeId node = columns[c].obstacle.node;
    return fmt::format("\"name\":{},", quoted(names[c])) +
           result_fields(columns[c], node < 0 ? "" : dataset.node_id(node));
  };
  if (columns.size() == 1) return text + fields(0) + "}\n";
  text += "\"columns\":[";
  for (size_t c = 0; c < columns.size(); ++c) text += (c > 0 ? ",{" : "{") + fields(c) + "}";
  return text + "]}\n";
}

std::string as_text(const Dataset& dataset, const std::vector<std::string>& names,
                    const std::vector<TransportColumn>& columns) {
  TextTable table({"column", "status", "distance", "at least", "at most"});
  std::string remarks;
  for (size_t c = 0; c < columns.size(); ++c) {
    const TransportColumn& column = columns[c];
    const auto number = [](double value) {
      return std::isfinite(value) ? fmt::format("{:.12g}", value) : std::string("-");
    };
    table.add(
        {names[c], name(column.status), number(column.distance), number(column.lower), number(column.upper)});
    if (column.status != TransportStatus::kInfeasible) continue;
    remarks += fmt::format(
        "{}: {}\n", names[c],
        describe_obstacle(column.obstacle, dataset.graph.directed(), dataset.node_id(column.obstacle.node)));
  }
  return table.text() + remarks;
}

void solve_files(const W1Arguments& arguments, const GlobalOptions& global) {
  const Deadline deadline =
      arguments.time_limit > 0 ? Deadline::after_seconds(arguments.time_limit) : Deadline::never();
  if (arguments.mu.empty() || arguments.gamma.empty())
    fail_usage("qw w1: give both --mu and --gamma, or --batch");
  DataArguments data = arguments.data;
  if (!arguments.cost.empty()) data.load.edge_cost = arguments.cost;
  const Dataset dataset = load(data);
  const NodeIds ids = dataset.node_ids.empty() ? NodeIds::row_numbers(dataset.graph.num_nodes(), "the graph")
                                               : NodeIds::named(dataset.node_ids, "the graph");
  ValueTable tables[2];
  parallel_tasks(2,
                 [&](int i) { tables[i] = read_value_table(i == 0 ? arguments.mu : arguments.gamma, ids); });
  const auto& [mu, gamma] = tables;
  if (mu.columns.size() != gamma.columns.size()) {
    fail(fmt::format("{} has {} columns of values, {} has {}", mu.file, mu.columns.size(), gamma.file,
                     gamma.columns.size()));
  }
  const std::vector<NodeId> labelled =
      arguments.labelled.empty() ? mu.nodes : read_labelled(arguments.labelled, ids);
  TransportOptions options = arguments.options();
  const TransportPlan plan(dataset.graph, labelled);
  // What was spent on reading counts, and so does what writing will take.
  const double to_write = kSecondsToWrite * static_cast<double>(dataset.graph.num_edges()) *
                          static_cast<double>(mu.columns.size());
  options.time_limit = std::max(0.0, deadline.seconds_left() - to_write);
  const std::vector<TransportColumn> columns =
      plan.solve(rows_for(mu, labelled, dataset), rows_for(gamma, labelled, dataset),
                 static_cast<int64_t>(mu.columns.size()), options);
  if (!arguments.flow_out.empty()) write_flow(arguments.flow_out, dataset, mu.columns, columns);
  if (!arguments.potential_out.empty())
    write_potential(arguments.potential_out, dataset, mu.columns, columns);
  print_text(global.json ? as_json(dataset, mu.columns, columns) : as_text(dataset, mu.columns, columns));
}

// The answer to one line of a batch; never throws for what the line says.
std::string answer_line(const std::string& line, int64_t number, const TransportOptions& options, bool& bad) {
  try {
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_discarded()) fail("is not JSON");
    const TransportCase problem = case_from_json(object);
    const std::vector<TransportColumn> columns = solve_case(problem, options);
    const auto fields = [&](const TransportColumn& column) {
      return result_fields(column, fmt::format("{}", column.obstacle.node));
    };
    if (!problem.has_rows) return "{" + fields(columns.front()) + "}\n";
    std::string text = "{\"columns\":[";
    for (size_t c = 0; c < columns.size(); ++c)
      text += fmt::format("{}{{{}}}", c > 0 ? "," : "", fields(columns[c]));
    return text + "]}\n";
  } catch (const std::exception& error) {
    bad = true;
    return fmt::format("{{\"error\":{},\"line\":{}}}\n", quoted(error.what()), number);
  }
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
  if (bad_lines > 0) say(fmt::format("{} of {} lines were bad: their answers say why", bad_lines, lines));
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
  command->footer(footer +
                  "\nA line of a batch is a JSON object: nodes, directed, edges [[u, v], ...], weights, "
                  "labelled, mu, gamma; "
                  "its answer has status, distance, lower, upper, flow, potential.");
  FieldTable table("qw w1");
  table.add("mu", arguments->mu, "FILE", "CSV: node ids, then a column of values for each problem");
  table.add("gamma", arguments->gamma, "FILE", "the values that mu is to be moved to");
  table.add(
      "labelled", arguments->labelled, "IDS",
      "the nodes that are bound to their values: a file of ids or ids with commas; default: those in --mu");
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
  command->callback([arguments, &global] {
    if (arguments->batch.empty()) {
      solve_files(*arguments, global);
    } else {
      solve_batch(*arguments);
    }
  });
}

}  // namespace qw::cli
