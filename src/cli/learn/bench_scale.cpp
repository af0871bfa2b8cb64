#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "cli/learn/commands.h"
#include "cli/learn/processes.h"
#include "comm/counted.h"
#include "comm/parts.h"
#include "core/progress.h"
#include "core/text.h"
#include "distributed/train_partition.h"
#include "learn/learn_options.h"
#include "nn/model_options.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

struct ScaleOptions {
  std::string partition;
  ProcessOptions processes;
  TrainRequest request;
  double bandwidth = 10;  // Gbit/s
  double latency = 0.05;  // ms
};

// Of one process in one epoch.
struct EpochCost {
  double seconds = 0;  // all of it
  Traffic traffic;

  double computing() const { return std::max(0.0, seconds - traffic.seconds); }
};

// Rows that parts need of each other in one propagation: [to][from].
using HaloRows = std::vector<std::vector<int64_t>>;

HaloRows halo_rows(const PartitionManifest& manifest) {
  HaloRows rows;
  for (int64_t to = 0; to < manifest.count(); ++to) rows.push_back(outline_of(manifest, to).received);
  return rows;
}

// The rows that the busiest of so many processes sends to others in one propagation.
int64_t most_rows_sent(const HaloRows& rows, int processes) {
  const auto parts = static_cast<int>(rows.size());
  int64_t most = 0;
  for (int process = 0; process < processes; ++process) {
    const PartRange own = parts_of(process, processes, parts);
    int64_t sent = 0;
    for (int to = 0; to < parts; ++to) {
      if (to >= own.begin && to < own.end) continue;
      for (int from = own.begin; from < own.end; ++from) sent += rows[to][from];
    }
    most = std::max(most, sent);
  }
  return most;
}

// The share of all edges that the process with most of them has.
double largest_share(const PartitionManifest& manifest, int processes) {
  int64_t all = 0, most = 0;
  for (int process = 0; process < processes; ++process) {
    const PartRange own = parts_of(process, processes, static_cast<int>(manifest.count()));
    int64_t edges = 0;
    for (int part = own.begin; part < own.end; ++part) edges += manifest.parts[part].edges;
    all += edges;
    most = std::max(most, edges);
  }
  return all == 0 ? 1.0 / processes : static_cast<double>(most) / static_cast<double>(all);
}

constexpr int64_t kWarmEpochs = 2;  // in which all that is made once is made

// The mean of the epochs after these.
EpochCost measure(Comm& comm, const PartitionManifest& manifest, const ScaleOptions& options) {
  CountedComm counted(comm);
  const Dataset labels = labels_of_partition(manifest);
  std::chrono::steady_clock::time_point begin, end;
  Traffic before, after;
  const auto progress = [&](const TrainProgress& epoch) {
    end = std::chrono::steady_clock::now();
    after = counted.traffic();
    if (epoch.record.epoch == kWarmEpochs - 1) begin = end, before = after;
    return true;
  };
  train_partition(
      counted,
      {manifest, labels, options.request, "", {}, progress, {}, device_of_process(options.request.device)});
  const auto epochs = static_cast<double>(options.request.learn.epochs - kWarmEpochs);
  EpochCost cost;
  cost.seconds = std::chrono::duration<double>(end - begin).count() / epochs;
  cost.traffic.calls = std::llround(static_cast<double>(after.calls - before.calls) / epochs);
  cost.traffic.bytes = std::llround(static_cast<double>(after.bytes - before.bytes) / epochs);
  cost.traffic.seconds = (after.seconds - before.seconds) / epochs;
  return cost;
}

struct Prediction {
  int processes = 1;
  double computing = 0, sending = 0, waiting = 0;  // seconds of an epoch
  double bytes = 0;

  double seconds() const { return computing + sending + waiting; }
};

// By the work of all processes, what their halos would be, and the network. Rows of halos are nearly all that
// is sent; where one process was measured there were none to scale, and their width is that of the scores and
// hidden layers.
std::vector<Prediction> predict(const EpochCost& cost, int measured, const PartitionManifest& manifest,
                                const HaloRows& rows, const ScaleOptions& options) {
  const double work = cost.computing() / largest_share(manifest, measured);
  const auto rows_then = static_cast<double>(most_rows_sent(rows, measured));
  std::vector<Prediction> predictions;
  for (int processes = 2; processes <= 64 && processes <= manifest.count(); processes *= 2) {
    Prediction each;
    each.processes = processes;
    each.computing = work * largest_share(manifest, processes);
    each.bytes = static_cast<double>(cost.traffic.bytes) *
                 static_cast<double>(most_rows_sent(rows, processes)) / std::max(1.0, rows_then);
    each.sending = each.bytes / (options.bandwidth * 1e9 / 8);
    each.waiting = static_cast<double>(cost.traffic.calls) * options.latency * 1e-3;
    predictions.push_back(each);
  }
  return predictions;
}

