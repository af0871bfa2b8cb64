#include <ATen/Functions.h>
#include <fmt/format.h>

#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/processes.h"
#include "comm/halo.h"
#include "comm/parts.h"
#include "core/text.h"
#include "distributed/part_graph.h"
#include "qw/core/error.h"
#include "qw/data/partition.h"

namespace qw::cli {
namespace {

struct HaloOptions {
  std::string partition;
  ProcessOptions processes;
  int64_t columns = 64;
  double seconds = 1.0;
};

// Of one propagation, over all parts.
struct HaloCost {
  int64_t rows = 0, remote_rows = 0;  // those that a part needs of others, and of these of other processes
  double seconds = 0;
};

// Numbers that say of which node and column they are.
at::Tensor rows_of(const Part& part, int64_t count, int64_t columns) {
  constexpr int64_t kDifferent = 1 << 20;  // numbers that float32 holds
  at::Tensor rows = at::empty({count, columns}, at::kFloat);
  auto* out = rows.data_ptr<float>();
  for (int64_t row = 0; row < count; ++row) {
    const int64_t node = part.new_number(static_cast<NodeId>(row));
    for (int64_t c = 0; c < columns; ++c)
      out[row * columns + c] = static_cast<float>((31 * node + c) % kDifferent);
  }
  return rows;
}

HaloCost measure_part(Comm& parts, int processes, const PartitionManifest& manifest,
                      const HaloOptions& options) {
  const Part part = open_part(manifest, parts.rank());
  const HaloPlan plan = halo_plan(part);
  int process = 0;
  while (parts_of(process, processes, parts.size()).end <= parts.rank()) ++process;
  const PartRange here = parts_of(process, processes, parts.size());
  const at::Tensor own_counts = at::zeros({1, 2}, at::kLong);
  for (int other = 0; other < parts.size(); ++other) {
    own_counts[0][0] += plan.received[other];
    if (other < here.begin || other >= here.end) own_counts[0][1] += plan.received[other];
  }
  const at::Tensor counts = parts.gather(own_counts, std::vector<int64_t>(parts.size(), 1)).sum(0);
  const Halo halo(parts, plan);
  const at::Tensor own = rows_of(part, part.own(), options.columns);
  at::Tensor all;
  const double seconds = median_seconds(parts, options.seconds, [&] { all = halo.beside(own); });
  if (!all.equal(rows_of(part, part.own() + halo.rows(), options.columns))) {
    fail(fmt::format("part {} did not receive the rows of its halo: this network damages data", part.number));
  }
  return {counts[0].item<int64_t>(), counts[1].item<int64_t>(), seconds};
}

void print(const HaloCost& cost, int parts, int processes, const HaloOptions& options, bool json) {
  const auto bytes_of = [&](int64_t rows) {
    return rows * options.columns * static_cast<int64_t>(sizeof(float));
  };
  if (json) {
    return print_json({{"parts", parts},
                       {"processes", processes},
                       {"columns", options.columns},
                       {"rows", cost.rows},
                       {"bytes", bytes_of(cost.rows)},
                       {"network_rows", cost.remote_rows},
                       {"network_bytes", bytes_of(cost.remote_rows)},
                       {"milliseconds", 1e3 * cost.seconds}});
  }
  print_text(fmt::format(
      "parts: {}, processes: {}\na propagation of {} columns brings {} rows ({}) to the parts that need "
      "them,\n{} of them ({}) over the network, in {:.3f} ms\n",
      parts, processes, options.columns, with_thousands(cost.rows),
      human_bytes(static_cast<double>(bytes_of(cost.rows))), with_thousands(cost.remote_rows),
      human_bytes(static_cast<double>(bytes_of(cost.remote_rows))), 1e3 * cost.seconds));
}

void bench_halo(const HaloOptions& options, const GlobalOptions& global) {
  const PartitionManifest manifest = open_partition(options.partition);
  const auto parts = static_cast<int>(manifest.count());
  const std::unique_ptr<Comm> comm =
      join_processes_of(manifest, options.processes, {{"columns", std::to_string(options.columns)}}, global);
  prepare_libtorch();
  run_parts(*comm, parts, [&](Comm& part) {
    const HaloCost cost = measure_part(part, comm->size(), manifest, options);
    if (part.rank() == 0) print(cost, parts, comm->size(), options, global.json);
  });
}

}  // namespace

void add_halo_bench(CLI::App& bench, const GlobalOptions& global) {
  auto options = std::make_shared<HaloOptions>();
  CLI::App* halo =
      bench.add_subcommand("halo", "what the processes of a partition exchange in a propagation");
  halo->add_option("partition", options->partition, "the folder that qw data partition made")
      ->required()
      ->check(not_empty());
  FieldTable table("qw bench halo");
  add_process_options(table, options->processes);
  table.add("columns", options->columns, {1, 1e6}, "numbers of each node");
  table.add("seconds", options->seconds, {0, 1e6}, "time to measure");
  add_options(*halo, table);
  halo->callback([options, &global] { bench_halo(*options, global); });
}

}  // namespace qw::cli
