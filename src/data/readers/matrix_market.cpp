#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

#include "core/excerpt.h"
#include "core/text.h"
#include "data/formats/lines.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

enum class ValueKind { kReal, kInteger, kPattern };

struct Banner {
  ValueKind values = ValueKind::kReal;
  bool symmetric = false;
};

// On to the next line that is neither blank nor a comment.
bool next_content(LineScanner& lines) {
  while (lines.next()) {
    const size_t first = lines.line().find_first_not_of(" \t");
    if (first != std::string_view::npos && lines.line()[first] != '%') return true;
  }
  return false;
}

// A word of the banner in lower case, after checking that it is among `allowed`.
std::string banner_word(const LineScanner& lines, std::string_view word, std::string_view what,
                        const std::vector<std::string>& allowed) {
  std::string value = lower(word);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    lines.reject(
        fmt::format("{} {} is not read here; it may be {}", what, in_quotes(word), join(allowed, " or ")));
  }
  return value;
}

Banner read_banner(LineScanner& lines, const std::string& label, const std::string& layout) {
  if (!lines.next()) fail(fmt::format("{}: expected a Matrix Market banner, found an empty file", label));
  std::array<std::string_view, 5> words;
  if (split_fields(BlankFields(lines.line()), words) != words.size() || lower(words[0]) != "%%matrixmarket") {
    lines.reject(fmt::format("expected a banner like '%%MatrixMarket matrix {} real general', found {}",
                             layout, in_quotes(lines.line())));
  }
  Banner banner;
  banner_word(lines, words[1], "object", {"matrix"});
  banner_word(lines, words[2], "format", {layout});
  const std::string kind = banner_word(lines, words[3], "field", {"real", "integer", "pattern"});
  banner.values = kind == "pattern"   ? ValueKind::kPattern
                  : kind == "integer" ? ValueKind::kInteger
                                      : ValueKind::kReal;
  banner.symmetric = banner_word(lines, words[4], "symmetry", {"general", "symmetric"}) == "symmetric";
  return banner;
}

// The numbers of the line after the banner and its comments.
template <size_t Count>
std::array<int64_t, Count> read_sizes(LineScanner& lines, std::string_view names) {
  std::array<std::string_view, Count> fields;
  std::array<int64_t, Count> sizes{};
  if (!next_content(lines)) lines.reject(fmt::format("the file ends before its line of sizes '{}'", names));
  const size_t count = split_fields(BlankFields(lines.line()), fields);
  if (count != Count) lines.reject(fmt::format("expected '{}', found {}", names, in_quotes(lines.line())));
  for (size_t k = 0; k < Count; ++k) {
    sizes[k] = lines.integer_in(fields[k], "size", 0, std::numeric_limits<int64_t>::max());
  }
  return sizes;
}

// A coordinate matrix opened up to its entries.
struct Coordinates {
  LineScanner lines;
  Banner banner;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t entries = 0;
};

Coordinates open_coordinates(const std::string& text, const std::string& label) {
  Coordinates matrix{LineScanner(text, label), {}};
  matrix.banner = read_banner(matrix.lines, label, "coordinate");
  const auto sizes = read_sizes<3>(matrix.lines, "rows columns entries");
  matrix.rows = sizes[0];
  matrix.columns = sizes[1];
  matrix.entries = sizes[2];
  constexpr size_t kSmallestEntry = 4;  // "1 1\n"
  if (static_cast<size_t>(matrix.entries) > (text.size() + 1) / kSmallestEntry) {
    matrix.lines.reject(
        fmt::format("{} entries do not fit in a file of {} bytes", matrix.entries, text.size()));
  }
  return matrix;
}

// Calls visit(row, column, value) for every entry, counting rows and columns from 0.
template <class Visit>
void each_entry(Coordinates& matrix, const Visit& visit) {
  LineScanner& lines = matrix.lines;
  const ValueKind kind = matrix.banner.values;
  const size_t width = kind == ValueKind::kPattern ? 2 : 3;
  int64_t found = 0;
  for (; next_content(lines); ++found) {
    if (found == matrix.entries) lines.reject(fmt::format("expected {} entries, found one more", found));
    std::array<std::string_view, 3> fields;
    const size_t count = split_fields(BlankFields(lines.line()), fields);
    if (count != width) lines.reject(fmt::format("expected an entry of {} numbers, found {}", width, count));
    const int64_t row = lines.integer_in(fields[0], "row", 1, matrix.rows);
    const int64_t column = lines.integer_in(fields[1], "column", 1, matrix.columns);
    double value = 1.0;
    if (kind == ValueKind::kInteger) value = static_cast<double>(lines.integer(fields[2], "value"));
    if (kind == ValueKind::kReal) value = lines.real(fields[2], "value");
    visit(row - 1, column - 1, value);
  }
  if (found != matrix.entries) {
    lines.reject(fmt::format("expected {} entries, but the file ends after {}", matrix.entries, found));
  }
}