nlohmann::ordered_json json_of(const EpochCost& cost, int processes,
                               const std::vector<Prediction>& predictions) {
  nlohmann::ordered_json predicted = nlohmann::ordered_json::array();
  for (const Prediction& each : predictions) {
    predicted.push_back({{"processes", each.processes},
                         {"milliseconds", 1e3 * each.seconds()},
                         {"computing_ms", 1e3 * each.computing},
                         {"sending_ms", 1e3 * each.sending},
                         {"waiting_ms", 1e3 * each.waiting},
                         {"bytes", each.bytes}});
  }
  return {{"processes", processes},
          {"milliseconds", 1e3 * cost.seconds},
          {"computing_ms", 1e3 * cost.computing()},
          {"bytes", cost.traffic.bytes},
          {"calls", cost.traffic.calls},
          {"peak_rss_mb", peak_rss_mb()},
          {"predicted", predicted}};
}

std::string text_of(const EpochCost& cost, int processes, const std::vector<Prediction>& predictions,
                    const ScaleOptions& options) {
  std::string text = fmt::format(
      "{} of {} with {}: an epoch takes {:.1f} ms, {:.1f} of them computing; process 0 sends {} in {} calls "
      "and has {:.0f} MB at most\n",
      options.request.model, options.partition,
      processes == 1 ? "one process" : fmt::format("{} processes", processes), 1e3 * cost.seconds,
      1e3 * cost.computing(), human_bytes(static_cast<double>(cost.traffic.bytes)), cost.traffic.calls,
      peak_rss_mb());
  if (processes == 1)
    return text + "--processes 2 or more also says what other numbers of machines would take\n";
  text += fmt::format(
      "on machines like this one, each with one process, at {:g} Gbit/s (--bandwidth) and {:g} ms "
      "(--latency):\n{:>9}  {:>10}  {:>10}  {:>8}  {:>8}  {:>10}\n",
      options.bandwidth, options.latency, "processes", "ms", "computing", "sending", "waiting", "sent");
  for (const Prediction& each : predictions) {
    text += fmt::format("{:>9}  {:>10.1f}  {:>10.1f}  {:>8.1f}  {:>8.1f}  {:>10}\n", each.processes,
                        1e3 * each.seconds(), 1e3 * each.computing, 1e3 * each.sending, 1e3 * each.waiting,
                        human_bytes(each.bytes));
  }
  return text;
}

void bench_scale(ScaleOptions& options, const GlobalOptions& global) {
  prepare_libtorch();
  if (const std::string joined = needs_joined_graph(options.request); !joined.empty())
    fail_usage(fmt::format("qw bench scale: {} needs the whole graph in one process", joined));
  const PartitionManifest manifest = open_partition(options.partition);
  if (options.request.learn.epochs <= kWarmEpochs)
    fail_usage(
        fmt::format("qw bench scale: --epochs must be more than the {} that are not measured", kWarmEpochs));
  options.processes.device = options.request.device;
  const std::unique_ptr<Comm> comm =
      join_processes_of(manifest, options.processes, agreement_on(options.request), global);
  if (comm->rank() != 0) set_quiet(true);
  options.request.learn.patience = options.request.learn.epochs;
  const EpochCost cost = measure(*comm, manifest, options);
  if (comm->rank() != 0) return;
  const int processes = comm->size();
  const std::vector<Prediction> predictions =
      processes == 1 ? std::vector<Prediction>()
                     : predict(cost, processes, manifest, halo_rows(manifest), options);
  if (global.json) return print_json(json_of(cost, processes, predictions));
  print_text(text_of(cost, processes, predictions, options));
}

}  // namespace

void add_scale_bench(CLI::App& bench, const GlobalOptions& global) {
  auto options = std::make_shared<ScaleOptions>();
  TrainRequest& request = options->request;
  request.learn.epochs = 8;
  request.learn.solver = "proximal";
  request.baselines = "none";
  CLI::App* scale = bench.add_subcommand(
      "scale", "what an epoch over a partition costs, and what it would on other numbers of machines");
  scale->add_option("partition", options->partition, "the folder that qw data partition made")
      ->required()
      ->check(not_empty());
  FieldTable table("qw bench scale");
  add_process_options(table, options->processes);
  table.add("bandwidth", options->bandwidth, {1e-3, 1e6}, "of the network between the machines, in Gbit/s");
  table.add("latency", options->latency, {0, 1e6}, "of the network, in milliseconds");
  table.add("model", request.model, "NAME", "the network, as in qw train");
  table.add("split", request.split, "SPEC", "who trains, as in qw train");
  table.add("device", request.device, "NAME", "where each process computes, as in qw train");
  add_options(*scale, table);
  add_options(*scale, model_fields(request.model_options));
  add_options(*scale, learn_fields(request.learn));
  scale->callback([options, &global] { bench_scale(*options, global); });
}

}  // namespace qw::cli
