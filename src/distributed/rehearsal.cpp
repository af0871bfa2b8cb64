#include "distributed/rehearsal.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <vector>

#include "comm/counted.h"
#include "comm/parts.h"
#include "core/progress.h"
#include "distributed/train_partition.h"
#include "qw/core/work.h"
#include "qw/data/make_partition.h"
#include "qw/graph/generators.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

// More of them than there are measures; none follows from the others.
struct SmallGraph {
  int64_t nodes;
  double degree;
  bool busiest_train;  // else those with fewest edges
};
constexpr SmallGraph kGraphs[] = {{16, 3, false}, {20, 6, true}, {28, 4, false}, {34, 9, true},
                                  {18, 7, false}, {42, 3, true}, {32, 7, false}, {24, 2, true},
                                  {22, 9, false}, {38, 5, true}, {40, 8, false}};
constexpr int64_t kFewEpochs = 2, kMoreEpochs = 4;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "qw-plan-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      fail("cannot make a folder in " + fs::temp_directory_path().string());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path() const { return path_; }

 private:
  std::string path_;
};

class Quietly {
 public:
  Quietly() { set_quiet(true); }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;
  ~Quietly() { set_quiet(before_); }

 private:
  bool before_ = quiet();
};

Graph graph_like(const RehearsedData& data, const Graph& drawn) {
  EdgeList edges;
  edges.num_nodes = drawn.num_nodes();
  edges.heads.assign(drawn.heads().begin(), drawn.heads().end());
  edges.tails.assign(drawn.tails().begin(), drawn.tails().end());
  if (data.weighted) edges.weights.assign(edges.heads.size(), 2.0);
  if (data.has_costs) edges.costs.assign(edges.heads.size(), 2.0);
  return Graph::build(std::move(edges), {data.directed});
}

Features features_like(const RehearsedData& data, int64_t rows) {
  Features features{rows, data.inputs, data.sparse, {}, {}, {}, {}, {}};
  const auto value = [](int64_t at) { return static_cast<float>(1 + at % 7) / 8; };
  if (!data.sparse) {
    for (int64_t at = 0; at < rows * data.inputs; ++at) features.dense.push_back(value(at));
    return features;
  }
  const auto stored = std::clamp<int64_t>(std::llround(data.stored_per_node), 0, data.inputs);
  for (int64_t row = 0; row <= rows; ++row) features.offsets.push_back(row * stored);
  for (int64_t at = 0; at < rows * stored; ++at) {
    features.indices.push_back(static_cast<int32_t>(at % stored));
    features.values.push_back(value(at));
  }
  return features;
}

Targets targets_like(const RehearsedData& data, int64_t nodes) {
  Targets targets{data.task, data.outputs, {}, {}, {}};
  for (int64_t c = 0; c < data.outputs; ++c) targets.names.push_back(std::to_string(c));
  for (int64_t node = 0; node < nodes && data.task == Task::kClassification; ++node)
    targets.classes.push_back(static_cast<int32_t>(node % data.outputs));
  for (int64_t at = 0; at < nodes * data.outputs && data.task != Task::kClassification; ++at)
    targets.values.push_back(static_cast<double>(at / data.outputs % 2));
  return targets;
}

// The shares of the data, with nodes in all three.
Split split_like(const RehearsedData& data, const Graph& graph, bool busiest_train) {
  std::vector<NodeId> nodes(graph.num_nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto degree = [&](NodeId node) { return std::ssize(graph.in().neighbours_of(node)); };
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return busiest_train ? degree(a) > degree(b) : degree(a) < degree(b);
  });
  const int64_t all = std::ssize(nodes);
  const auto count = [&](double share) { return std::max<int64_t>(1, std::llround(share * all)); };
  const int64_t val = count(data.val), test = count(data.test);
  const int64_t train = std::clamp<int64_t>(count(data.train), 1, all - 2);
  const int64_t val_end = std::min(train + val, all - 1), test_end = std::min(val_end + test, all);
  Split split{{nodes.begin(), nodes.begin() + train},
              {nodes.begin() + train, nodes.begin() + val_end},
              {nodes.begin() + val_end, nodes.begin() + test_end}};
  for (std::vector<NodeId>* part : {&split.train, &split.val, &split.test})
    std::sort(part->begin(), part->end());
  return split;
}

