// Exact transport, solver beside solver on the same problems. The known graphs are used when they are in the
// cache (qw data get).
//
//   qw_transport_bench --benchmark_filter=pubmed
//   qw_transport_bench --benchmark_filter='generated_1m/.*'
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "qw/data/load.h"
#include "qw/transport/wasserstein.h"

namespace qw {
namespace {

struct Instance {
  Graph graph;
  std::vector<NodeId> labelled;
  int64_t columns = 1;
  std::vector<double> mu, gamma;
  std::unique_ptr<TransportPlan> plan;
};

// 60 % of the nodes are labelled: gamma is one-hot, mu what an untrained network says, near uniform.
Instance partial(const std::string& data) {
  const Dataset dataset = load_dataset(data);
  Instance instance{.graph = dataset.graph,
                    .labelled = {},
                    .columns = dataset.targets.width,
                    .mu = {},
                    .gamma = {},
                    .plan = {}};
  const RandomStream stream(1, 1);
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node) {
    if (dataset.targets.classes[node] < 0 || stream.uniform(node) > 0.6) continue;
    instance.labelled.push_back(node);
    double sum = 0;
    for (int64_t c = 0; c < instance.columns; ++c) {
      instance.mu.push_back(0.5 + stream.uniform(1'000'000'000 + node * instance.columns + c));
      instance.gamma.push_back(c == dataset.targets.classes[node] ? 1 : 0);
      sum += instance.mu.back();
    }
    for (int64_t c = 0; c < instance.columns; ++c) instance.mu.rbegin()[c] /= sum;
  }
  instance.plan = std::make_unique<TransportPlan>(instance.graph, instance.labelled,
                                                  1.0);  // Cora has parts that are wholly labelled
  return instance;
}

// All nodes are labelled and hold random measures of the same mass; a tree keeps the graph connected. Half of
// the ends are drawn squared, so that degrees are skewed as in citation graphs; costs are uniform in
// [0.5, 1.5].
Instance full(int64_t nodes, int64_t edges, bool unit_costs) {
  const RandomStream stream(2, 7);
  EdgeList list;
  list.num_nodes = nodes;
  for (int64_t e = 0; e < edges; ++e) {
    const bool tree = e + 1 < nodes;
    const double skewed = stream.uniform(4 * e) * stream.uniform(4 * e);
    list.heads.push_back(
        static_cast<NodeId>(tree ? e + 1 : static_cast<int64_t>(skewed * static_cast<double>(nodes))));
    list.tails.push_back(
        static_cast<NodeId>(stream.uniform(4 * e + 1) * static_cast<double>(tree ? e + 1 : nodes)));
    if (!unit_costs) list.costs.push_back(0.5 + stream.uniform(4 * e + 2));
  }
  Instance instance{.graph = Graph::build(std::move(list)),
                    .labelled = {},
                    .columns = 1,
                    .mu = {},
                    .gamma = {},
                    .plan = {}};
  instance.labelled.resize(nodes);
  std::iota(instance.labelled.begin(), instance.labelled.end(), NodeId{0});
  double sum = 0;
  for (int64_t v = 0; v < nodes; ++v) {
    instance.mu.push_back(stream.uniform(8'000'000'000 + 2 * v));
    instance.gamma.push_back(stream.uniform(8'000'000'001 + 2 * v));
    sum += instance.gamma.back() - instance.mu.back();
  }
  for (double& value : instance.mu) value += sum / static_cast<double>(nodes);
  instance.plan = std::make_unique<TransportPlan>(instance.graph, instance.labelled);
  return instance;
}

struct Case {
  std::string name;
  std::function<Instance()> make;
  double gap = 0;
  std::vector<std::string> without;  // solvers that would take minutes
};

const std::vector<Case>& cases() {
  const std::vector<std::string> slow{"network-simplex", "lemon-simplex"};
  const std::vector<std::string> slower{"network-simplex", "cost-scaling", "lemon-simplex", "lemon-scaling"};
  static const std::vector<Case> all = {
      {"cora", [] { return partial("cora"); }, 0, {}},
      {"pubmed", [] { return partial("pubmed"); }, 0, {}},
      {"squirrel", [] { return partial("squirrel"); }, 0, {}},
      {"generated_100k", [] { return full(20'000, 100'000, true); }, 0, {}},
      {"generated_100k_costs", [] { return full(20'000, 100'000, false); }, 0, {}},
      {"generated_1m", [] { return full(170'000, 1'200'000, true); }, 0, slow},
      {"generated_1m_costs", [] { return full(170'000, 1'200'000, false); }, 0, slow},
      {"generated_10m_gap", [] { return full(2'000'000, 10'000'000, true); }, 1e-3, slower},
      {"generated_10m_costs_gap", [] { return full(2'000'000, 10'000'000, false); }, 1e-3, slower},
  };
  return all;
}

// Made once, when first asked for.
const Instance& instance_of(const Case& which) {
  static std::map<std::string, Instance> made;
  const auto found = made.find(which.name);
  return found != made.end() ? found->second : made.emplace(which.name, which.make()).first->second;
}

void run(benchmark::State& state, const Case& which, const std::string& solver) {
  try {
    const Instance& instance = instance_of(which);
    TransportOptions options;
    options.solver = solver;
    options.gap = which.gap;
    double gap = 0, distance = 0;
    for (auto _ : state) {
      const auto columns = instance.plan->solve(instance.mu, instance.gamma, instance.columns, options);
      distance = gap = 0;
      for (const TransportColumn& column : columns) {
        distance += column.distance;
        gap = std::max(gap, (column.upper - column.lower) / column.upper);
      }
    }
    state.counters["distance"] = distance;
    state.counters["gap"] = gap;
    state.counters["columns"] = static_cast<double>(instance.columns);
    state.counters["edges"] = static_cast<double>(instance.graph.num_edges());
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace
}  // namespace qw

int main(int argc, char** argv) {
  for (const qw::Case& which : qw::cases()) {
    std::vector<std::string> solvers{"auto"};
    for (const auto& info : qw::transport_solvers()) {
      if (std::ranges::find(which.without, info.name) == which.without.end()) solvers.push_back(info.name);
    }
    for (const std::string& solver : solvers) {
      benchmark::RegisterBenchmark(
          (which.name + "/" + solver).c_str(),
          [&which, solver](benchmark::State& state) { qw::run(state, which, solver); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime()
          ->MinTime(0.2);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