// An edge list that grows weights at the first entry that is not 1.
class EdgeCollector {
 public:
  EdgeCollector(int64_t nodes, int64_t expected_edges) {
    edges_.num_nodes = nodes;
    edges_.heads.reserve(expected_edges);
    edges_.tails.reserve(expected_edges);
  }

  // Entry (row, column) is the arc row -> column.
  void add(int64_t row, int64_t column, double weight) {
    if (weight != 1.0 && edges_.weights.empty()) edges_.weights.assign(edges_.heads.size(), 1.0);
    const bool weighted = weight != 1.0 || !edges_.weights.empty();
    edges_.tails.push_back(static_cast<NodeId>(row));
    edges_.heads.push_back(static_cast<NodeId>(column));
    if (weighted) edges_.weights.push_back(weight);
  }

  EdgeList take() { return std::move(edges_); }

 private:
  EdgeList edges_;
};

Graph read_adjacency(const FileSet& files, const std::string& name, const LoadOptions& options,
                     std::vector<std::string>& notes) {
  const std::string label = files.label(name);
  const std::string text = files.read_text(name);
  Coordinates matrix = open_coordinates(text, label);
  if (matrix.rows != matrix.columns) {
    matrix.lines.reject(
        fmt::format("an adjacency matrix is square; this one is {} x {}", matrix.rows, matrix.columns));
  }
  check_node_count(matrix.rows, text.size(), label);
  const bool mirror = options.directed && matrix.banner.symmetric;
  EdgeCollector edges(matrix.rows, mirror ? 2 * matrix.entries : matrix.entries);
  int64_t zeros = 0;
  each_entry(matrix, [&](int64_t row, int64_t column, double value) {
    if (value == 0.0) {
      ++zeros;
      return;
    }
    edges.add(row, column, value);
    if (mirror && row != column) edges.add(column, row, value);
  });
  if (zeros > 0) notes.push_back(fmt::format("{} entries with the value 0 were dropped", zeros));
  EdgeList list = edges.take();
  if (!options.directed && !matrix.banner.symmetric && !list.weights.empty()) {
    notes.emplace_back(
        "the matrix is general but read as undirected: of A[i,j] and A[j,i] the first given is the weight");
  }
  return build_graph(std::move(list), options, label, notes);
}

struct FeatureEntry {
  int32_t row;
  int32_t column;
  float value;
};

Features features_from_entries(int64_t rows, int64_t columns, const std::vector<FeatureEntry>& entries) {
  std::vector<int64_t> offsets(rows + 1, 0);
  for (const FeatureEntry& entry : entries) ++offsets[entry.row + 1];
  for (int64_t row = 0; row < rows; ++row) offsets[row + 1] += offsets[row];
  std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<int32_t> indices(entries.size());
  std::vector<float> values(entries.size());
  for (const FeatureEntry& entry : entries) {
    const int64_t at = next[entry.row]++;
    indices[at] = entry.column;
    values[at] = entry.value;
  }
  return features_from_rows(columns, std::move(offsets), std::move(indices), std::move(values));
}

Features read_features(const FileSet& files, const std::string& name, int64_t nodes) {
  const std::string text = files.read_text(name);
  Coordinates matrix = open_coordinates(text, files.label(name));
  if (matrix.banner.symmetric) matrix.lines.reject("features are a general matrix, not a symmetric one");
  if (matrix.rows != nodes) {
    matrix.lines.reject(
        fmt::format("expected a row of features for each of {} nodes, found {}", nodes, matrix.rows));
  }
  if (matrix.columns > std::min(kMaxNodes, max_nodes_for(text.size()))) {
    matrix.lines.reject(
        fmt::format("{} columns in a file of {} bytes cannot be", matrix.columns, text.size()));
  }
  std::vector<FeatureEntry> entries;
  entries.reserve(matrix.entries);
  each_entry(matrix, [&](int64_t row, int64_t column, double value) {
    if (std::abs(value) > std::numeric_limits<float>::max()) {
      matrix.lines.reject(fmt::format("value {} is too large for a 32-bit number", value));
    }
    entries.push_back({static_cast<int32_t>(row), static_cast<int32_t>(column), static_cast<float>(value)});
  });
  return features_from_entries(matrix.rows, matrix.columns, entries);
}

