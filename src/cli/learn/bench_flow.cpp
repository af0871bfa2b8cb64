#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "cli/learn/commands.h"
#include "core/text.h"
#include "learn/device.h"
#include "qw/core/random.h"
#include "qw/ops/capture.h"
#include "qw/ops/flow_step.h"

namespace qw::cli {
namespace {

struct FlowBenchOptions {
  int64_t edges = 10'000'000;
  int64_t columns = 47;
  int64_t degree = 50;  // both ends counted
  std::string device = "cpu";
  int64_t repeats = 20;
};

at::Tensor random_nodes(int64_t count, int64_t nodes, uint64_t stream) {
  const RandomStream random(1, stream);
  at::Tensor result = at::empty({count}, at::kInt);
  auto* out = result.data_ptr<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<int32_t>(random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(nodes)));
  }
  return result;
}

// The median time of one call, in seconds.
double seconds_of(const at::Device& device, int64_t repeats, const std::function<void()>& work) {
  std::vector<double> times;
  work();
  for (int64_t k = 0; k < repeats; ++k) {
    wait_for(device);
    const auto begin = std::chrono::steady_clock::now();
    work();
    wait_for(device);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The bytes that a step cannot avoid: flow and moments read and written, the ends of the edges, the residual
// once. Heads ascend, as those of a graph do.
void bench_flow(const FlowBenchOptions& options, const GlobalOptions& global) {
  prepare_libtorch();
  const at::Device device = device_named(options.device);
  const at::TensorOptions tensors = at::TensorOptions(at::kFloat).device(device);
  const int64_t nodes = std::max<int64_t>(1, 2 * options.edges / std::max<int64_t>(1, options.degree));
  const at::Tensor heads = std::get<0>(at::sort(random_nodes(options.edges, nodes, 1).to(device)));
  const FlowEdges edges{heads, random_nodes(options.edges, nodes, 2).to(device), at::empty({0}, tensors)};
  const at::Tensor flow = at::zeros({options.edges, options.columns}, tensors);
  const at::Tensor first = at::zeros_like(flow), second = at::zeros_like(flow);
  const at::Tensor residual = at::rand({nodes, options.columns}, tensors).sub_(0.5);
  const at::Tensor no_extra = at::empty({0}, tensors);
  FlowStepOptions step;
  const double step_seconds = seconds_of(device, options.repeats, [&] {
    flow_step_(flow, first, second, residual, no_extra, edges, step);
    ++step.step;
  });
  const double copy_seconds = seconds_of(device, options.repeats, [&] { first.copy_(flow); });
  const auto bytes = static_cast<double>(6 * flow.nbytes() + 2 * heads.nbytes() + residual.nbytes());
  const double speed = bytes / step_seconds / 1e9;
  const double copy_speed = 2.0 * static_cast<double>(flow.nbytes()) / copy_seconds / 1e9;
  if (global.json) {
    print_json({{"edges", options.edges},
                {"columns", options.columns},
                {"device", options.device},
                {"step_ms", 1e3 * step_seconds},
                {"gb_per_s", speed},
                {"copy_gb_per_s", copy_speed},
                {"share", speed / copy_speed}});
    return;
  }
  print_text(
      fmt::format("flow step on {} edges, {} columns, {}: {:.3f} ms, {:.0f} GB/s; a copy here runs at {:.0f} "
                  "GB/s: {:.0f} %\n",
                  options.edges, options.columns, options.device, 1e3 * step_seconds, speed, copy_speed,
                  100.0 * speed / copy_speed));
}

}  // namespace

void add_flow_bench(CLI::App& bench, const GlobalOptions& global) {
  auto options = std::make_shared<FlowBenchOptions>();
  CLI::App* flow = bench.add_subcommand("flow", "bandwidth of the flow's step, beside that of a copy");
  FieldTable table("qw bench flow");
  table.add("edges", options->edges, {1, 1e10}, "edges that carry flow");
  table.add("columns", options->columns, {1, 1e6}, "classes");
  table.add("degree", options->degree, {1, 1e9}, "edges of a node");
  table.add("device", options->device, "NAME", "cpu, cuda or cuda:N");
  table.add("repeats", options->repeats, {1, 1e6}, "steps to measure");
  add_options(*flow, table);
  flow->callback([options, &global] { bench_flow(*options, global); });
}

}  // namespace qw::cli
