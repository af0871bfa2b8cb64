#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "core/text.h"
#include "data/formats/lines.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr const char* kEdgeFile = "out1_graph_edges.txt";
constexpr const char* kNodeFile = "out1_node_feature_label.txt";

// Two ways to write features are published under the same file names: most data sets give a 0 or a 1 for each
// feature, film gives the indices of the features that are 1. The rule: when every number in the file is 0 or
// 1, it is the plain form, and all rows must be equally long; one larger number makes all rows lists of
// indices. Lists longer than the number of features are refused, since they are the plain form with a bad
// value.
enum class FeatureForm { kPlain, kIndices };

// Rows in the order of the file.
struct NodeRows {
  std::vector<NodeId> ids;
  std::vector<int32_t> labels;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> indices;  // of the features that are 1
  int64_t columns = 0;
  int64_t longest = 0;     // numbers in the longest row
  int64_t index_line = 0;  // where the first number above 1 stands; 0: nowhere
};

bool starts_with_integer(std::string_view line) {
  std::string_view first;
  SeparatedFields(line, '\t').next(first);
  return parse_integer(trim(first)).has_value();
}

// Past the header line, which must be one: a file without it would silently lose its first row.
LineScanner after_header(const std::string& text, const std::string& label, std::string_view header) {
  LineScanner lines(text, label);
  if (!lines.next()) fail(fmt::format("{}: expected a header line '{}', found an empty file", label, header));
  if (starts_with_integer(lines.line())) {
    lines.reject(fmt::format("expected a header line '{}', found {}", header, in_quotes(lines.line())));
  }
  return lines;
}

bool is_single_bit(std::string_view text, size_t at) {
  return (text[at] == '0' || text[at] == '1') && (at + 1 == text.size() || text[at + 1] == ',');
}

// Appends one row of the plain form; false when it has a number above 1.
bool add_plain_row(const LineScanner& lines, std::string_view features, int64_t largest_index,
                   NodeRows& rows) {
  int64_t column = 0;
  for (size_t at = 0; at < features.size(); ++column) {
    bool is_one = false;
    if (is_single_bit(features, at)) {
      is_one = features[at] == '1';
      at += 2;
    } else {
      const std::string_view field = features.substr(at, features.find(',', at) - at);
      const int64_t value = lines.integer_in(field, "feature", 0, largest_index);
      if (value > 1) return false;
      is_one = value == 1;
      at += field.size() + 1;
    }
    if (is_one) rows.indices.push_back(static_cast<int32_t>(column));
  }
  if (features.ends_with(',')) lines.reject("the list of features ends in a comma");
  if (rows.ids.size() == 1) rows.columns = column;
  if (column != rows.columns) {
    lines.reject(fmt::format("expected {} features as in the first row, found {}", rows.columns, column));
  }
  return true;
}

void add_index_row(const LineScanner& lines, std::string_view features, int64_t largest_index,
                   NodeRows& rows) {
  if (features.empty()) return;
  const auto begin = static_cast<std::ptrdiff_t>(rows.indices.size());
  SeparatedFields fields(features, ',');
  for (std::string_view field; fields.next(field);) {
    const int64_t index = lines.integer_in(field, "feature", 0, largest_index);
    if (index > 1 && rows.index_line == 0) rows.index_line = lines.line_number();
    rows.columns = std::max(rows.columns, index + 1);
    rows.indices.push_back(static_cast<int32_t>(index));
  }
  rows.longest = std::max(rows.longest, static_cast<int64_t>(rows.indices.size()) - begin);
  // The published lists name some features twice.
  std::sort(rows.indices.begin() + begin, rows.indices.end());
  rows.indices.erase(std::unique(rows.indices.begin() + begin, rows.indices.end()), rows.indices.end());
}

// Nothing when the rows turn out not to have the form.
std::optional<NodeRows> read_rows(const std::string& text, const std::string& label, FeatureForm form) {
  LineScanner lines = after_header(text, label, "node_id<TAB>feature<TAB>label");
  const int64_t nodes = count_lines(text) - 1;
  const int64_t largest_index = std::min(max_nodes_for(text.size()), kMaxNodes) - 1;
  check_node_count(nodes, text.size(), label);
  std::vector<int64_t> line_of(nodes, 0);
  NodeRows rows;
  while (lines.next()) {
    std::array<std::string_view, 3> fields;
    const size_t count = split_fields(SeparatedFields(lines.line(), '\t'), fields);
    if (count != fields.size()) {
      lines.reject(fmt::format("expected 3 tab-separated fields (id, features, label), found {}", count));
    }
    const int64_t id = lines.integer_in(fields[0], "node id", 0, nodes - 1);
    if (line_of[id] != 0) lines.reject(fmt::format("node {} stands on line {} already", id, line_of[id]));
    line_of[id] = lines.line_number();
    rows.ids.push_back(static_cast<NodeId>(id));
    rows.labels.push_back(static_cast<int32_t>(lines.integer_in(fields[2], "label", 0, kMaxNodes)));
    if (form == FeatureForm::kIndices) {
      add_index_row(lines, fields[1], largest_index, rows);
    } else if (!add_plain_row(lines, fields[1], largest_index, rows)) {
      return std::nullopt;
    }
    rows.offsets.push_back(static_cast<int64_t>(rows.indices.size()));
  }
  return rows;
}

