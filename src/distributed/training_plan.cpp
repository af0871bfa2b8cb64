#include "distributed/training_plan.h"

#include <ATen/core/TensorBase.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/parts.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/nn/model.h"

namespace qw {
namespace {

constexpr double kNumber = 4;  // bytes: training is in float32

const std::vector<Machine>& machines() {
  static const std::vector<Machine> known{{"cpu", 1000, 50, 10, 0.05}, {"h200", 7000, 2800, 400, 0.02}};
  return known;
}

// Sizes of part, as its counts take them.
PartMeasures measures_of(const PartSummary& part, const RehearsedData& data, const TrainRequest& request,
                         double sent) {
  const auto edges = static_cast<double>(part.edges), cut = static_cast<double>(part.cut_edges);
  const bool all_edges = request.learn.full_flow || request.learn.edge_weights;
  PartMeasures sizes{};
  sizes[kOne] = 1;
  sizes[kNodes] = static_cast<double>(part.nodes);
  sizes[kEntries] = data.directed ? edges - cut / 2 : 2 * edges - cut;
  if (find_solver(request.learn.solver).has_flow)
    sizes[kFlowEdges] = all_edges ? edges : edges * (1 - (1 - data.train) * (1 - data.train));
  sizes[kCutEdges] = cut;
  sizes[kHalo] = static_cast<double>(part.halo);
  sizes[kSent] = sent;
  return sizes;
}

class Planner {
 public:
  Planner(const PartedGraph& graph, const TrainRequest& request, int processes, const Machine& machine)
      : graph_(graph),
        request_(request),
        processes_(processes),
        machine_(machine),
        counts_(rehearse(graph.data, request)) {
    request_.runs = 1;
    const RehearsedData& data = graph.data;
    const ModelShape shape{graph.nodes, graph.edges, data.inputs, data.outputs};
    pass_ = find_model(request.model)
                .make(shape, request.model_options, 0, at::TensorOptions(at::kMeta))
                ->pass_memory(request.learn.edge_weights);
    for (int64_t part = 0; part < count(); ++part)
      sizes_.push_back(measures_of(graph.parts[part], data, request, rows_asked_of(part, 0, 0)));
  }

  PartsPlan plan() {
    PartsPlan plan;
    for (int process = 0; process < processes_; ++process) plan.processes.push_back(of_process(process));
    plan.parameters = parameters_;
    plan.sending = plan.loudest().sent * 8 / (machine_.bandwidth * 1e9);
    if (processes_ > 1) plan.waiting = counts_.calls * machine_.latency * 1e-3;
    return plan;
  }

 private:
  int64_t count() const { return std::ssize(graph_.parts); }

  // Rows of a part that others have in their halo, but for those from `begin` to `end`.
  double rows_asked_of(int64_t part, int64_t begin, int64_t end) const {
    int64_t rows = 0;
    for (int64_t to = 0; to < count(); ++to)
      if (to < begin || to >= end) rows += graph_.outlines[to].received[part];
    return static_cast<double>(rows);
  }
  // Rows of its halo that it has of parts of other processes, as a share.
  double remote_share(int64_t part, const PartRange& own) const {
    int64_t remote = 0, all = 0;
    for (int64_t from = 0; from < count(); ++from) {
      const int64_t rows = graph_.outlines[part].received[from];
      all += rows;
      if (from < own.begin || from >= own.end) remote += rows;
    }
    return all == 0 ? 0.0 : static_cast<double>(remote) / static_cast<double>(all);
  }

  ProcessPlan of_process(int process) {
    const PartRange own = parts_of(process, processes_, static_cast<int>(count()));
    ProcessPlan plan;
    plan.process = process;
    plan.parts = own.count();
    double flops = 0, bytes = 0;
    for (int part = own.begin; part < own.end; ++part) {
      add_memory(plan.items, part);
      const PartMeasures& sizes = sizes_[part];
      PartMeasures to_others = sizes;
      const double remote = remote_share(part, own);
      to_others[kSent] = rows_asked_of(part, own.begin, own.end);
      to_others[kHalo] *= remote;
      to_others[kCutEdges] *= remote;
      if (process == 0) to_others[kNodes] = 0;  // its own rows need not go anywhere
      if (processes_ > 1)
        plan.sent += sum_of(counts_.exchanged, to_others) + counts_.gathered * (processes_ - 1);
      flops += sum_of(counts_.flops, sizes);
      // A multiply-add of a sparse product reads a number from anywhere in memory.
      bytes += sum_of(counts_.bytes, sizes) + kNumber / 2 * counts_.flops[kEntries] * sizes[kEntries];
    }
    plan.computing = flops / (machine_.gflops * 1e9) + bytes / (machine_.memory * 1e9);
    add(plan.items, "rows of the halo", moment_rows(plan.items, own));
    add(plan.items, "labels of all nodes", labels_of_all());
    std::erase_if(plan.items, [](const MemoryItem& item) { return item.bytes == 0; });
    for (const MemoryItem& item : plan.items) plan.bytes += item.bytes;
    plan.end_bytes = plan.bytes;
    if (process == 0) plan.end_bytes = std::max(plan.bytes, at_the_end(plan));
    return plan;
  }

