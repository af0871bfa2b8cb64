#include "cli/data_partition.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "core/text.h"
#include "data/load_fields.h"
#include "qw/core/error.h"
#include "qw/data/make_partition.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  DataArguments data;
  PartitionOptions options;
  std::string out;
};

// The largest over the mean: 1 is perfect.
double imbalance(const PartitionManifest& manifest, int64_t PartSummary::*count) {
  double largest = 0, sum = 0;
  for (const PartSummary& part : manifest.parts) {
    largest = std::max(largest, static_cast<double>(part.*count));
    sum += static_cast<double>(part.*count);
  }
  return sum > 0 ? largest * static_cast<double>(manifest.count()) / sum : 1;
}

double share(int64_t count, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all);
}

Json as_json(const PartitionManifest& manifest) {
  Json parts = Json::array();
  int64_t halo = 0;
  for (const PartSummary& part : manifest.parts) {
    parts.push_back({{"nodes", part.nodes},
                     {"halo", part.halo},
                     {"edges", part.edges},
                     {"cut_edges", part.cut_edges},
                     {"file", part.file},
                     {"bytes", part.bytes},
                     {"sha256", part.sha256}});
    halo += part.halo;
  }
  return {{"name", manifest.about.name},
          {"format", "partition"},
          {"of", manifest.about.format},
          {"folder", manifest.folder.string()},
          {"method", manifest.method},
          {"align", manifest.align},
          {"nodes", manifest.nodes},
          {"edges", manifest.edges},
          {"directed", manifest.directed},
          {"features", manifest.schema.features},
          {"task", task_name(manifest.schema.task)},
          {"cut_edges", manifest.cut_edges},
          {"cut_share", share(manifest.cut_edges, manifest.edges)},
          {"halo", halo},
          {"node_imbalance", imbalance(manifest, &PartSummary::nodes)},
          {"edge_imbalance", imbalance(manifest, &PartSummary::edges)},
          {"fingerprint", manifest.fingerprint},
          {"id", manifest.id},
          {"qw", manifest.version},
          {"parts", parts}};
}

std::string as_text(const PartitionManifest& manifest) {
  constexpr int64_t kMostShown = 32;
  const auto with = [](int64_t count) { return with_thousands(count); };
  std::string text = fmt::format("{} in {} part{} ({}{})\n", manifest.about.name, manifest.count(),
                                 manifest.count() == 1 ? "" : "s", manifest.method,
                                 manifest.align > 1 ? fmt::format(", blocks of {}", manifest.align) : "");
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<18}{}\n", name, value);
  };
  int64_t halo = 0;
  for (const PartSummary& part : manifest.parts) halo += part.halo;
  row("nodes", with(manifest.nodes));
  row("edges", fmt::format("{}, {}", with(manifest.edges), manifest.directed ? "directed" : "undirected"));
  row("features", fmt::format("{} columns", with(manifest.schema.features)));
  row("task", task_name(manifest.schema.task));
  row("cut edges",
      fmt::format("{}, {:.1f} %", with(manifest.cut_edges), 100 * share(manifest.cut_edges, manifest.edges)));
  row("halo", fmt::format("{} rows, {:.2f} per node", with(halo), share(halo, manifest.nodes)));
  row("balance",
      fmt::format("largest part over mean: {:.2f} nodes, {:.2f} edges",
                  imbalance(manifest, &PartSummary::nodes), imbalance(manifest, &PartSummary::edges)));
  row("fingerprint", manifest.fingerprint);
  text += fmt::format("  {:>6}{:>14}{:>14}{:>16}{:>16}{:>12}\n", "part", "nodes", "halo", "edges",
                      "cut edges", "size");
  for (int64_t p = 0; p < std::min(manifest.count(), kMostShown); ++p) {
    const PartSummary& part = manifest.parts[p];
    text += fmt::format("  {:>6}{:>14}{:>14}{:>16}{:>16}{:>12}\n", p, with(part.nodes), with(part.halo),
                        with(part.edges), with(part.cut_edges), human_bytes(static_cast<double>(part.bytes)));
  }
  if (manifest.count() > kMostShown)
    text += fmt::format("  and {} more (--json has all)\n", manifest.count() - kMostShown);
  return text;
}

void show(const PartitionManifest& manifest, const GlobalOptions& global) {
  if (global.json) {
    print_json(as_json(manifest));
  } else {
    print_text(as_text(manifest));
  }
}

void cut(const Arguments& arguments, const GlobalOptions& global) {
  if (arguments.options.parts == 0) fail_usage("qw data partition: --parts P is missing");
  if (arguments.out.empty()) fail_usage("qw data partition: --out DIR is missing");
  std::vector<std::string> notes;
  const PartitionManifest manifest =
      make_partition(arguments.data.what, arguments.data.load, arguments.options, arguments.out, notes);
  for (const std::string& note : notes) say(fmt::format("{}: {}", manifest.about.name, note));
  show(manifest, global);
}

}  // namespace

bool show_partition(const DataArguments& arguments, const GlobalOptions& global) {
  if (!arguments.load.edges.empty() || !is_partition(arguments.what)) return false;
  if (const std::string option = given_option(arguments.load); !option.empty()) {
    fail_usage(fmt::format("{} says how to read data, but {} is a partition: it was read when it was cut",
                           option, in_quotes(arguments.what)));
  }
  show(open_partition(arguments.what), global);
  return true;
}

void add_data_partition(CLI::App& data, const GlobalOptions& global) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      data.add_subcommand("partition", "cut a graph into parts that several processes can train on");
  add_data_options(*command, arguments->data);
  FieldTable table("qw data partition");
  PartitionOptions& options = arguments->options;
  table.add("parts", options.parts, {1, 65536}, "how many parts");
  table.add_choice("method", options.method, {"range", "metis"},
                   "range: consecutive nodes, in passes that need not hold the graph; metis: few edges "
                   "between parts");
  table.add("align", options.align, {1, 1 << 30}, "range: parts are multiples of so many nodes");
  table.add("seed", options.seed, {0, 2147483647}, "metis: of its random choices");
  table.add_choice(
      "stream", options.stream, {"auto", "yes", "no"},
      "range: read edges and features in passes (csbm, OGB folders, edge lists of plain numbers); "
      "auto: where that can be");
  table.add("memory", options.memory, {1, 1 << 20}, "range: MiB for sorting the edges of such passes");
  table.add("out", arguments->out, "DIR", "folder to make");
  add_options(*command, table);
  command->callback([arguments, &global] { cut(*arguments, global); });
}

}  // namespace qw::cli
