#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "core/text.h"
#include "data/formats/lines.h"
#include "data/formats/pickle.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"

namespace qw {
namespace {

constexpr std::string_view kPrefix = "ind.";
constexpr std::array<std::string_view, 8> kSuffixes = {".x",    ".y",    ".tx",    ".ty",
                                                       ".allx", ".ally", ".graph", ".test.index"};
constexpr int64_t kValidationNodes = 500;

// "cora" of "ind.cora.allx".
std::optional<std::string> name_of_file(std::string_view file) {
  if (!file.starts_with(kPrefix)) return std::nullopt;
  file.remove_prefix(kPrefix.size());
  for (const std::string_view suffix : kSuffixes) {
    if (file.size() > suffix.size() && file.ends_with(suffix)) {
      return std::string(file.substr(0, file.size() - suffix.size()));
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_name(const FileSet& files, const std::string& entry) {
  if (!entry.empty()) return name_of_file(entry);
  std::set<std::string> names;
  for (const std::string& file : files.names()) {
    if (std::optional<std::string> name = name_of_file(file)) names.insert(std::move(*name));
  }
  return names.size() == 1 ? std::optional(*names.begin()) : std::nullopt;
}

bool recognises(const FileSet& files, const std::string& entry) {
  return find_name(files, entry).has_value();
}

// The files of one data set, and how many bytes they have: that bounds what they may claim.
class Source {
 public:
  Source(const FileSet& files, std::string name) : files_(files), name_(std::move(name)) {}

  std::string label(std::string_view part) const { return files_.label(file(part)); }
  std::string text(std::string_view part) {
    std::string contents = files_.read(file(part));
    bytes_ += contents.size();
    return contents;
  }
  Pickle pickle(std::string_view part) { return {text(part), label(part)}; }
  size_t bytes() const { return bytes_; }

 private:
  std::string file(std::string_view part) const { return fmt::format("{}{}.{}", kPrefix, name_, part); }

  const FileSet& files_;
  std::string name_;
  size_t bytes_ = 0;
};

struct SparseRows {
  int64_t rows = 0;
  int64_t columns = 0;
  EntryPositions pattern;
  std::vector<float> values;
};

SparseRows read_rows(Source& source, std::string_view part) {
  const Pickle pickle = source.pickle(part);
  const PickleCsr& csr = pickle.root().as_csr();
  SparseRows rows{csr.rows, csr.columns, entry_positions(csr.indptr, csr.indices, csr.rows, csr.columns),
                  finite_floats(csr.data)};
  if (rows.values.size() != rows.pattern.columns.size()) {
    fail(fmt::format("{}: {} values for {} entries", source.label(part), rows.values.size(),
                     rows.pattern.columns.size()));
  }
  return rows;
}

// The position of the largest entry in each row of a one-hot matrix, the first of equals: 0 for a row of
// zeros.
std::vector<int32_t> read_classes(Source& source, std::string_view part) {
  const Pickle pickle = source.pickle(part);
  const NpyArray& array = pickle.root().as_array();
  if (array.shape.size() != 2 || array.shape[1] == 0) {
    fail(fmt::format("{}: expected one row of class indicators per node, found an array of shape [{}]",
                     array.label, fmt::join(array.shape, ", ")));
  }
  const std::vector<int64_t> indicators = array.as_int64();
  const int64_t width = array.shape[1];
  std::vector<int32_t> classes;
  classes.reserve(array.shape[0]);
  for (int64_t row = 0; row < array.shape[0]; ++row) {
    const auto begin = indicators.begin() + row * width;
    classes.push_back(static_cast<int32_t>(std::max_element(begin, begin + width) - begin));
  }
  return classes;
}

// Row k of tx and ty describes node test_ids[k].
std::vector<NodeId> read_test_ids(Source& source, int64_t first) {
  const std::string text = source.text("test.index");
  LineScanner lines(text, source.label("test.index"));
  const int64_t last = std::min(kMaxNodes, max_nodes_for(source.bytes())) - 1;
  std::vector<NodeId> ids;
  while (lines.next()) {
    ids.push_back(static_cast<NodeId>(lines.integer_in(trim(lines.line()), "test node id", first, last)));
  }
  return ids;
}

EdgeList read_edges(Source& source, int64_t nodes) {
  const Pickle pickle = source.pickle("graph");
  const auto to_node = [&](int64_t id) {
    if (id < 0 || id >= nodes) {
      fail(fmt::format("{}: node {} is outside 0 to {}", source.label("graph"), id, nodes - 1));
    }
    return static_cast<NodeId>(id);
  };
  EdgeList edges;
  edges.num_nodes = nodes;
  for (const auto& [key, neighbours] : pickle.root().as_dict()) {
    const NodeId tail = to_node(key.as_integer());
    for (const int64_t neighbour : neighbours.as_integers()) {
      edges.tails.push_back(tail);
      edges.heads.push_back(to_node(neighbour));
    }
  }
  return edges;
}

// The rows of allx are the first nodes; each later node has a row of tx, or none where the published files
// lack it.
struct Assembly {
  SparseRows known;  // allx
  SparseRows test;   // tx
  std::vector<NodeId> test_ids;
  std::vector<int64_t> test_row;  // of each node from known.rows on; -1: none

  int64_t nodes() const { return known.rows + static_cast<int64_t>(test_row.size()); }
  int64_t missing() const { return std::count(test_row.begin(), test_row.end(), -1); }
};

void check_rows(const Source& source, std::string_view part, int64_t found, std::string_view like,
                int64_t expected) {
  if (found != expected) {
    fail(fmt::format("{}: {} rows, but {} has {}", source.label(part), found, source.label(like), expected));
  }
}

Assembly read_assembly(Source& source) {
  Assembly assembly{read_rows(source, "allx"), read_rows(source, "tx"), {}, {}};
  check_node_count(assembly.known.rows, source.bytes(), source.label("allx"));
  if (assembly.test.columns != assembly.known.columns) {
    fail(fmt::format("{}: {} columns, but {} has {}", source.label("tx"), assembly.test.columns,
                     source.label("allx"), assembly.known.columns));
  }
  assembly.test_ids = read_test_ids(source, assembly.known.rows);
  check_rows(source, "tx", assembly.test.rows, "test.index", static_cast<int64_t>(assembly.test_ids.size()));
  for (size_t row = 0; row < assembly.test_ids.size(); ++row) {
    const size_t at = assembly.test_ids[row] - assembly.known.rows;
    if (at >= assembly.test_row.size()) assembly.test_row.resize(at + 1, -1);
    if (assembly.test_row[at] >= 0) {
      fail(fmt::format("{}: node {} stands there twice", source.label("test.index"), assembly.test_ids[row]));
    }
    assembly.test_row[at] = static_cast<int64_t>(row);
  }
  return assembly;
}

void append_row(const SparseRows& from, int64_t row, SparseRows& to) {
  const int64_t begin = from.pattern.offsets[row];
  const int64_t end = from.pattern.offsets[row + 1];
  to.pattern.columns.insert(to.pattern.columns.end(), from.pattern.columns.begin() + begin,
                            from.pattern.columns.begin() + end);
  to.values.insert(to.values.end(), from.values.begin() + begin, from.values.begin() + end);
  to.pattern.offsets.push_back(static_cast<int64_t>(to.values.size()));
}

Features assemble_features(Assembly assembly, const std::string& label) {
  SparseRows rows = std::move(assembly.known);
  for (const int64_t row : assembly.test_row) {
    if (row >= 0) {
      append_row(assembly.test, row, rows);
    } else {
      rows.pattern.offsets.push_back(rows.pattern.offsets.back());
    }
  }
  return with_label(label, [&] {
    return features_from_rows(rows.columns, std::move(rows.pattern.offsets), std::move(rows.pattern.columns),
                              std::move(rows.values));
  });
}

Targets assemble_targets(Source& source, const Assembly& assembly) {
  const std::vector<int32_t> known_classes = read_classes(source, "ally");
  std::vector<int64_t> classes(known_classes.begin(), known_classes.end());
  const std::vector<int32_t> test_classes = read_classes(source, "ty");
  check_rows(source, "ally", static_cast<int64_t>(classes.size()), "allx", assembly.known.rows);
  check_rows(source, "ty", static_cast<int64_t>(test_classes.size()), "tx", assembly.test.rows);
  for (const int64_t row : assembly.test_row) classes.push_back(row >= 0 ? test_classes[row] : 0);
  return with_label(source.label("ally"), [&] { return label_targets(classes); });
}

// The published split: the labelled nodes come first, the next 500 validate.
std::vector<Split> assemble_splits(Source& source, const Assembly& assembly) {
  const SparseRows labelled = read_rows(source, "x");
  const auto train = static_cast<int64_t>(read_classes(source, "y").size());
  check_rows(source, "y", train, "x", labelled.rows);
  if (train + kValidationNodes > assembly.known.rows) return {};
  Split split;
  split.train.resize(train);
  split.val.resize(kValidationNodes);
  std::iota(split.train.begin(), split.train.end(), 0);
  std::iota(split.val.begin(), split.val.end(), static_cast<NodeId>(train));
  split.test = assembly.test_ids;
  std::sort(split.test.begin(), split.test.end());
  return {split};
}

Dataset read(const FileSet& files, const std::string& entry, const LoadOptions& options) {
  const std::optional<std::string> name = find_name(files, entry);
  if (!name)
    fail("expected the files ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph and .test.index of one NAME");
  Source source(files, *name);
  Assembly assembly = read_assembly(source);
  Dataset dataset;
  dataset.name = *name;
  dataset.format = kPlanetoidReader.name;
  dataset.graph =
      build_graph(read_edges(source, assembly.nodes()), options, source.label("graph"), dataset.notes);
  dataset.targets = assemble_targets(source, assembly);
  dataset.splits = assemble_splits(source, assembly);
  if (const int64_t missing = assembly.missing(); missing > 0) {
    dataset.notes.push_back(
        fmt::format("{} node ids are missing from {}; these nodes have no features and class 0, as published",
                    missing, source.label("test.index")));
  }
  dataset.features = assemble_features(std::move(assembly), source.label("allx"));
  return dataset;
}

}  // namespace

const Reader kPlanetoidReader = {"planetoid",
                                 "the files ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph and .test.index",
                                 recognises, read};

}  // namespace qw
