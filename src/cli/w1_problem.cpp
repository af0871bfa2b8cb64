#include "cli/w1_problem.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <span>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kMostColumns = 1'000'000;
constexpr double kBytesOfNode = 100;  // and 16 more per column

[[noreturn]] void reject(const std::string& field, const std::string& problem) {
  fail(fmt::format("\"{}\": {}", field, problem));
}

// A value as a message can show it.
std::string shown(const json& value) {
  constexpr size_t kLongest = 40;
  const std::string text = json_text(value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) reject(name, "is missing");
  return *found;
}

const json& array_member(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array()) reject(name, fmt::format("must be a list, is {}", value.type_name()));
  return value;
}

NodeId node_from(const json& value, int64_t nodes, const char* field, size_t position) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() >= nodes) {
    reject(field, fmt::format("entry {} is {}, not a node from 0 to {}", position, shown(value), nodes - 1));
  }
  return value.get<NodeId>();
}

double number_from(const json& value, const char* field, size_t position) {
  if (!value.is_number()) reject(field, fmt::format("entry {} is {}, not a number", position, shown(value)));
  return value.get<double>();
}

// A directed edge [u, v] is an arc from u to v; an undirected one has S[u] = +1 and S[v] = -1.
void read_edges(const json& object, bool directed, EdgeList& edges) {
  const json& given = array_member(object, "edges");
  for (size_t e = 0; e < given.size(); ++e) {
    if (!given[e].is_array() || given[e].size() != 2) {
      reject("edges", fmt::format("entry {} is {}, not a pair of nodes", e, shown(given[e])));
    }
    const NodeId u = node_from(given[e][0], edges.num_nodes, "edges", e);
    const NodeId v = node_from(given[e][1], edges.num_nodes, "edges", e);
    edges.tails.push_back(directed ? u : v);
    edges.heads.push_back(directed ? v : u);
  }
  if (!object.contains("weights")) return;
  const json& weights = array_member(object, "weights");
  if (weights.size() != given.size()) {
    reject("weights", fmt::format("has {} entries for {} edges", weights.size(), given.size()));
  }
  for (size_t e = 0; e < weights.size(); ++e) {
    const double cost = number_from(weights[e], "weights", e);
    if (!(cost >= 0) || !std::isfinite(cost))
      reject("weights", fmt::format("entry {} is {}, not a cost >= 0", e, cost));
    edges.costs.push_back(cost);
  }
}

std::vector<double> read_values(const json& object, const char* field, TransportCase& problem) {
  const json& rows = array_member(object, field);
  if (rows.size() != problem.labelled.size()) {
    reject(field, fmt::format("has {} entries for {} labelled nodes", rows.size(), problem.labelled.size()));
  }
  std::vector<double> values;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!problem.has_rows) {
      values.push_back(number_from(rows[row], field, row));
      continue;
    }
    if (!rows[row].is_array() || static_cast<int64_t>(rows[row].size()) != problem.columns) {
      reject(field, fmt::format("entry {} is not a row of {} numbers", row, problem.columns));
    }
    for (const json& value : rows[row]) values.push_back(number_from(value, field, row));
  }
  return values;
}

void append_number(std::string& text, double value) {
  if (value == 0) {
    text += '0';  // most flows are
  } else if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(text), "{}", value);
  } else {
    text += "null";
  }
}

void append_numbers(std::string& text, std::span<const double> values) {
  text.reserve(text.size() + 4 * values.size());
  text += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    append_number(text, values[i]);
  }
  text += ']';
}

// Other fields may stand in a line, but not one that was meant to be one of ours.
void refuse_misspelt(const json& object) {
  static const std::vector<std::string> known{"nodes",    "directed", "edges", "weights",
                                              "labelled", "mu",       "gamma"};
  for (const auto& [field, value] : object.items()) {
    if (std::ranges::find(known, field) != known.end()) continue;
    if (field == "cost" || field == "costs") reject(field, "is unknown; what edges cost is \"weights\"");
    const auto meant = closest(field, known);
    if (meant) reject(field, fmt::format("is unknown; did you mean \"{}\"?", *meant));
  }
}

// Nodes cost memory, also those of which a line says nothing: a few digits could ask for all there is.
void check_memory(const TransportCase& problem) {
  const double needed = static_cast<double>(problem.edges.num_nodes) *
                        (kBytesOfNode + 16.0 * static_cast<double>(problem.columns));
  const double has =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > has / 4) {
    reject("nodes",
           fmt::format("is {}, which takes {:.0f} GB of memory; a line may take a quarter of the {:.0f} "
                       "GB of this machine",
                       problem.edges.num_nodes, std::ceil(needed / 1e9), has / 1e9));
  }
}

}  // namespace