// One class per line, or a Matrix Market array of one column; -1 where the label is missing.
Targets read_labels(const FileSet& files, const std::string& name, int64_t nodes) {
  const std::string label = files.label(name);
  const std::string text = files.read_text(name);
  LineScanner lines(text, label);
  if (lower(std::string_view(text).substr(0, 14)) == "%%matrixmarket") {
    const Banner banner = read_banner(lines, label, "array");
    if (banner.symmetric || banner.values != ValueKind::kInteger) {
      lines.reject("labels are an array of the kind 'integer general'");
    }
    const auto [rows, columns] = read_sizes<2>(lines, "rows columns");
    if (rows != nodes || columns != 1) {
      lines.reject(fmt::format("expected {} x 1 labels, one per node, found {} x {}", nodes, rows, columns));
    }
  }
  std::vector<int64_t> classes;
  while (next_content(lines)) {
    if (static_cast<int64_t>(classes.size()) == nodes) {
      lines.reject(fmt::format("expected {} labels, one per node, found one more", nodes));
    }
    classes.push_back(lines.integer_in(trim(lines.line()), "label", -1, kMaxNodes));
  }
  if (static_cast<int64_t>(classes.size()) != nodes) {
    fail(fmt::format("{}: expected {} labels, one per node, found {}", label, nodes, classes.size()));
  }
  return with_label(label, [&] { return label_targets(classes); });
}

// "karate" for "karate.mtx" and "karate.mtx.gz", nothing for another ending.
std::optional<std::string> stem_of(std::string_view name) {
  for (const std::string_view ending : {".mtx", ".mtx.gz"}) {
    if (name.ends_with(ending)) return std::string(name.substr(0, name.size() - ending.size()));
  }
  return std::nullopt;
}

// The matrices of a folder that are not features or labels of another one.
std::vector<std::string> find_matrices(const FileSet& files) {
  std::vector<std::string> found;
  for (const std::string& name : files.names()) {
    const auto stem = stem_of(name);
    if (!stem || stem->ends_with("_features") || stem->ends_with("_labels")) continue;
    if (name.ends_with(".gz") && files.has(*stem + ".mtx")) continue;
    found.push_back(name);
  }
  return found;
}

bool recognises_matrix_market(const FileSet& files, const std::string& entry) {
  return entry.empty() ? !find_matrices(files).empty() : stem_of(entry).has_value();
}

std::string choose_matrix(const FileSet& files, const std::string& entry) {
  if (!entry.empty()) return entry;
  const std::vector<std::string> matrices = find_matrices(files);
  if (matrices.size() != 1) {
    fail(fmt::format("expected one matrix in the folder, found {}: {}; name the file to read",
                     matrices.size(), name_list(matrices)));
  }
  return matrices.front();
}

std::optional<std::string> first_of(const FileSet& files, const std::string& stem,
                                    std::initializer_list<const char*> endings) {
  for (const char* ending : endings) {
    if (files.has(stem + ending)) return stem + ending;
  }
  return std::nullopt;
}

Dataset read_matrix_market(const FileSet& files, const std::string& entry, const LoadOptions& options) {
  const std::string name = choose_matrix(files, entry);
  const std::string stem = stem_of(name).value_or(name);
  Dataset dataset;
  dataset.name = stem;
  dataset.format = kMatrixMarketReader.name;
  dataset.graph = read_adjacency(files, name, options, dataset.notes);
  const int64_t nodes = dataset.graph.num_nodes();
  if (const auto features = first_of(files, stem, {"_features.mtx", "_features.mtx.gz"})) {
    dataset.features = read_features(files, *features, nodes);
  }
  if (const auto labels =
          first_of(files, stem, {"_labels.mtx", "_labels.mtx.gz", "_labels.txt", "_labels.txt.gz"})) {
    dataset.targets = read_labels(files, *labels, nodes);
  }
  return dataset;
}

}  // namespace

const Reader kMatrixMarketReader = {"matrix-market",
                                    "a square sparse matrix in a file that ends in .mtx or .mtx.gz",
                                    recognises_matrix_market, read_matrix_market};

}  // namespace qw
