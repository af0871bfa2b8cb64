#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>

#include "core/text.h"
#include "data/readers/ogb_table.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Published split schemes, in the order in which they are looked for.
constexpr const char* kSchemes[] = {"random", "sales_ranking", "species", "time"};

constexpr const char* kYearTarget = "year";
constexpr int64_t kYearClasses = 5;

bool is_missing(std::string_view field) { return field.empty() || field == "nan" || field == "NaN"; }

// -1 where it is missing. Integers beside a missing one are often written as "3.0".
int32_t whole_or_missing(const LineScanner& lines, std::string_view field, std::string_view what,
                         int64_t last) {
  if (is_missing(field)) return -1;
  if (field.ends_with(".0")) field.remove_suffix(2);
  return static_cast<int32_t>(lines.integer_in(field, what, 0, last));
}

Targets read_classes(const NumberTable& table) {
  const int64_t nodes = table.rows();
  std::vector<int64_t> classes(nodes);
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t, std::string_view field) {
    classes[row] = whole_or_missing(lines, field, "label", kMaxNodes);
  });
  return with_label(table.label(), [&] { return label_targets(classes); });
}

Targets read_label_bits(const NumberTable& table) {
  Targets targets;
  targets.task = Task::kMultiLabel;
  targets.width = table.columns();
  targets.values.resize(table.rows() * table.columns());
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t column, std::string_view field) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!is_missing(field)) {
      value = lines.real(field, "label");
      if (value != 0.0 && value != 1.0) {
        lines.reject(
            fmt::format("label {} is none of 0, 1 and nan, as each of several labels is", in_quotes(field)));
      }
    }
    targets.values[row * targets.width + column] = value;
  });
  return targets;
}

Targets read_labels(const FileSet& files, const std::string& folder, int64_t nodes) {
  const NumberTable table(files, folder + "node-label");
  table.require_rows(nodes, "one per node");
  check_node_count(nodes, table.bytes(), table.label());
  return table.columns() > 1 ? read_label_bits(table) : read_classes(table);
}

// The first year of every class but the first: the quantiles k/5 as numpy has them, linear between the two
// nearest years, and rounded up to a year. In whole numbers, so that no rounding moves a year.
std::vector<int32_t> first_years(std::vector<int32_t> years) {
  std::sort(years.begin(), years.end());
  std::vector<int32_t> firsts;
  for (int64_t k = 1; k < kYearClasses; ++k) {
    const int64_t place = k * (static_cast<int64_t>(years.size()) - 1);
    const int32_t below = years[place / kYearClasses], above = years[place / kYearClasses + 1];
    const int64_t fifths = (place % kYearClasses) * (above - below);
    firsts.push_back(below + static_cast<int32_t>((fifths + kYearClasses - 1) / kYearClasses));
  }
  return firsts;
}

// "to 2013", "2014-2016", "2017", "from 2018".
std::vector<std::string> year_names(const std::vector<int32_t>& firsts) {
  std::vector<std::string> names = {fmt::format("to {}", firsts.front() - 1)};
  for (size_t k = 0; k + 1 < firsts.size(); ++k) {
    const int32_t first = firsts[k], last = firsts[k + 1] - 1;
    names.push_back(first > last    ? "no year"
                    : first == last ? fmt::format("{}", first)
                                    : fmt::format("{}-{}", first, last));
  }
  names.push_back(fmt::format("from {}", firsts.back()));
  return names;
}

// The classes of arXiv-year (Lim et al., NeurIPS 2021): spans of years with about as many nodes each.
Targets read_year_classes(const FileSet& files, const std::string& folder, int64_t nodes) {
  const std::string stem = folder + "node_year";
  if (!find_csv(files, stem)) {
    fail(fmt::format("{}: no such file, but --target {} needs the year of each node",
                     files.label(csv_name(files, stem)), kYearTarget));
  }
  const NumberTable table(files, stem);
  table.require_rows(nodes, "one per node");
  table.require_columns(1);
  check_node_count(nodes, table.bytes(), table.label());
  std::vector<int32_t> years(nodes);
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t, std::string_view field) {
    years[row] = whole_or_missing(lines, field, "year", 9999);
  });
  std::vector<int32_t> known;
  std::copy_if(years.begin(), years.end(), std::back_inserter(known), [](int32_t year) { return year >= 0; });
  if (static_cast<int64_t>(known.size()) < kYearClasses) {
    fail(fmt::format("{}: {} years are too few for {} classes of them", table.label(), known.size(),
                     kYearClasses));
  }
  const std::vector<int32_t> firsts = first_years(std::move(known));
  std::vector<int32_t> classes(nodes, -1);
  for (int64_t node = 0; node < nodes; ++node) {
    if (years[node] < 0) continue;
    const auto next = std::upper_bound(firsts.begin(), firsts.end(), years[node]);
    classes[node] = static_cast<int32_t>(next - firsts.begin());
  }
  return class_targets(std::move(classes), year_names(firsts));
}

Features read_features(const FileSet& files, const std::string& folder, int64_t nodes) {
  if (!find_csv(files, folder + "node-feat")) return {};
  const NumberTable table(files, folder + "node-feat");
  table.require_rows(nodes, "one per node");
  const int64_t columns = table.columns();
  std::vector<float> values(nodes * columns);
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t column, std::string_view field) {
    values[row * columns + column] = lines.real_float(field, "feature");
  });
  return features_from_dense(nodes, columns, std::move(values));
}

