#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/data_partition.h"
#include "core/text.h"
#include "qw/graph/statistics.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const Targets& targets, int64_t k) {
  return targets.names.empty() ? std::to_string(k) : targets.names[k];
}

// Nodes of each class, or those that have each of several labels.
std::vector<int64_t> nodes_per_class(const Targets& targets) {
  if (targets.task != Task::kMultiLabel) return class_counts(targets);
  std::vector<int64_t> counts(targets.width, 0);
  for (size_t k = 0; k < targets.values.size(); ++k) counts[k % targets.width] += targets.values[k] == 1.0;
  return counts;
}

Json class_balance(const Targets& targets) {
  Json balance = Json::array();
  const std::vector<int64_t> counts = nodes_per_class(targets);
  const auto labelled = static_cast<double>(std::max<int64_t>(1, targets.labelled()));
  for (size_t c = 0; c < counts.size(); ++c) {
    balance.push_back({{"class", name_of(targets, static_cast<int64_t>(c))},
                       {"nodes", counts[c]},
                       {"share", static_cast<double>(counts[c]) / labelled}});
  }
  return balance;
}

Json value_summary(const Targets& targets, int64_t column) {
  double lowest = INFINITY, highest = -INFINITY, mean = 0;
  int64_t known = 0;
  for (int64_t node = 0; node < targets.size(); ++node) {
    const double value = targets.values[node * targets.width + column];
    if (std::isnan(value)) continue;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    ++known;
    mean += (value - mean) / static_cast<double>(known);  // a sum could overflow
  }
  if (known == 0) return nullptr;
  return {{"name", targets.names.empty() ? Json(nullptr) : Json(targets.names[column])},
          {"mean", mean},
          {"min", lowest},
          {"max", highest},
          {"missing", targets.size() - known}};
}

// An object for one value per node, a list of them for several; null where classes are learned.
Json value_summaries(const Targets& targets) {
  if (targets.task != Task::kRegression) return nullptr;
  if (targets.width == 1) return value_summary(targets, 0);
  Json summaries = Json::array();
  for (int64_t column = 0; column < targets.width; ++column)
    summaries.push_back(value_summary(targets, column));
  return summaries;
}

Json describe_columns(const std::vector<TableColumn>& columns) {
  Json described = Json::array();
  for (const TableColumn& column : columns) {
    described.push_back({{"name", column.name},
                         {"role", column.role},
                         {"type", column.type.empty() ? Json(nullptr) : Json(column.type)},
                         {"categories", column.values.size()},
                         {"missing", column.missing},
                         {"fill", column.fill && column.missing > 0 ? Json(*column.fill) : Json(nullptr)}});
  }
  return described;
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
  info["target"] = value_summaries(dataset.targets);
  info["columns"] = describe_columns(dataset.columns);
  info["notes"] = dataset.notes;
  return info;
}

using Row = std::function<void(const char* name, const std::string& value)>;

// "number", "12 categories": what a column is, in words.
std::string type_in_words(const Json& column) {
  if (column["type"].is_null()) return "";
  const auto type = column["type"].get<std::string>();
  const int64_t categories = column["categories"].get<int64_t>();
  return categories > 0 ? fmt::format("{} {}", with_thousands(categories), type) : type;
}

std::string column_in_words(const Json& column) {
  std::string words = column["role"].get<std::string>();
  if (const std::string type = type_in_words(column); !type.empty()) words += ", " + type;
  if (const auto missing = column["missing"].get<int64_t>(); missing > 0) {
    words += fmt::format(", {} missing", with_thousands(missing));
    if (!column["fill"].is_null())
      words += fmt::format(" (filled with {:.6g})", column["fill"].get<double>());
  }
  return words;
}

void show_columns(const Json& columns, const Row& row) {
  constexpr size_t kMostShown = 40;
  std::map<std::string, int64_t> rest;
  for (size_t k = 0; k < columns.size(); ++k) {
    if (k < kMostShown) {
      row("column", printable(columns[k]["name"].get<std::string>()) + ": " + column_in_words(columns[k]));
      continue;
    }
    const auto type = columns[k]["type"].is_null() ? "" : ", " + columns[k]["type"].get<std::string>();
    ++rest[columns[k]["role"].get<std::string>() + type];
  }
  for (const auto& [kind, count] : rest)
    row("column", fmt::format("and {} more: {} (--json has all)", with_thousands(count), kind));
}

void show_values(const Json& value, const Row& row) {
  if (value.is_array()) {
    for (const Json& each : value) show_values(each, row);
  } else if (value.is_object()) {
    const std::string name =
        value["name"].is_null() ? "" : printable(value["name"].get<std::string>()) + ": ";
    row("target", fmt::format("{}mean {:.6g}, {:.6g} to {:.6g}, {} missing", name,
                              value["mean"].get<double>(), value["min"].get<double>(),
                              value["max"].get<double>(), with_thousands(value["missing"].get<int64_t>())));
  }
}

void show_classes(const Json& balance, const char* title, const Row& row) {
  constexpr size_t kMostShown = 20;
  for (size_t k = 0; k < balance.size(); ++k) {
    if (k == kMostShown) {
      row(title, fmt::format("and {} more (--json has all)", balance.size() - kMostShown));
      break;
    }
    row(title, fmt::format("{}: {} nodes, {:.1f} %", printable(balance[k]["class"].get<std::string>()),
                           with_thousands(balance[k]["nodes"].get<int64_t>()),
                           100 * balance[k]["share"].get<double>()));
  }
}

std::string as_text(const Json& info) {
  std::string text =
      fmt::format("{} ({})\n", info["name"].get<std::string>(), info["format"].get<std::string>());
  const Row row = [&](const char* name, const std::string& value) {
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
  show_columns(info["columns"], row);
  row("task", fmt::format("{}, {} nodes labelled", info["task"].get<std::string>(), count("labelled")));
  if (!info["intra_edge_rate"].is_null()) {
    row("intra-edge rate", fmt::format("{:.1f} %", info["intra_edge_rate_percent"].get<double>()));
  }
  show_values(info["target"], row);
  row("stored splits", count("splits"));
  show_classes(info["class_balance"], info["task"] == "multi-label" ? "label" : "class", row);
  return text;
}

}  // namespace

void add_data_info(CLI::App& data, const GlobalOptions& global) {
  auto arguments = std::make_shared<DataArguments>();
  CLI::App* command =
      data.add_subcommand("info", "what a graph is like: counts, homophily, components, duplicates");
  add_data_options(*command, *arguments);
  command->callback([arguments, &global] {
    if (show_partition(*arguments, global)) return;
    const Json info = describe(load(*arguments));
    if (global.json) {
      print_json(info);
    } else {
      print_text(as_text(info));
    }
  });
}

}  // namespace qw::cli
