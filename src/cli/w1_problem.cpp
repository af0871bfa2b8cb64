#include "cli/w1_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

using nlohmann::json;

constexpr int64_t kMostColumns = 1'000'000;

[[noreturn]] void reject(const std::string& field, const std::string& problem) {
  fail(fmt::format("\"{}\": {}", field, problem));
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
    reject(field, fmt::format("entry {} is {}, not a node from 0 to {}", position, value.dump(), nodes - 1));
  }
  return value.get<NodeId>();
}

double number_from(const json& value, const char* field, size_t position) {
  if (!value.is_number()) reject(field, fmt::format("entry {} is {}, not a number", position, value.dump()));
  return value.get<double>();
}

// A directed edge [u, v] is an arc from u to v; an undirected one has S[u] = +1 and S[v] = -1.
void read_edges(const json& object, bool directed, EdgeList& edges) {
  const json& given = array_member(object, "edges");
  for (size_t e = 0; e < given.size(); ++e) {
    if (!given[e].is_array() || given[e].size() != 2) {
      reject("edges", fmt::format("entry {} is {}, not a pair of nodes", e, given[e].dump()));
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

}  // namespace

TransportCase case_from_json(const json& object) {
  if (!object.is_object())
    fail(fmt::format("a problem must be a JSON object, this is {}", object.type_name()));
  refuse_misspelt(object);
  TransportCase problem;
  const json& nodes = member(object, "nodes");
  if (!nodes.is_number_integer() || nodes.get<int64_t>() < 0 || nodes.get<int64_t>() > kMaxNodes) {
    reject("nodes", fmt::format("is {}, not a count from 0 to {}", nodes.dump(), kMaxNodes));
  }
  problem.edges.num_nodes = nodes.get<int64_t>();
  if (object.contains("directed")) {
    if (!object["directed"].is_boolean()) reject("directed", "must be true or false");
    problem.directed = object["directed"].get<bool>();
  }
  read_edges(object, problem.directed, problem.edges);
  if (object.contains("labelled")) {
    const json& labelled = array_member(object, "labelled");
    for (size_t i = 0; i < labelled.size(); ++i) {
      problem.labelled.push_back(node_from(labelled[i], problem.edges.num_nodes, "labelled", i));
    }
  } else {
    if (array_member(object, "mu").size() != static_cast<size_t>(problem.edges.num_nodes)) {
      reject("mu", fmt::format("has {} entries for {} nodes, all of them labelled", object["mu"].size(),
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
    if (column.flow.empty()) continue;
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
    text += ",\"flow\":null,\"potential\":null,\"component\":" +
            component.dump(-1, ' ', false, json::error_handler_t::replace);
    return text;
  }
  text += ",\"flow\":";
  append_numbers(text, column.flow);
  text += ",\"potential\":";
  append_numbers(text, column.potential);
  return text;
}

std::string describe_obstacle(const TransportObstacle& obstacle, bool directed, const std::string& node) {
  const std::string part = fmt::format("the part of node {} ({} labelled node{})", node, obstacle.num_nodes,
                                       obstacle.num_nodes == 1 ? "" : "s");
  if (directed)
    return fmt::format("infeasible: {} cannot move {:.6g} where it is wanted", part, obstacle.imbalance);
  return fmt::format("infeasible: {} is out of balance by {:.6g}", part, obstacle.imbalance);
}

}  // namespace qw::cli
