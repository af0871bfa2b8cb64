// qw train --dry-run over parts, of a partition or of a graph that is not here.
#include <fmt/format.h>

#include "cli/learn/dry_run.h"
#include "cli/table.h"
#include "core/memory.h"
#include "core/text.h"

namespace qw::cli {
namespace {

constexpr size_t kMostParts = 16;  // that are listed

std::string bytes_text(double bytes) { return human_bytes(bytes); }
std::string bytes_text(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

// LibTorch is there already; a tenth of the tensors' memory is kept for the next ones (ops/kept_memory.h).
int64_t process_bytes(int64_t planned, int64_t resident) { return resident + planned + planned / 10; }

std::string parts_text(const PartedGraph& graph) {
  TextTable table({"part", "nodes", "halo", "edges", "cut edges"});
  for (size_t part = 0; part < std::min(graph.parts.size(), kMostParts); ++part) {
    const PartSummary& of = graph.parts[part];
    table.add({std::to_string(part), with_thousands(of.nodes), with_thousands(of.halo),
               with_thousands(of.edges), with_thousands(of.cut_edges)});
  }
  std::string text = table.text();
  if (graph.parts.size() > kMostParts)
    text += fmt::format("and {} more parts\n", graph.parts.size() - kMostParts);
  return text;
}

std::string memory_text(const ProcessPlan& plan, int64_t resident) {
  TextTable table({fmt::format("memory of process {}", plan.process), ""});
  for (const MemoryItem& item : plan.items) table.add({item.what, bytes_text(item.bytes)});
  table.add({"sum", bytes_text(plan.bytes)});
  return table.text() + fmt::format("with LibTorch the process will hold {}\n",
                                    bytes_text(process_bytes(plan.bytes, resident)));
}

std::string time_text(const PartsPlan& plan, const Machine& machine) {
  return fmt::format(
      "an epoch takes about {}: {} computing, {} sending, {} waiting, with machines like {} (--machine): "
      "gflops={:g}, memory={:g} GB/s, bandwidth={:g} Gbit/s, latency={:g} ms\n",
      seconds_text(plan.epoch_seconds()), seconds_text(plan.slowest().computing), seconds_text(plan.sending),
      seconds_text(plan.waiting), machine.name, machine.gflops, machine.memory, machine.bandwidth,
      machine.latency);
}

std::string as_text(const PartedGraph& graph, const TrainRequest& request, const PartsPlan& plan,
                    const Machine& machine, int64_t resident) {
  const size_t processes = plan.processes.size();
  const ProcessPlan &largest = plan.largest(), &loudest = plan.loudest(), &first = plan.processes.front();
  std::string text = fmt::format(
      "{}, {}, {} by {}: {} run{} of at most {} epochs; {} parameters\n{} nodes, {} edges in {} parts ({})\n",
      graph.name, request.model, request.learn.solver,
      processes == 1 ? "one process" : fmt::format("{} processes", processes), request.runs,
      request.runs == 1 ? "" : "s", request.learn.epochs, with_thousands(plan.parameters),
      with_thousands(graph.nodes), with_thousands(graph.edges), graph.parts.size(), graph.how);
  text += parts_text(graph) + memory_text(largest, resident);
  if (first.end_bytes > largest.bytes) {
    text +=
        fmt::format("process 0 will hold {} at the end of a run, with what it says of all nodes and edges\n",
                    bytes_text(process_bytes(first.end_bytes, resident)));
  }
  if (processes > 1)
    text += fmt::format("process {} sends {} in an epoch\n", loudest.process, bytes_text(loudest.sent));
  return text + time_text(plan, machine);
}

nlohmann::ordered_json json_of(const PartedGraph& graph) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const PartSummary& part : graph.parts)
    parts.push_back(
        {{"nodes", part.nodes}, {"halo", part.halo}, {"edges", part.edges}, {"cut_edges", part.cut_edges}});
  return parts;
}

nlohmann::ordered_json json_of(const ProcessPlan& plan, int64_t resident) {
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (const MemoryItem& item : plan.items) items.push_back({{"what", item.what}, {"bytes", item.bytes}});
  return {{"process", plan.process},
          {"parts", plan.parts},
          {"memory", items},
          {"bytes", plan.bytes},
          {"process_bytes", process_bytes(plan.end_bytes, resident)},
          {"sent_bytes", std::llround(plan.sent)},
          {"computing_ms", 1e3 * plan.computing}};
}

nlohmann::ordered_json as_json(const PartedGraph& graph, const TrainRequest& request, const PartsPlan& plan,
                               Machine machine, int64_t resident) {
  nlohmann::ordered_json processes = nlohmann::ordered_json::array();
  for (const ProcessPlan& each : plan.processes) processes.push_back(json_of(each, resident));
  nlohmann::ordered_json of_machine{{"name", machine.name}};
  of_machine.update(fields(machine).to_json());
  return {{"config", to_json(request)},
          {"name", graph.name},
          {"nodes", graph.nodes},
          {"edges", graph.edges},
          {"parts", json_of(graph)},
          {"parameters", plan.parameters},
          {"processes", processes},
          {"machine", of_machine},
          {"epoch_ms", 1e3 * plan.epoch_seconds()},
          {"computing_ms", 1e3 * plan.slowest().computing},
          {"sending_ms", 1e3 * plan.sending},
          {"waiting_ms", 1e3 * plan.waiting}};
}

}  // namespace

void print_dry_run(const PartedGraph& graph, const TrainRequest& request, int processes,
                   const Machine& machine, bool json) {
  const int64_t resident = resident_memory();
  const PartsPlan plan = plan_of(graph, request, processes, machine);
  if (json) return print_json(as_json(graph, request, plan, machine, resident));
  print_text(as_text(graph, request, plan, machine, resident));
}

}  // namespace qw::cli
