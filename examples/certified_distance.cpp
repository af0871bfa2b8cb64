// The exact Wasserstein-1 distance between two distributions on a graph, with its proof: a flow that costs
// `upper` and a potential that is worth `lower`.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

#include "qw/core.h"
#include "qw/data.h"
#include "qw/transport.h"

int main(int argc, char** argv) {
  try {
    const qw::Graph graph = qw::load_dataset(argc > 1 ? argv[1] : "karate").graph;
    // Half of the mass at each end of the node list becomes an equal share for every node.
    const auto count = static_cast<size_t>(graph.num_nodes());
    std::vector<double> mu(count, 0.0);
    mu.front() = mu.back() = 0.5;
    const std::vector<double> gamma(count, 1.0 / static_cast<double>(count));

    std::vector<qw::NodeId> all(count);
    std::iota(all.begin(), all.end(), 0);
    const qw::TransportPlan plan(graph, all);
    const qw::TransportColumn result = plan.solve(mu, gamma, /*columns=*/1).front();

    std::cout.precision(10);
    std::cout << "status: " << qw::name(result.status) << "\n";
    if (result.status == qw::TransportStatus::kInfeasible) return 1;
    std::cout << "distance: " << result.distance << ", certified to lie in [" << result.lower << ", "
              << result.upper << "]\n"
              << "edges that carry mass: "
              << result.flow.size() - std::count(result.flow.begin(), result.flow.end(), 0.0) << " of "
              << graph.num_edges() << "\n";
  } catch (const qw::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
