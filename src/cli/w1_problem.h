// Transport problems and their results as `qw w1` reads and writes them in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/transport/wasserstein.h"

namespace qw::cli {

struct TransportCase {
  EdgeList edges;  // as given
  bool directed = false;
  std::vector<NodeId> labelled;
  int64_t columns = 1;
  bool has_rows = false;      // mu and gamma were given as rows, so that the result has "columns"
  std::vector<double> mu;     // [n, columns]
  std::vector<double> gamma;  // [n, columns]
};

// One JSON object: nodes, directed, edges [[u, v], ...], weights, labelled, mu, gamma. A directed edge [u, v]
// is an arc from u to v. `directed` (false), `weights` (1) and `labelled` (all nodes) may be left out; mu and
// gamma are numbers, or rows of numbers when there are several columns. Throws qw::Error that says what is
// wrong with which field.
TransportCase case_from_json(const nlohmann::ordered_json& object);

// Flows in the order and the direction of the edges as given: on a directed edge [u, v] the flow is >= 0 and
// moves from u to v; on an undirected one a flow > 0 moves from v to u (S[u] = +1, S[v] = -1).
std::vector<TransportColumn> solve_case(const TransportCase& problem, const TransportOptions& options);

// {"status", "distance", "lower", "upper", "primal_residual", "dual_violation", "flow", "potential"} without
// the outer braces; what does not exist is null; an infeasible result has a "component" {"node", "nodes",
// "imbalance"} instead of flow and potential.
std::string result_fields(const TransportColumn& column, const std::string& obstacle_node);

// The answer to a line of a batch, with its line end. What is wrong with the line is answered too, by
// {"error", "line"}, and makes it `bad`; nothing is thrown.
std::string answer_line(const std::string& line, int64_t number, const TransportOptions& options, bool& bad);

// "infeasible: the part of node 17 (3 labelled nodes) is out of balance by 0.25".
std::string describe_obstacle(const TransportObstacle& obstacle, bool directed, const std::string& node);

}  // namespace qw::cli