EdgeList read_edges(const FileSet& files, const std::string& folder, int64_t nodes) {
  const NumberTable table(files, folder + "edge");
  table.require_rows(read_count(files, folder + "num-edge-list", "number of edges"), "one per edge");
  table.require_columns(2);
  EdgeList edges;
  edges.num_nodes = nodes;
  edges.heads.resize(table.rows());
  edges.tails.resize(table.rows());
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t column, std::string_view field) {
    std::vector<NodeId>& ends = column == 0 ? edges.tails : edges.heads;
    ends[row] = static_cast<NodeId>(lines.integer_in(field, "node id", 0, nodes - 1));
  });
  return edges;
}

// Marks the nodes of one part of a split in `taken`, so that no node stands twice.
std::vector<NodeId> read_part(const FileSet& files, const std::string& stem, const Targets& targets,
                              std::vector<bool>& taken) {
  const NumberTable table(files, stem);
  table.require_columns(1);
  const auto nodes = static_cast<int64_t>(taken.size());
  std::vector<NodeId> part(table.rows());
  table.each_field([&](const LineScanner& lines, int64_t row, int64_t, std::string_view field) {
    part[row] = static_cast<NodeId>(lines.integer_in(field, "node id", 0, nodes - 1));
    if (!targets.known(part[row])) lines.reject(fmt::format("node {} has no label", part[row]));
  });
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (taken[part[row]]) {
      fail_at_line(table.label(), row + 1, fmt::format("node {} is in the split already", part[row]));
    }
    taken[part[row]] = true;
  }
  std::sort(part.begin(), part.end());
  return part;
}

// The folder of the first scheme there is: in split/ or, when the user named the folder raw/, beside it.
std::optional<std::string> find_scheme(const FileSet& files, bool inside_raw) {
  for (const char* scheme : kSchemes) {
    for (const char* folder : {"split/", "../split/"}) {
      const std::string stem = std::string(folder) + scheme;
      if (find_csv(files, stem + "/train")) return stem;
      if (!inside_raw) break;
    }
  }
  return std::nullopt;
}

void read_split(const FileSet& files, bool inside_raw, Dataset& dataset) {
  const auto folder = find_scheme(files, inside_raw);
  if (!folder) return;
  std::vector<bool> taken(dataset.graph.num_nodes(), false);
  Split split;
  split.train = read_part(files, *folder + "/train", dataset.targets, taken);
  split.val = read_part(files, *folder + "/valid", dataset.targets, taken);
  split.test = read_part(files, *folder + "/test", dataset.targets, taken);
  dataset.splits.push_back(std::move(split));
  dataset.notes.push_back("the split is the published one by " + folder->substr(folder->rfind('/') + 1));
}

bool recognises_ogb(const FileSet& files, const std::string& entry) {
  if (!entry.empty())
    return (entry == "edge.csv" || entry == "edge.csv.gz") && find_csv(files, "num-node-list");
  return find_csv(files, "raw/edge") || (find_csv(files, "edge") && find_csv(files, "num-node-list"));
}

// "ogbn_arxiv" for ".../ogbn_arxiv/raw/edge.csv.gz".
std::string name_of(const std::filesystem::path& edge_file) {
  std::filesystem::path folder = edge_file.parent_path();
  if (folder.filename() == "raw") folder = folder.parent_path();
  return folder.has_filename() ? folder.filename().string() : kOgbReader.name;
}

// Whether years are to be learned instead of the folder's labels.
bool wants_years(const std::string& target) {
  if (!target.empty() && target != kYearTarget) {
    fail_usage(fmt::format("--target {}; leave it out to learn the labels of the OGB folder",
                           unknown_name(target, {kYearTarget})));
  }
  return !target.empty();
}

Dataset read_ogb(const FileSet& files, const std::string& /*entry*/, const LoadOptions& options) {
  const bool by_year = wants_years(options.target);
  const bool inside_raw = !find_csv(files, "raw/edge");
  const std::string folder = inside_raw ? "" : "raw/";
  const int64_t nodes = read_count(files, folder + "num-node-list", "number of nodes");
  const std::string edge_label = files.label(csv_name(files, folder + "edge"));
  Dataset dataset;
  dataset.format = kOgbReader.name;
  dataset.name = name_of(edge_label);
  dataset.targets = by_year ? read_year_classes(files, folder, nodes) : read_labels(files, folder, nodes);
  dataset.features = read_features(files, folder, nodes);
  dataset.graph = build_graph(read_edges(files, folder, nodes), options, edge_label, dataset.notes);
  // The published split goes by time: it would part the classes of years.
  if (!by_year) {
    read_split(files, inside_raw, dataset);
  } else if (find_scheme(files, inside_raw)) {
    dataset.notes.emplace_back("the published split is left out: it is not for learning years");
  }
  return dataset;
}

}  // namespace

const Reader kOgbReader = {
    "ogb", "an OGB node-property folder with raw/edge.csv.gz, raw/node-label.csv.gz and so on",
    recognises_ogb, read_ogb};

}  // namespace qw
