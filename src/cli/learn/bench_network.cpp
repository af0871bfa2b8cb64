#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/processes.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

struct NetworkOptions {
  ProcessOptions processes;
  int64_t megabytes = 32;
  double seconds = 1.0;
};

// Of process `rank`, so that what arrives says who sent it.
at::Tensor numbers_of(int rank, int64_t count) { return at::arange(count, at::kLong).mul_(31).add_(rank); }

// Every process sends so many bytes to every other.
double exchange_seconds(Comm& comm, double seconds, int64_t bytes) {
  const int64_t rows = bytes / static_cast<int64_t>(sizeof(int64_t));
  std::vector<int64_t> to_each(comm.size(), rows);
  if (comm.size() > 1) to_each[comm.rank()] = 0;
  const int64_t peers = std::max(1, comm.size() - 1);
  const at::Tensor sent = numbers_of(comm.rank(), rows).repeat({peers});
  const at::Tensor received = at::zeros_like(sent);
  const double result =
      median_seconds(comm, seconds, [&] { comm.exchange(received, to_each, sent, to_each); });
  int64_t at = 0;
  for (int rank = 0; rank < comm.size(); at += to_each[rank++]) {
    if (!received.narrow(0, at, to_each[rank]).equal(numbers_of(rank, to_each[rank])))
      fail(fmt::format("what process {} sent is not what arrived here: this network damages data", rank));
  }
  return result;
}

double gather_seconds(Comm& comm, double seconds, int64_t bytes) {
  const int64_t rows = bytes / static_cast<int64_t>(sizeof(int64_t));
  const std::vector<int64_t> of_each(comm.size(), rows);
  const at::Tensor mine = numbers_of(comm.rank(), rows);
  return median_seconds(comm, seconds, [&] { comm.gather(mine, of_each); });
}

struct Row {
  int64_t bytes = 0;
  double exchange = 0, gather = 0;  // seconds

  double gigabytes_per_second(int processes) const {
    return static_cast<double>(bytes) * std::max(1, processes - 1) / exchange / 1e9;
  }
};

void print(const std::vector<Row>& rows, double barrier, int processes, bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text = fmt::format("processes: {}; a barrier takes {:.1f} us\n{:>12}  {:>14}  {:>14}  {:>12}\n",
                                 processes, 1e6 * barrier, "to each", "exchange", "each sends", "gather");
  for (const Row& row : rows) {
    const double speed = row.gigabytes_per_second(processes);
    list.push_back({{"bytes", row.bytes},
                    {"exchange_us", 1e6 * row.exchange},
                    {"gb_per_s", speed},
                    {"gather_us", 1e6 * row.gather}});
    text +=
        fmt::format("{:>12}  {:>11.1f} us  {:>9.3f} GB/s  {:>9.1f} us\n",
                    human_bytes(static_cast<double>(row.bytes)), 1e6 * row.exchange, speed, 1e6 * row.gather);
  }
  if (!json) return print_text(text);
  print_json({{"processes", processes}, {"barrier_us", 1e6 * barrier}, {"sizes", list}});
}

void bench_network(const NetworkOptions& options, const GlobalOptions& global) {
  const std::unique_ptr<Comm> comm =
      join_processes(options.processes, {{"megabytes", std::to_string(options.megabytes)}}, global);
  prepare_libtorch();
  const double barrier = median_seconds(*comm, options.seconds, [&] { comm->barrier(); });
  std::vector<Row> rows;
  std::vector<int64_t> sizes{8};
  for (int64_t bytes = 1 << 10; bytes <= options.megabytes << 20; bytes *= 32) sizes.push_back(bytes);
  rows.reserve(sizes.size());
  for (const int64_t bytes : sizes)
    rows.push_back({bytes, exchange_seconds(*comm, options.seconds, bytes),
                    gather_seconds(*comm, options.seconds, bytes)});
  if (comm->rank() == 0) print(rows, barrier, comm->size(), global.json);
}

}  // namespace

void add_network_bench(CLI::App& bench, const GlobalOptions& global) {
  auto options = std::make_shared<NetworkOptions>();
  CLI::App* network =
      bench.add_subcommand("network", "latency and bandwidth between the processes of a training");
  FieldTable table("qw bench network");
  add_process_options(table, options->processes);
  table.add("megabytes", options->megabytes, {1, 4096},
            "MiB of the largest message; sizes are 8 B, 1 KiB, and on by 32");
  table.add("seconds", options->seconds, {0, 1e6}, "time for each measurement");
  add_options(*network, table);
  network->callback([options, &global] { bench_network(*options, global); });
}

}  // namespace qw::cli