Dataset dataset_like(const RehearsedData& data, const SmallGraph& small) {
  CsbmOptions drawn;
  drawn.nodes = small.nodes;
  drawn.degree = small.degree;
  drawn.features = 1;
  drawn.classes = 2;
  drawn.homophily = 0.5;
  Dataset dataset = make_csbm(drawn);
  dataset.graph = graph_like(data, dataset.graph);
  dataset.features = features_like(data, small.nodes);
  dataset.targets = targets_like(data, small.nodes);
  dataset.splits = {split_like(data, dataset.graph, small.busiest_train)};
  return dataset;
}

PartMeasures measures_of(const Part& part, const Split& split, bool all_edges) {
  std::vector<NodeId> trains = split.train;
  const auto is_trained = [&](NodeId row) {
    const NodeId node = row < part.own() ? part.original[row] : part.halo_original[row - part.own()];
    return std::binary_search(trains.begin(), trains.end(), node);
  };
  PartMeasures sizes{};
  sizes[kOne] = 1;
  sizes[kNodes] = static_cast<double>(part.own());
  sizes[kHalo] = static_cast<double>(part.halo.size());
  sizes[kSent] = static_cast<double>(part.send_rows.size());
  for (size_t e = 0; e < part.heads.size(); ++e) {
    const NodeId head = part.heads[e], tail = part.tails[e];
    const bool cut = std::max(head, tail) >= part.own();
    sizes[kCutEdges] += cut ? 1 : 0;
    sizes[kEntries] += (head < part.own() ? 1 : 0) + (!part.directed && tail < part.own() ? 1 : 0);
    sizes[kFlowEdges] += all_edges || is_trained(head) || is_trained(tail) ? 1 : 0;
  }
  return sizes;
}

// What one graph has and what its training did; work is that of both parts.
struct Observation {
  PartMeasures sizes{}, both{};  // of the second part
  double exchanged = 0, flops = 0, bytes = 0, gathered = 0, calls = 0, widest = 0, widest_once = 0;
};

struct Counted {
  Traffic traffic;  // of the second part
  Work work;
  int64_t widest = 0, widest_once = 0;  // of the first part
};

Counted count_epochs(const PartitionManifest& manifest, TrainRequest request, int64_t epochs) {
  request.learn.epochs = request.learn.patience = epochs;
  const Dataset labels = labels_of_partition(manifest);
  const std::unique_ptr<Comm> process = alone();
  Counted counted;
  const Work before = work_done();
  run_parts(*process, 2, [&](Comm& part) {
    CountedComm comm(part);
    const auto progress = [&](const TrainProgress& epoch) {
      if (epoch.record.epoch > 0) return true;
      counted.widest_once = comm.traffic().widest;
      comm.forget_widest();
      return true;
    };
    train_partition(comm, {manifest, labels, request, "", {}, progress});
    if (part.rank() == 0) counted.widest = comm.traffic().widest;
    if (part.rank() == 1) counted.traffic = comm.traffic();
  });
  const Work after = work_done();
  counted.work = {after.flops - before.flops, after.bytes - before.bytes};
  return counted;
}

