#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "data/readers/parts.h"
#include "data/readers/reader.h"

namespace qw {
namespace {

bool recognises(const FileSet& files, const std::string& entry) {
  return is_npz_with(files, entry, {"adj_data", "adj_indices", "adj_indptr", "adj_shape"});
}

struct Shape {
  int64_t rows = 0;
  int64_t columns = 0;
};

Shape read_shape(const NpyArray& array) {
  const std::vector<int64_t> shape = array.as_int64();
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) {
    fail(fmt::format("{}: expected the numbers of rows and columns, found [{}]", array.label,
                     fmt::join(shape, ", ")));
  }
  return {shape[0], shape[1]};
}

void check_value_count(const NpyArray& values, size_t entries) {
  if (static_cast<size_t>(values.size()) != entries) {
    fail(fmt::format("{}: {} values for {} entries", values.label, values.size(), entries));
  }
}

// Names are a courtesy: files in the wild often hold them as Python objects, and those are left alone.
std::vector<std::string> read_names(const NpzArchive& archive, const std::string& name) {
  if (!archive.has(name)) return {};
  const NpyArray array = archive.load(name);
  return array.is_string() ? array.as_strings() : std::vector<std::string>();
}

EdgeList read_edges(const NpzArchive& archive) {
  const NpyArray offsets = archive.load("adj_indptr");
  const Shape shape = read_shape(archive.load("adj_shape"));
  if (shape.rows != shape.columns) {
    fail(fmt::format("{}: adj_shape: expected a square matrix, found [{}, {}]", archive.label(), shape.rows,
                     shape.columns));
  }
  check_node_count(shape.rows, offsets.data.size(), archive.label());
  EntryPositions pattern = entry_positions(offsets, archive.load("adj_indices"), shape.rows, shape.columns);
  EdgeList edges;
  edges.num_nodes = shape.rows;
  edges.tails.resize(pattern.columns.size());  // entry (i, j) is the arc i -> j
  for (int64_t node = 0; node < shape.rows; ++node) {
    std::fill(edges.tails.begin() + pattern.offsets[node], edges.tails.begin() + pattern.offsets[node + 1],
              static_cast<NodeId>(node));
  }
  edges.heads = std::move(pattern.columns);
  if (archive.has("adj_data")) {
    const NpyArray values = archive.load("adj_data");
    check_value_count(values, edges.heads.size());
    std::vector<double> weights = values.as_double();
    const bool weighted =
        std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 1.0; });
    if (weighted) edges.weights = std::move(weights);
  }
  return edges;
}

Features read_features(const NpzArchive& archive) {
  Features features;
  if (archive.has("attr_matrix")) {
    features = dense_features(archive.load("attr_matrix"));
  } else if (archive.has("attr_indptr")) {
    const Shape shape = read_shape(archive.load("attr_shape"));
    EntryPositions pattern =
        entry_positions(archive.load("attr_indptr"), archive.load("attr_indices"), shape.rows, shape.columns);
    const NpyArray array = archive.load("attr_data");
    check_value_count(array, pattern.columns.size());
    std::vector<float> values = finite_floats(array);
    features = with_label(archive.label(), [&] {
      return features_from_rows(shape.columns, std::move(pattern.offsets), std::move(pattern.columns),
                                std::move(values));
    });
  }
  std::vector<std::string> names = read_names(archive, "attr_names");
  if (!names.empty() && static_cast<int64_t>(names.size()) != features.columns) {
    fail(fmt::format("{}: attr_names: {} names for {} columns of features", archive.label(), names.size(),
                     features.columns));
  }
  features.names = std::move(names);
  return features;
}

Dataset read(const FileSet& files, const std::string& entry, const LoadOptions& options) {
  const NpzArchive archive = open_npz(files, entry);
  Dataset dataset;
  dataset.name = std::filesystem::path(archive.label()).stem().string();
  dataset.format = kCsrNpzReader.name;
  dataset.graph = build_graph(read_edges(archive), options, archive.label(), dataset.notes);
  dataset.features = read_features(archive);
  if (archive.has("labels")) {
    dataset.targets = targets_from_labels(archive.load("labels"), read_names(archive, "class_names"));
  }
  dataset.node_ids = read_names(archive, "node_names");
  return dataset;
}

}  // namespace

const Reader kCsrNpzReader = {"csr-npz", "an .npz with adj_data, adj_indices, adj_indptr and adj_shape",
                              recognises, read};

}  // namespace qw