  static void add(std::vector<MemoryItem>& items, const std::string& what, double bytes) {
    const auto known =
        std::find_if(items.begin(), items.end(), [&](const MemoryItem& item) { return item.what == what; });
    if (known == items.end()) {
      items.push_back({what, std::llround(bytes), true});
    } else {
      known->bytes += std::llround(bytes);
    }
  }

  void add_memory(std::vector<MemoryItem>& items, int part) {
    const PartMeasures& sizes = sizes_[part];
    const MemoryPlan alone = memory_plan(training_size(part), request_);
    parameters_ = alone.parameters;
    for (const MemoryItem& item : alone.items) {
      double bytes = static_cast<double>(item.bytes);
      if (item.what == "graph structure") bytes = structure(sizes);
      if (item.what == "edges of the flow") bytes -= 8 * sizes[kFlowEdges];  // a part forgets their numbers
      add(items, item.what, bytes);
    }
    add(items, "rows of the halo", halo_rows(sizes));
  }

  TrainingSize training_size(int part) const {
    const PartMeasures& sizes = sizes_[part];
    const RehearsedData& data = graph_.data;
    const auto whole = [](double number) { return static_cast<int64_t>(std::llround(number)); };
    TrainingSize size;
    size.nodes = graph_.parts[part].nodes;
    size.edges = graph_.parts[part].edges;
    size.entries = whole(sizes[kEntries]);
    size.entries_with_loops = whole(sizes[kEntries] + sizes[kNodes]);
    size.directed = data.directed;
    size.weighted = data.weighted;
    size.has_costs = data.has_costs;
    size.inputs = data.inputs;
    size.stored_features = graph_.outlines[part].stored_features;
    size.sparse_features = data.sparse;
    size.outputs = data.outputs;
    size.classes = data.task == Task::kClassification;
    size.train_nodes = whole(sizes[kNodes] * data.train);
    size.split_nodes = whole(sizes[kNodes] * (data.train + data.val + data.test));
    size.edges_at_labels = whole(sizes[kFlowEdges]);
    return size;
  }

  // The matrix of a part (part_graph.cpp): rows with their values, and where values are learned or every
  // entry has a score, both directions with the numbers of the entries.
  double structure(const PartMeasures& sizes) const {
    if (pass_.graph == GraphUse::kNone) return 0;
    const double entries = sizes[kEntries] + (pass_.self_loops ? sizes[kNodes] : 0),
                 offsets = 8 * sizes[kNodes];
    if (request_.learn.edge_weights || pass_.graph == GraphUse::kOrderedAlone)
      return 2 * (offsets + 8 * sizes[kHalo]) + entries * (4 + 4 + 8 + 8 + (pass_.self_loops ? 8 : 0));
    const bool both = graph_.data.directed;
    const bool two_values = both || pass_.graph == GraphUse::kOrdered;
    return (both ? 2 : 1) * (offsets + 4 * entries) + (two_values ? 2 : 1) * kNumber * entries;
  }

  // Which rows are sent; what the flow brings there; and rows that are fetched with a gradient stay until the
  // way back.
  double halo_rows(const PartMeasures& sizes) const {
    const double of_flow =
        find_solver(request_.learn.solver).has_flow ? (8 + kNumber * graph_.data.outputs) * sizes[kHalo] : 0;
    return 8 * (sizes[kSent] + sizes[kNodes]) + of_flow + counts_.exchanged[kHalo] * sizes[kHalo];
  }

