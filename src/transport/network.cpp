#include "transport/network.h"

namespace qw::transport {

Arcs arcs_of(const Network& network) {
  const int64_t edges = network.num_edges();
  Arcs arcs;
  arcs.offsets.assign(network.num_nodes + 1, 0);
  for (int64_t e = 0; e < edges; ++e) {
    ++arcs.offsets[network.sources[e] + 1];
    ++arcs.offsets[network.targets[e] + 1];
  }
  for (int32_t v = 0; v < network.num_nodes; ++v) arcs.offsets[v + 1] += arcs.offsets[v];
  arcs.arcs.resize(2 * edges);
  arcs.ends.resize(2 * edges);
  std::vector<int64_t> next(arcs.offsets.begin(), arcs.offsets.end() - 1);
  const auto place = [&](int32_t node, int64_t arc, int32_t end) {
    const int64_t at = next[node]++;
    arcs.arcs[at] = arc;
    arcs.ends[at] = end;
  };
  for (int64_t e = 0; e < edges; ++e) {
    place(network.sources[e], 2 * e, network.targets[e]);
    place(network.targets[e], 2 * e + 1, network.sources[e]);
  }
  return arcs;
}

std::vector<double> divergence(const Network& network, std::span<const double> flow) {
  std::vector<double> result(network.num_nodes, 0.0);
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    if (flow[e] == 0) continue;
    result[network.sources[e]] += flow[e];
    result[network.targets[e]] -= flow[e];
  }
  return result;
}

}  // namespace qw::transport
