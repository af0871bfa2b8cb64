#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "data/readers/parts.h"
#include "data/readers/reader.h"

namespace qw {
namespace {

bool recognises(const FileSet& files, const std::string& entry) {
  return is_npz_with(files, entry, {"node_features", "node_labels", "edges"});
}

EdgeList read_edges(const NpzArchive& archive, int64_t nodes) {
  const NpyArray array = archive.load("edges");
  if (array.shape.size() != 2 || array.shape[1] != 2) {
    fail(fmt::format("{}: expected two nodes per edge, found an array of shape [{}]", array.label,
                     fmt::join(array.shape, ", ")));
  }
  const std::vector<int32_t> ends = array.as_int32();
  EdgeList edges;
  edges.num_nodes = nodes;
  edges.heads.resize(ends.size() / 2);
  edges.tails.resize(ends.size() / 2);
  for (size_t e = 0; e < edges.heads.size(); ++e) {
    edges.tails[e] = ends[2 * e];
    edges.heads[e] = ends[2 * e + 1];
  }
  return edges;
}

// One list of nodes per mask, from an array [masks, nodes] or [nodes].
std::vector<std::vector<NodeId>> read_masks(const NpyArray& array, int64_t nodes) {
  const size_t dimensions = array.shape.size();
  if (dimensions < 1 || dimensions > 2 || array.shape.back() != nodes) {
    fail(fmt::format("{}: expected masks of {} nodes, found an array of shape [{}]", array.label, nodes,
                     fmt::join(array.shape, ", ")));
  }
  const std::vector<bool> chosen = array.as_bool();
  if (nodes == 0) return {};
  std::vector<std::vector<NodeId>> masks(chosen.size() / nodes);
  for (size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k]) masks[k / nodes].push_back(static_cast<NodeId>(k % nodes));
  }
  return masks;
}

std::vector<Split> read_splits(const NpzArchive& archive, int64_t nodes) {
  constexpr std::array kMasks = {"train_masks", "val_masks", "test_masks"};
  if (!archive.has(kMasks[0]) && !archive.has(kMasks[1]) && !archive.has(kMasks[2])) return {};
  std::array<std::vector<std::vector<NodeId>>, kMasks.size()> masks;
  for (size_t part = 0; part < masks.size(); ++part) {
    masks[part] = read_masks(archive.load(kMasks[part]), nodes);
    if (masks[part].size() != masks[0].size()) {
      fail(fmt::format("{}: {}: {} masks, but train_masks has {}", archive.label(), kMasks[part],
                       masks[part].size(), masks[0].size()));
    }
  }
  std::vector<Split> splits(masks[0].size());
  for (size_t k = 0; k < splits.size(); ++k) {
    splits[k] = {std::move(masks[0][k]), std::move(masks[1][k]), std::move(masks[2][k])};
  }
  return splits;
}

Dataset read(const FileSet& files, const std::string& entry, const LoadOptions& options) {
  const NpzArchive archive = open_npz(files, entry);
  Dataset dataset;
  dataset.name = std::filesystem::path(archive.label()).stem().string();
  dataset.format = kHeterophilousNpzReader.name;
  const bool has_features = archive.has("node_features");
  const bool has_labels = archive.has("node_labels");
  if (!has_features && !has_labels) {
    fail(archive.label() +
         ": has neither 'node_features' nor 'node_labels', so the number of nodes is unknown");
  }
  if (has_features) dataset.features = dense_features(archive.load("node_features"));
  if (has_labels) dataset.targets = targets_from_labels(archive.load("node_labels"), {});
  const int64_t nodes = has_features ? dataset.features.rows : dataset.targets.size();
  dataset.graph = build_graph(read_edges(archive, nodes), options, archive.label(), dataset.notes);
  dataset.splits = read_splits(archive, nodes);
  return dataset;
}

}  // namespace

const Reader kHeterophilousNpzReader = {
    "heterophilous-npz", "an .npz with node_features, node_labels and edges", recognises, read};

}  // namespace qw
