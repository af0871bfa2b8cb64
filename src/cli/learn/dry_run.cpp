#include "cli/learn/dry_run.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "core/memory.h"
#include "core/text.h"
#include "qw/learn/memory_plan.h"

namespace qw::cli {
namespace {

std::string bytes_text(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// What the whole process will hold at most: the data as it was loaded and LibTorch are there already, and a
// tenth of the tensors' memory is kept for the next ones (ops/kept_memory.h). 0 for a GPU, whose plan counts
// its own memory alone.
int64_t process_bytes(const MemoryPlan& plan) {
  const int64_t resident = resident_memory();
  return resident > 0 && device_of(plan.request).is_cpu() ? resident + plan.total() + plan.total() / 10 : 0;
}

std::string as_text(const Dataset& dataset, const MemoryPlan& plan, int64_t available) {
  const TrainRequest& request = plan.request;
  std::string text = fmt::format(
      "{}, {}, {} on {}: {} run{} of at most {} epochs, {} at once; {} parameters each\n", dataset.name,
      request.model, request.learn.solver, request.device, request.runs, request.runs == 1 ? "" : "s",
      request.learn.epochs, plan.runs_at_once, with_thousands(plan.parameters));
  text += fmt::format("{} nodes, {} edges", with_thousands(plan.size.nodes), with_thousands(plan.size.edges));
  if (plan.flow_edges > 0) text += fmt::format(", of which {} carry flow", with_thousands(plan.flow_edges));
  text += "\n";
  TextTable table({"memory", "once", "each run"});
  for (const MemoryItem& item : plan.items) {
    const std::string bytes = bytes_text(item.bytes);
    table.add({item.what, item.per_run ? "" : bytes, item.per_run ? bytes : ""});
  }
  table.add({"sum", bytes_text(plan.once()), bytes_text(plan.each_run())});
  text += table.text();
  if (available == 0)
    return text + fmt::format("needs about {}; what {} has is not known here\n", bytes_text(plan.total()),
                              request.device);
  if (plan.total() > available) return text + what_would_fit(plan, available) + "\n";
  text += fmt::format("needs about {} of the {} that {} has", bytes_text(plan.total()), bytes_text(available),
                      request.device);
  if (const int64_t process = process_bytes(plan); process > 0)
    text += fmt::format("; with the data and LibTorch the process will hold {}", bytes_text(process));
  return text + "\n";
}

nlohmann::ordered_json as_json_document(const Dataset& dataset, const MemoryPlan& plan, int64_t available) {
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (const MemoryItem& item : plan.items) {
    items.push_back({{"what", item.what}, {"bytes", item.bytes}, {"per_run", item.per_run}});
  }
  nlohmann::ordered_json document{{"config", to_json(plan.request)},
                                  {"name", dataset.name},
                                  {"nodes", plan.size.nodes},
                                  {"edges", plan.size.edges},
                                  {"flow_edges", plan.flow_edges},
                                  {"parameters", plan.parameters},
                                  {"runs_at_once", plan.runs_at_once},
                                  {"memory", items},
                                  {"bytes_once", plan.once()},
                                  {"bytes_each_run", plan.each_run()},
                                  {"bytes", plan.total()}};
  if (const int64_t process = process_bytes(plan); process > 0) document["process_bytes"] = process;
  document["device_bytes"] = nullptr;
  if (available > 0) document["device_bytes"] = available;
  if (available > 0) document["fits"] = plan.total() <= available;
  if (available > 0 && plan.total() > available) document["advice"] = what_would_fit(plan, available);
  return document;
}

}  // namespace

void print_dry_run(const Dataset& dataset, const TrainRequest& request, bool as_json) {
  const int64_t available = device_memory(device_of(request));
  const MemoryPlan plan = memory_plan(training_size(dataset, request), request, available);
  if (as_json) return print_json(as_json_document(dataset, plan, available));
  print_text(as_text(dataset, plan, available));
}

}  // namespace qw::cli