Observation observe(const RehearsedData& data, const TrainRequest& request, const SmallGraph& small) {
  const TemporaryFolder folder;
  PartitionOptions cut;
  cut.parts = 2;
  cut.align = 1;
  std::vector<std::string> notes;
  const Dataset dataset = dataset_like(data, small);
  const PartitionManifest manifest = make_partition(dataset, cut, folder.path() / "parts", notes);
  const bool all_edges = request.learn.full_flow || request.learn.edge_weights;
  const bool has_flow = find_solver(request.learn.solver).has_flow;
  Observation seen;
  for (int64_t number = 0; number < 2; ++number) {
    seen.sizes = measures_of(open_part(manifest, number), dataset.splits[0], all_edges);
    if (!has_flow) seen.sizes[kFlowEdges] = 0;
    for (size_t k = 0; k < kMeasures; ++k) seen.both[k] += seen.sizes[k];
  }
  const Counted few = count_epochs(manifest, request, kFewEpochs);
  const Counted more = count_epochs(manifest, request, kMoreEpochs);
  constexpr double kEpochs = kMoreEpochs - kFewEpochs;
  const auto each = [](int64_t a, int64_t b) { return static_cast<double>(b - a) / kEpochs; };
  seen.exchanged = each(few.traffic.exchanged, more.traffic.exchanged);
  seen.gathered =
      each(few.traffic.bytes - few.traffic.exchanged, more.traffic.bytes - more.traffic.exchanged);
  seen.calls = each(few.traffic.calls, more.traffic.calls);
  seen.widest = static_cast<double>(more.widest);
  seen.widest_once = static_cast<double>(more.widest_once);
  seen.flops = each(few.work.flops, more.work.flops);
  seen.bytes = each(few.work.bytes, more.work.bytes);
  return seen;
}

using Column = std::vector<long double>;

long double product(const Column& a, const Column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
}

// By least squares; a measure that follows from those before it adds nothing. Gram and Schmidt.
PartMeasures fitted(const std::vector<PartMeasures>& sizes, const std::vector<double>& counts) {
  constexpr long double kDependent = 1e-9L;
  const Column target(counts.begin(), counts.end());
  std::vector<Column> basis;
  std::vector<size_t> measure;
  std::vector<std::array<long double, kMeasures>> shares;  // of each basis column in each measure
  for (size_t k = 0; k < kMeasures; ++k) {
    Column column;
    for (const PartMeasures& each : sizes) column.push_back(each[k]);
    const long double length = product(column, column);
    for (size_t b = 0; b < basis.size(); ++b) {
      const long double share = product(basis[b], column) / product(basis[b], basis[b]);
      shares[b][k] = share;
      for (size_t i = 0; i < column.size(); ++i) column[i] -= share * basis[b][i];
    }
    if (product(column, column) <= kDependent * length || length == 0) continue;
    basis.push_back(column);
    measure.push_back(k);
    shares.emplace_back();
  }
  PartMeasures result{};
  for (size_t b = basis.size(); b-- > 0;) {
    long double value = product(basis[b], target) / product(basis[b], basis[b]);
    for (size_t later = b + 1; later < basis.size(); ++later)
      value -= shares[b][measure[later]] * static_cast<long double>(result[measure[later]]);
    result[measure[b]] = static_cast<double>(value);
  }
  return result;
}

}  // namespace

double sum_of(const PartMeasures& counts, const PartMeasures& sizes) {
  return std::inner_product(counts.begin(), counts.end(), sizes.begin(), 0.0);
}

EpochCounts rehearse(const RehearsedData& data, const TrainRequest& asked) {
  const Quietly quietly;
  TrainRequest request = asked;
  request.runs = 1;
  request.split = "stored";
  request.baselines = request.scale_features = "none";
  request.checkpoint_every = 0;
  std::vector<PartMeasures> sizes, both;
  std::vector<double> exchanged, flops, bytes;
  EpochCounts counts;
  for (const SmallGraph& small : kGraphs) {
    const Observation seen = observe(data, request, small);
    sizes.push_back(seen.sizes);
    for (const PartMeasure none : {kOne, kEntries, kFlowEdges})
      sizes.back()[none] = 0;  // no rows go for these
    both.push_back(seen.both);
    exchanged.push_back(seen.exchanged);
    flops.push_back(seen.flops);
    bytes.push_back(seen.bytes);
    counts.gathered = seen.gathered;
    counts.calls = seen.calls;
    counts.widest = std::max(counts.widest, seen.widest);
    counts.widest_once = std::max(counts.widest_once, seen.widest_once);
  }
  counts.exchanged = fitted(sizes, exchanged);
  counts.flops = fitted(both, flops);
  counts.bytes = fitted(both, bytes);
  return counts;
}

}  // namespace qw