  // The rows of one propagation, those sent and received between processes once more. The first ones may be
  // wider, but come before what an epoch leaves.
  double moment_rows(const std::vector<MemoryItem>& items, const PartRange& own) const {
    const double copies = own.count() > 1 && processes_ > 1 ? 2 : 1;
    double rows = 0, not_yet = 0;
    for (int part = own.begin; part < own.end; ++part)
      rows += sizes_[part][kNodes] + copies * (sizes_[part][kHalo] + sizes_[part][kSent]);
    for (const MemoryItem& item : items) {
      if (item.what == "best state kept" || item.what == "activations" || item.what == "gradients and work")
        not_yet += static_cast<double>(item.bytes);
    }
    return std::max(counts_.widest * rows, counts_.widest_once * rows - not_yet);
  }

  // Of the data and of the run, and the split.
  double labels_of_all() const {
    const RehearsedData& data = graph_.data;
    const double label = data.task == Task::kClassification ? 4 : 8.0 * static_cast<double>(data.outputs);
    return static_cast<double>(graph_.nodes) * (2 * label + 4 * (data.train + data.val + data.test));
  }

  // What process 0 has of all nodes and edges: scores, in float64 too, and the flow with the ends of its
  // edges, beside what it does not need any more.
  int64_t at_the_end(const ProcessPlan& plan) const {
    const RehearsedData& data = graph_.data;
    const auto columns = static_cast<double>(data.outputs), nodes = static_cast<double>(graph_.nodes);
    const bool has_flow = find_solver(request_.learn.solver).has_flow;
    const double scores = nodes * (8 + columns * ((has_flow ? 2 : 1) * kNumber + 4 + 8 + 16 * data.train));
    double flow_edges = 0, spare = 0;
    for (const PartMeasures& sizes : sizes_) flow_edges += sizes[kFlowEdges];
    double cut = 0, edges = 0;
    for (const PartSummary& part : graph_.parts) {
      cut += static_cast<double>(part.cut_edges) / 2;
      edges += static_cast<double>(part.edges);
    }
    const double counted = edges == 0 ? 0 : flow_edges * (edges - cut) / edges;
    const double flow = counted * (17 + 3 * kNumber * columns);
    for (const MemoryItem& item : plan.items) {
      if (item.what == "flow and its moments") spare += static_cast<double>(item.bytes) * 2 / 3;
      if (item.what == "rows of the halo" || item.what == "gradients and work" || item.what == "activations")
        spare += static_cast<double>(item.bytes);
    }
    return plan.bytes + std::llround(std::max(scores, flow) - spare);
  }

  const PartedGraph& graph_;
  TrainRequest request_;
  int processes_;
  Machine machine_;
  EpochCounts counts_;
  PassMemory pass_;
  std::vector<PartMeasures> sizes_;
  int64_t parameters_ = 0;
};

template <class Number>
const ProcessPlan& most(const std::vector<ProcessPlan>& plans, Number ProcessPlan::*number) {
  return *std::max_element(plans.begin(), plans.end(),
                           [&](const ProcessPlan& a, const ProcessPlan& b) { return a.*number < b.*number; });
}

}  // namespace

FieldTable fields(Machine& machine) {
  FieldTable table("--machine");
  table.add("gflops", machine.gflops, {1e-3, 1e9}, "thousand million operations a second in training");
  table.add("memory", machine.memory, {1e-3, 1e9}, "GB/s that training reads and writes");
  table.add("bandwidth", machine.bandwidth, {1e-3, 1e6}, "of the network, Gbit/s");
  table.add("latency", machine.latency, {0, 1e6}, "of a call that waits for the others, ms");
  return table;
}

std::vector<std::string> known_machines() {
  std::vector<std::string> names;
  for (const Machine& machine : machines()) names.push_back(machine.name);
  return names;
}

Machine machine_named(std::string_view spec) {
  const size_t colon = spec.find(':');
  for (Machine machine : machines()) {
    if (machine.name != spec.substr(0, colon)) continue;
    if (colon != std::string_view::npos) fields(machine).parse_spec(spec.substr(colon + 1));
    return machine;
  }
  fail_usage("--machine " + unknown_name(std::string(spec.substr(0, colon)), known_machines()));
}

const ProcessPlan& PartsPlan::largest() const { return most(processes, &ProcessPlan::bytes); }
const ProcessPlan& PartsPlan::loudest() const { return most(processes, &ProcessPlan::sent); }
const ProcessPlan& PartsPlan::slowest() const { return most(processes, &ProcessPlan::computing); }

PartsPlan plan_of(const PartedGraph& graph, const TrainRequest& request, int processes,
                  const Machine& machine) {
  return Planner(graph, request, processes, machine).plan();
}

}  // namespace qw