TransportCase case_from_json(const json& object) {
  if (!object.is_object())
    fail(fmt::format("a problem must be a JSON object, this is {}", object.type_name()));
  refuse_misspelt(object);
  TransportCase problem;
  const json& nodes = member(object, "nodes");
  if (!nodes.is_number_integer() || nodes.get<int64_t>() < 0 || nodes.get<int64_t>() > kMaxNodes) {
    reject("nodes", fmt::format("is {}, not a count from 0 to {}", shown(nodes), kMaxNodes));
  }
  problem.edges.num_nodes = nodes.get<int64_t>();
  if (object.contains("directed")) {
    const json& directed = object.at("directed");
    if (!directed.is_boolean()) reject("directed", "must be true or false");
    problem.directed = directed.get<bool>();
  }
  read_edges(object, problem.directed, problem.edges);
  if (object.contains("labelled")) {
    const json& labelled = array_member(object, "labelled");
    for (size_t i = 0; i < labelled.size(); ++i) {
      problem.labelled.push_back(node_from(labelled[i], problem.edges.num_nodes, "labelled", i));
    }
  } else {
    if (array_member(object, "mu").size() != static_cast<size_t>(problem.edges.num_nodes)) {
      reject("mu", fmt::format("has {} entries for {} nodes, all of them labelled", object.at("mu").size(),
                               problem.edges.num_nodes));
    }
    problem.labelled.resize(problem.edges.num_nodes);
    std::iota(problem.labelled.begin(), problem.labelled.end(), NodeId{0});
  }
  const json& mu = array_member(object, "mu");
  if (!mu.empty() && mu.front().is_array()) {
    problem.has_rows = true;
    problem.columns = static_cast<int64_t>(mu.front().size());
    if (problem.columns == 0 || problem.columns > kMostColumns)
      reject("mu", "a row must have 1 to 1000000 numbers");
  }
  check_memory(problem);
  problem.mu = read_values(object, "mu", problem);
  problem.gamma = read_values(object, "gamma", problem);
  return problem;
}

std::vector<TransportColumn> solve_case(const TransportCase& problem, const TransportOptions& options) {
  BuildReport report;
  const Graph graph = Graph::build(problem.edges,
                                   {.directed = problem.directed,
                                    .duplicates = EdgePolicy::kKeep,
                                    .self_loops = EdgePolicy::kDrop,
                                    .map_given_edges = true},
                                   &report);
  const TransportPlan plan(graph, problem.labelled);
  std::vector<TransportColumn> columns = plan.solve(problem.mu, problem.gamma, problem.columns, options);
  for (TransportColumn& column : columns) {
    if (column.status == TransportStatus::kInfeasible) continue;
    std::vector<double> as_given(problem.edges.heads.size(), 0.0);
    for (size_t e = 0; e < as_given.size(); ++e) {
      const EdgeId edge = report.edge_of_given[e];
      if (edge < 0 || column.flow[edge] == 0) continue;
      as_given[e] = graph.heads()[edge] == problem.edges.heads[e] ? column.flow[edge] : -column.flow[edge];
    }
    column.flow = std::move(as_given);
  }
  return columns;
}

std::string result_fields(const TransportColumn& column, const std::string& obstacle_node) {
  std::string text = fmt::format("\"status\":\"{}\"", name(column.status));
  const std::pair<const char*, double> numbers[] = {{"distance", column.distance},
                                                    {"lower", column.lower},
                                                    {"upper", column.upper},
                                                    {"primal_residual", column.primal_residual},
                                                    {"dual_violation", column.dual_violation}};
  const bool infeasible = column.status == TransportStatus::kInfeasible;
  for (const auto& [field, value] : numbers) {
    text += fmt::format(",\"{}\":", field);
    append_number(text, infeasible ? std::nan("") : value);
  }
  if (infeasible) {
    const json component{{"node", obstacle_node},
                         {"nodes", column.obstacle.num_nodes},
                         {"imbalance", column.obstacle.imbalance}};
    text += ",\"flow\":null,\"potential\":null,\"component\":" + json_text(component);
    return text;
  }
  text += ",\"flow\":";
  append_numbers(text, column.flow);
  text += ",\"potential\":";
  append_numbers(text, column.potential);
  return text;
}

std::string answer_line(const std::string& line, int64_t number, const TransportOptions& options, bool& bad) {
  try {
    const TransportCase problem = case_from_json(parse_json(line, fmt::format("line {}", number)));
    const std::vector<TransportColumn> columns = solve_case(problem, options);
    const auto fields = [&](const TransportColumn& column) {
      return result_fields(column, fmt::format("{}", column.obstacle.node));
    };
    if (!problem.has_rows) return "{" + fields(columns.front()) + "}\n";
    std::string text = "{\"columns\":[";
    for (size_t c = 0; c < columns.size(); ++c)
      text += fmt::format("{}{{{}}}", c > 0 ? "," : "", fields(columns[c]));
    return text + "]}\n";
  } catch (const std::bad_alloc&) {
    bad = true;
    return fmt::format("{{\"error\":\"there is not enough memory for it\",\"line\":{}}}\n", number);
  } catch (const std::exception& error) {
    bad = true;
    return fmt::format("{{\"error\":{},\"line\":{}}}\n", json_text(json(error.what())), number);
  }
}

std::string describe_obstacle(const TransportObstacle& obstacle, bool directed, const std::string& node) {
  const std::string part = fmt::format("the part of node {} ({} labelled node{})", node, obstacle.num_nodes,
                                       obstacle.num_nodes == 1 ? "" : "s");
  if (directed)
    return fmt::format("infeasible: {} cannot move {:.6g} where it is wanted", part, obstacle.imbalance);
  return fmt::format("infeasible: {} is out of balance by {:.6g}", part, obstacle.imbalance);
}

}  // namespace qw::cli