NodeRows read_nodes(const std::string& text, const std::string& label) {
  if (auto plain = read_rows(text, label, FeatureForm::kPlain)) return std::move(*plain);
  NodeRows rows = *read_rows(text, label, FeatureForm::kIndices);
  if (rows.longest > rows.columns) {
    fail_at_line(
        label, rows.index_line,
        fmt::format("a feature is neither 0 nor 1, and rows of {} numbers are too long to be lists of "
                    "indices from 0 to {}",
                    rows.longest, rows.columns - 1));
  }
  return rows;
}

Features features_by_id(const NodeRows& rows) {
  const size_t nodes = rows.ids.size();
  std::vector<int64_t> offsets(nodes + 1, 0);
  for (size_t row = 0; row < nodes; ++row) {
    offsets[rows.ids[row] + 1] = rows.offsets[row + 1] - rows.offsets[row];
  }
  for (size_t node = 0; node < nodes; ++node) offsets[node + 1] += offsets[node];
  std::vector<int32_t> indices(rows.indices.size());
  for (size_t row = 0; row < nodes; ++row) {
    std::copy(rows.indices.begin() + rows.offsets[row], rows.indices.begin() + rows.offsets[row + 1],
              indices.begin() + offsets[rows.ids[row]]);
  }
  return features_from_rows(rows.columns, std::move(offsets), std::move(indices),
                            std::vector<float>(rows.indices.size(), 1.0f));
}

Targets targets_by_id(const NodeRows& rows) {
  std::vector<int64_t> classes(rows.ids.size());
  for (size_t row = 0; row < rows.ids.size(); ++row) classes[rows.ids[row]] = rows.labels[row];
  return label_targets(classes);
}

EdgeList read_edges(const std::string& text, const std::string& label, int64_t nodes) {
  LineScanner lines = after_header(text, label, "node_id<TAB>node_id");
  EdgeList edges;
  edges.num_nodes = nodes;
  while (lines.next()) {
    std::array<std::string_view, 2> ends;
    const size_t count = split_fields(SeparatedFields(lines.line(), '\t'), ends);
    if (count != ends.size())
      lines.reject(fmt::format("expected 2 tab-separated node ids, found {} fields", count));
    edges.tails.push_back(static_cast<NodeId>(lines.integer_in(ends[0], "node id", 0, nodes - 1)));
    edges.heads.push_back(static_cast<NodeId>(lines.integer_in(ends[1], "node id", 0, nodes - 1)));
  }
  return edges;
}

bool recognises_geom_gcn(const FileSet& files, const std::string& entry) {
  if (entry.empty()) return files.has(kEdgeFile) && files.has(kNodeFile);
  return entry == kEdgeFile || entry == kNodeFile;
}

Dataset read_geom_gcn(const FileSet& files, const std::string& /*entry*/, const LoadOptions& options) {
  const std::string edge_label = files.label(kEdgeFile);
  const std::string folder = std::filesystem::path(edge_label).parent_path().filename().string();
  const NodeRows rows = read_nodes(files.read_text(kNodeFile), files.label(kNodeFile));
  const auto nodes = static_cast<int64_t>(rows.ids.size());
  Dataset dataset;
  dataset.format = kGeomGcnReader.name;
  dataset.name = folder.empty() ? dataset.format : folder;
  dataset.graph = build_graph(read_edges(files.read_text(kEdgeFile), edge_label, nodes), options, edge_label,
                              dataset.notes);
  dataset.features = features_by_id(rows);
  dataset.targets = with_label(files.label(kNodeFile), [&] { return targets_by_id(rows); });
  if (rows.index_line != 0) {
    dataset.notes.push_back(
        fmt::format("features are read as lists of indices, since line {} of {} has a number above 1",
                    rows.index_line, kNodeFile));
  }
  return dataset;
}

}  // namespace

const Reader kGeomGcnReader = {"geom-gcn",
                               "a folder with out1_graph_edges.txt and out1_node_feature_label.txt",
                               recognises_geom_gcn, read_geom_gcn};

}  // namespace qw
