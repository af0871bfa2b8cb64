#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "core/text.h"
#include "qw/graph/statistics.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

Json class_balance(const Targets& targets) {
  Json balance = Json::array();
  const std::vector<int64_t> counts = class_counts(targets);
  const auto labelled = static_cast<double>(std::max<int64_t>(1, targets.labelled()));
  for (size_t c = 0; c < counts.size(); ++c) {
    const std::string name = targets.names.empty() ? std::to_string(c) : targets.names[c];
    balance.push_back(
        {{"class", name}, {"nodes", counts[c]}, {"share", static_cast<double>(counts[c]) / labelled}});
  }
  return balance;
}

Json value_summary(const Targets& targets) {
  double lowest = INFINITY, highest = -INFINITY, mean = 0;
  int64_t known = 0;
  for (const double value : targets.values) {
    if (std::isnan(value)) continue;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    ++known;
    mean += (value - mean) / static_cast<double>(known);  // a sum could overflow
  }
  if (known == 0) return nullptr;
  return {{"mean", mean}, {"min", lowest}, {"max", highest}};
}

Json describe(const Dataset& dataset) {
  const Graph& graph = dataset.graph;
  const DegreeStatistics degrees = degree_statistics(graph);
  const std::optional<double> intra = intra_edge_rate(graph, dataset.targets);
  Json info;
  info["name"] = dataset.name;
  info["format"] = dataset.format;
  info["nodes"] = graph.num_nodes();
  info["edges"] = graph.num_edges();
  info["directed"] = graph.directed();
  info["features"] = dataset.features.columns;
  info["feature_nnz"] = dataset.features.nonzeros();
  info["feature_storage"] = dataset.features.sparse ? "sparse" : "dense";
  info["task"] = task_name(dataset.targets.task);
  info["classes"] = dataset.targets.task == Task::kClassification ? dataset.targets.width : 0;
  info["labelled"] = dataset.targets.labelled();
  info["intra_edge_rate"] = intra ? Json(*intra) : Json(nullptr);
  info["intra_edge_rate_percent"] = intra ? Json(100 * *intra) : Json(nullptr);
  info["isolated_nodes"] = degrees.isolated;
  info["components"] = connected_components(graph).count;
  info["duplicate_nodes"] = duplicate_nodes(graph, dataset.targets);
  info["degree"] = {{"mean", degrees.mean},
                    {"median", degrees.median},
                    {"min", degrees.smallest},
                    {"max", degrees.largest}};
  info["edge_costs"] = !graph.costs().empty();
  info["edge_weights"] = !graph.weights().empty();
  info["splits"] = dataset.splits.size();
  info["class_balance"] = class_balance(dataset.targets);
  info["target"] = dataset.targets.task == Task::kRegression ? value_summary(dataset.targets) : Json(nullptr);
  info["notes"] = dataset.notes;
  return info;
}

std::string as_text(const Json& info) {
  std::string text =
      fmt::format("{} ({})\n", info["name"].get<std::string>(), info["format"].get<std::string>());
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<18}{}\n", name, value);
  };
  const auto count = [&](const char* field) { return with_thousands(info[field].get<int64_t>()); };
  row("nodes", fmt::format("{} ({} isolated)", count("nodes"), count("isolated_nodes")));
  row("edges",
      fmt::format("{}, {}", count("edges"), info["directed"].get<bool>() ? "directed" : "undirected"));
  row("degree", fmt::format("mean {:.2f}, median {:g}, {} to {}", info["degree"]["mean"].get<double>(),
                            info["degree"]["median"].get<double>(), info["degree"]["min"].get<int64_t>(),
                            info["degree"]["max"].get<int64_t>()));
  row("components", count("components"));
  row("duplicate nodes", count("duplicate_nodes") + " (same neighbours and label)");
  row("features", fmt::format("{} columns, {} non-zeros, kept {}", count("features"), count("feature_nnz"),
                              info["feature_storage"].get<std::string>()));
  row("task", fmt::format("{}, {} nodes labelled", info["task"].get<std::string>(), count("labelled")));
  if (!info["intra_edge_rate"].is_null()) {
    row("intra-edge rate", fmt::format("{:.1f} %", info["intra_edge_rate_percent"].get<double>()));
  }
  if (info["target"].is_object()) {
    row("target", fmt::format("mean {:.6g}, {:.6g} to {:.6g}", info["target"]["mean"].get<double>(),
                              info["target"]["min"].get<double>(), info["target"]["max"].get<double>()));
  }
  row("stored splits", count("splits"));
  constexpr size_t kMostShown = 20;
  size_t shown = 0;
  for (const Json& entry : info["class_balance"]) {
    if (shown++ == kMostShown) {
      row("class", fmt::format("and {} more (--json has all)", info["class_balance"].size() - kMostShown));
      break;
    }
    row("class",
        fmt::format("{}: {} nodes, {:.1f} %", entry["class"].get<std::string>(),
                    with_thousands(entry["nodes"].get<int64_t>()), 100 * entry["share"].get<double>()));
  }
  return text;
}

}  // namespace

void add_data_info(CLI::App& data, const GlobalOptions& global) {
  auto arguments = std::make_shared<DataArguments>();
  CLI::App* command =
      data.add_subcommand("info", "what a graph is like: counts, homophily, components, duplicates");
  add_data_options(*command, *arguments);
  command->callback([arguments, &global] {
    const Json info = describe(load(*arguments));
    if (global.json) {
      print_json(info);
    } else {
      print_text(as_text(info));
    }
  });
}

}  // namespace qw::cli
