#include "data/readers/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/text.h"
#include "data/readers/reader.h"

namespace qw {
std::optional<std::string> find_npz(const FileSet& files, const std::string& entry) {
  if (!entry.empty()) return entry.ends_with(".npz") ? std::optional(entry) : std::nullopt;
  std::optional<std::string> found;
  for (const std::string& name : files.names()) {
    if (!name.ends_with(".npz")) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

bool is_npz_with(const FileSet& files, const std::string& entry, std::initializer_list<const char*> arrays) {
  const std::optional<std::string> name = find_npz(files, entry);
  if (!name) return false;
  std::string bytes = files.read(*name);
  const bool starts_as_zip = bytes.starts_with("PK");
  try {
    const NpzArchive archive(std::move(bytes), files.label(*name));
    return std::count_if(arrays.begin(), arrays.end(),
                         [&](const char* array) { return archive.has(array); }) >= 2;
  } catch (const Error&) {
    return starts_as_zip;
  }
}

NpzArchive open_npz(const FileSet& files, const std::string& entry) {
  const std::optional<std::string> name = find_npz(files, entry);
  if (!name) fail("expected one .npz file, found none or several");
  return {files.read(*name), files.label(*name)};
}

EntryPositions entry_positions(const NpyArray& offsets, const NpyArray& indices, int64_t rows,
                               int64_t columns) {
  const int64_t most_columns = max_nodes_for(indices.data.size() + offsets.data.size());
  if (columns > most_columns) {
    fail(fmt::format("{}: claims {} columns, more than its {} entries can use", indices.label,
                     with_thousands(columns), with_thousands(indices.size())));
  }
  EntryPositions pattern{offsets.as_int64(), indices.as_int32()};
  const std::vector<int64_t>& at = pattern.offsets;
  const auto entries = static_cast<int64_t>(pattern.columns.size());
  if (at.empty() || static_cast<int64_t>(at.size()) - 1 != rows) {
    fail(fmt::format("{}: {} row offsets; {} rows have one more than there are rows", offsets.label,
                     at.size(), rows));
  }
  if (at.front() != 0 || at.back() != entries || !std::is_sorted(at.begin(), at.end())) {
    fail(fmt::format(
        "{}: row offsets run from {} to {}; expected ascending from 0 to {}, the number of entries",
        offsets.label, at.front(), at.back(), entries));
  }
  for (size_t k = 0; k < pattern.columns.size(); ++k) {
    if (pattern.columns[k] < 0 || pattern.columns[k] >= columns) {
      fail(fmt::format("{}: entry {} is in column {}; expected 0 to {}", indices.label, k, pattern.columns[k],
                       columns - 1));
    }
  }
  return pattern;
}

std::vector<float> finite_floats(const NpyArray& array) {
  std::vector<float> values = array.as_float();
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    fail(fmt::format("{}: item {} is {}; expected a finite number", array.label, bad - values.begin(), *bad));
  }
  return values;
}

Features dense_features(NpyArray array) {
  constexpr int64_t kMaxColumns = std::numeric_limits<int32_t>::max();
  if (array.shape.size() != 2 || array.shape[1] > kMaxColumns) {
    fail(fmt::format("{}: expected one row of features per node, found an array of shape [{}]", array.label,
                     fmt::join(array.shape, ", ")));
  }
  check_node_count(array.shape[0], array.data.size(), array.label);
  std::vector<float> values = finite_floats(array);
  array.storage.reset();
  return features_from_dense(array.shape[0], array.shape[1], std::move(values));
}

Targets targets_from_labels(const NpyArray& labels, const std::vector<std::string>& names) {
  if (labels.shape.size() != 1) {
    fail(fmt::format("{}: expected one label per node, found an array of shape [{}]", labels.label,
                     fmt::join(labels.shape, ", ")));
  }
  std::vector<int64_t> classes;
  if (labels.is_floating()) {
    std::vector<double> values = labels.as_double();
    const auto nodes = static_cast<double>(values.size());
    const auto may_be_class = [&](double value) {
      return std::isnan(value) || (value == std::trunc(value) && value >= -1 && value < nodes);
    };
    const auto infinite =
        std::find_if(values.begin(), values.end(), [](double value) { return std::isinf(value); });
    if (infinite != values.end()) {
      fail(fmt::format("{}: the label of node {} is infinite", labels.label, infinite - values.begin()));
    }
    if (!std::all_of(values.begin(), values.end(), may_be_class)) return value_targets(std::move(values));
    for (const double value : values) classes.push_back(std::isnan(value) ? -1 : static_cast<int64_t>(value));
  } else {
    classes = labels.as_int64();
  }
  return with_label(labels.label, [&] { return label_targets(classes, names); });
}

namespace {

EdgePolicy policy_of(const std::string& name) {
  if (name == "keep") return EdgePolicy::kKeep;
  return name == "error" ? EdgePolicy::kError : EdgePolicy::kDrop;
}

// Leaves of every undirected edge that is given in both directions the direction that is given more often, so
// that what is left twice was given twice.
void drop_mirrored(EdgeList& edges) {
  std::vector<size_t> order(edges.heads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto pair_of = [&](size_t e) { return std::minmax(edges.heads[e], edges.tails[e]); };
  const auto place = [&](size_t e) { return std::tuple(pair_of(e), edges.heads[e] > edges.tails[e], e); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  std::vector<bool> dropped(order.size(), false);
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    size_t turn = begin;  // where the other direction begins
    for (end = begin; end < order.size() && pair_of(order[end]) == pair_of(order[begin]); ++end)
      turn += edges.heads[order[end]] <= edges.tails[order[end]];
    const bool forward = turn - begin >= end - turn;
    for (size_t at = forward ? turn : begin; at < (forward ? end : turn); ++at) dropped[order[at]] = true;
  }
  const auto keep = [&](auto& values) {
    size_t kept = 0;
    for (size_t e = 0; e < values.size(); ++e) {
      if (!dropped[e]) values[kept++] = values[e];
    }
    values.resize(kept);
  };
  keep(edges.costs);
  keep(edges.weights);
  keep(edges.heads);
  keep(edges.tails);
}

// How many given edges have another weight or cost than the edge that stands for them.
int64_t count_different(const Graph& graph, const BuildReport& report, const std::vector<double>& costs,
                        const std::vector<double>& weights) {
  int64_t different = 0;
  for (size_t e = 0; e < report.edge_of_given.size(); ++e) {
    const EdgeId edge = report.edge_of_given[e];
    if (edge < 0) continue;
    different += (!costs.empty() && costs[e] != graph.costs()[edge]) ||
                 (!weights.empty() && weights[e] != graph.weights()[edge]);
  }
  return different;
}

// Which of the given edges go from the lower to the higher number.
std::vector<bool> ascending(const EdgeList& edges) {
  std::vector<bool> result(edges.tails.size());
  for (size_t e = 0; e < result.size(); ++e) result[e] = edges.tails[e] < edges.heads[e];
  return result;
}

// Given edges beyond the first of their pair and direction.
int64_t count_repeated(const BuildReport& report, const std::vector<bool>& ascends, int64_t num_edges) {
  std::vector<bool> seen(2 * num_edges);
  int64_t repeated = 0;
  for (size_t e = 0; e < report.edge_of_given.size(); ++e) {
    if (report.edge_of_given[e] < 0) continue;
    const size_t arc = 2 * report.edge_of_given[e] + (ascends[e] ? 1 : 0);
    repeated += seen[arc] ? 1 : 0;
    seen[arc] = true;
  }
  return repeated;
}

}  // namespace

std::vector<std::string> notes_of_building(const DroppedEdges& dropped) {
  std::vector<std::string> notes;
  if (dropped.self_loops > 0) {
    notes.push_back(
        fmt::format("{} self-loops were dropped; --self-loops keep keeps them", dropped.self_loops));
  }
  if (dropped.repeated > 0) {
    notes.push_back(
        fmt::format("{} repeated edges were dropped; --duplicate-edges keep keeps them", dropped.repeated));
  }
  if (dropped.different > 0) {
    notes.push_back(
        fmt::format("{} repeated edges had another weight or cost: the first weight and the lowest cost "
                    "count; --duplicate-edges keep keeps all, error refuses them",
                    dropped.different));
  }
  return notes;
}

Graph build_graph(EdgeList edges, const LoadOptions& options, const std::string& label,
                  std::vector<std::string>& notes) {
  GraphOptions how;
  how.directed = options.directed;
  how.self_loops = policy_of(options.self_loops);
  how.duplicates = policy_of(options.duplicate_edges);
  const bool drops = how.duplicates == EdgePolicy::kDrop;
  how.map_given_edges = drops;
  if (!drops && !options.directed) drop_mirrored(edges);
  const std::vector<double> costs = drops ? edges.costs : std::vector<double>();
  const std::vector<double> weights = drops ? edges.weights : std::vector<double>();
  const std::vector<bool> ascends = drops ? ascending(edges) : std::vector<bool>();
  BuildReport report;
  Graph graph = with_label(label, [&] { return Graph::build(std::move(edges), how, &report); });
  const std::vector<std::string> said = notes_of_building(
      {how.self_loops == EdgePolicy::kDrop ? report.self_loops : 0,
       count_repeated(report, ascends, graph.num_edges()), count_different(graph, report, costs, weights)});
  notes.insert(notes.end(), said.begin(), said.end());
  return graph;
}

}  // namespace qw
