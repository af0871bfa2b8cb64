#include <fmt/format.h>

#include <algorithm>

#include "core/file.h"
#include "core/mapped_file.h"
#include "core/sha256.h"
#include "data/partition/part_format.h"
#include "data/schema/row_hashes.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_damaged(const std::string& name) {
  fail(
      fmt::format("{}: is not the file that was written here, by its checksum in {}; restore it, or make the "
                  "partition again",
                  name, kPartitionFile));
}

void require_there(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    fail(fmt::format("{}: is missing, but {} lists it; restore it, or make the partition again",
                     path.string(), kPartitionFile));
  }
}

// The file, once it is known to be the one that was written for this partition.
SafetensorsFile checked_file(const PartitionManifest& manifest, const fs::path& path,
                             const std::string& checksum) {
  require_there(path);
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const bool same = sha256_hex(mapped->text()) == checksum;
  mapped->done_before(mapped->bytes().size());
  SafetensorsFile file;
  try {
    file = SafetensorsFile::view(mapped->bytes(), mapped, path.string());
  } catch (const Error&) {
    if (!same) fail_damaged(path.string());
    throw;
  }
  // Which says more than that its bytes are others.
  const auto id = file.metadata().find("partition");
  if (id != file.metadata().end() && id->second != manifest.id) {
    fail(fmt::format("{}: is of another partition than the {} beside it", path.string(), kPartitionFile));
  }
  if (!same) fail_damaged(path.string());
  return file;
}

// From marks to lists of nodes.
Split split_of(std::span<const uint8_t> marks) {
  Split split;
  for (size_t node = 0; node < marks.size(); ++node) {
    const auto mark = static_cast<SplitMark>(marks[node]);
    if (mark == SplitMark::kTrain) split.train.push_back(static_cast<NodeId>(node));
    if (mark == SplitMark::kVal) split.val.push_back(static_cast<NodeId>(node));
    if (mark == SplitMark::kTest) split.test.push_back(static_cast<NodeId>(node));
  }
  return split;
}

// Features of one part go to the rows that they had.
class FeatureGatherer {
 public:
  explicit FeatureGatherer(const PartitionManifest& manifest)
      : columns_(manifest.schema.features), sparse_(manifest.sparse_features) {
    if (columns_ > 0 && sparse_) lengths_.resize(manifest.nodes + 1, 0);
    if (columns_ > 0 && !sparse_) dense_.resize(manifest.nodes * columns_);
  }

  void count(const Part& part) {
    if (columns_ == 0 || !sparse_) return;
    for (int64_t row = 0; row < part.own(); ++row)
      lengths_[part.original[row] + 1] = part.features.offsets[row + 1] - part.features.offsets[row];
  }

  void begin() {
    for (size_t row = 1; row < lengths_.size(); ++row) lengths_[row] += lengths_[row - 1];
    indices_.resize(lengths_.empty() ? 0 : lengths_.back());
    values_.resize(indices_.size());
  }

  void take(const Part& part) {
    const FeatureRows& features = part.features;
    for (int64_t row = 0; row < part.own() && columns_ > 0; ++row) {
      const int64_t to = part.original[row];
      if (!sparse_) {
        std::copy_n(features.dense.begin() + row * columns_, columns_, dense_.begin() + to * columns_);
        continue;
      }
      const int64_t first = features.offsets[row], count = features.offsets[row + 1] - first;
      std::copy_n(features.indices.begin() + first, count, indices_.begin() + lengths_[to]);
      std::copy_n(features.values.begin() + first, count, values_.begin() + lengths_[to]);
    }
  }

  Features finish(int64_t nodes, std::vector<std::string> names) {
    Features features;
    if (columns_ == 0) return features;
    features.rows = nodes;
    features.columns = columns_;
    features.sparse = sparse_;
    features.dense = std::move(dense_);
    features.offsets = std::move(lengths_);
    features.indices = std::move(indices_);
    features.values = std::move(values_);
    features.names = std::move(names);
    return features;
  }

 private:
  int64_t columns_;
  bool sparse_;
  std::vector<float> dense_, values_;
  std::vector<int64_t> lengths_;
  std::vector<int32_t> indices_;
};

// Edges and ids of all parts; every edge comes from the part of its head.
struct Joined {
  EdgeList edges;
  std::vector<std::string> ids;

  explicit Joined(const PartitionManifest& manifest) {
    edges.num_nodes = manifest.nodes;
    if (manifest.has_ids) ids.resize(manifest.nodes);
  }

  void take(const Part& part) {
    const auto original = [&](NodeId row) {
      return row < part.own() ? part.original[row] : part.halo_original[row - part.own()];
    };
    for (size_t e = 0; e < part.heads.size(); ++e) {
      if (!part.owns_edge(static_cast<int64_t>(e))) continue;
      edges.heads.push_back(original(part.heads[e]));
      edges.tails.push_back(original(part.tails[e]));
      if (!part.costs.empty()) edges.costs.push_back(part.costs[e]);
      if (!part.weights.empty()) edges.weights.push_back(part.weights[e]);
    }
    for (NodeId row = 0; row < part.own() && !ids.empty(); ++row) ids[part.original[row]] = part.node_id(row);
  }

  Graph graph(const PartitionManifest& manifest) {
    return Graph::build(std::move(edges), {manifest.directed, EdgePolicy::kKeep, EdgePolicy::kKeep, false});
  }
};

std::vector<Part> open_parts(const PartitionManifest& manifest) {
  std::vector<Part> parts;
  for (int64_t number = 0; number < manifest.count(); ++number) parts.push_back(open_part(manifest, number));
  return parts;
}

}  // namespace

int64_t PartitionManifest::part_of(int64_t node) const {
  return std::upper_bound(begins.begin(), begins.end(), node) - begins.begin() - 1;
}

bool is_partition(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kPartitionFile, ignored);
}

PartitionManifest open_partition(const fs::path& folder) {
  if (!is_partition(folder))
    fail(fmt::format("{}: is no partition: it has no {}", folder.string(), kPartitionFile));
  const fs::path path = folder / kPartitionFile;
  PartitionManifest manifest = manifest_from(read_file(path), path.string());
  manifest.folder = folder;
  for (const PartSummary& part : manifest.parts) {
    require_there(folder / part.file);
    std::error_code error;
    const auto bytes = fs::file_size(folder / part.file, error);
    if (error || static_cast<int64_t>(bytes) != part.bytes) {
      fail(fmt::format("{}: has {} bytes instead of {}; restore it, or make the partition again",
                       (folder / part.file).string(), error ? 0 : bytes, part.bytes));
    }
  }
  require_there(folder / kLabelsFile);
  return manifest;
}

Part open_part(const PartitionManifest& manifest, int64_t number) {
  QW_ASSERT(number >= 0 && number < manifest.count());
  const PartSummary& summary = manifest.parts[number];
  const fs::path path = manifest.folder / summary.file;
  const SafetensorsFile file = checked_file(manifest, path, summary.sha256);
  Part part = part_from(file, path.string());
  part.bytes = file.owner();
  const bool fits = part.number == number && std::ranges::equal(part.begins, manifest.begins) &&
                    std::ssize(part.heads) == summary.edges && std::ssize(part.halo) == summary.halo &&
                    part.directed == manifest.directed && part.width == manifest.schema.width &&
                    part.features.columns == manifest.schema.features &&
                    (part.features.columns == 0 || part.features.sparse == manifest.sparse_features);
  if (!fits) fail(fmt::format("{}: does not fit {}", path.string(), kPartitionFile));
  return part;
}

PartOutline outline_of(const PartitionManifest& manifest, int64_t number) {
  QW_ASSERT(number >= 0 && number < manifest.count());
  const fs::path path = manifest.folder / manifest.parts[number].file;
  require_there(path);
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const SafetensorsFile file = SafetensorsFile::view(mapped->bytes(), mapped, path.string());
  const std::span<const int64_t> offsets = file.items<int64_t>("receive_offsets");
  if (std::ssize(offsets) != manifest.count() + 1 || offsets.front() != 0 ||
      offsets.back() != manifest.parts[number].halo || !std::is_sorted(offsets.begin(), offsets.end()))
    fail_damaged(path.string());
  PartOutline outline;
  for (int64_t from = 0; from < manifest.count(); ++from)
    outline.received.push_back(offsets[from + 1] - offsets[from]);
  const StoredTensor* features = file.find(manifest.sparse_features ? "feature_values" : "features");
  if (features != nullptr) outline.stored_features = std::ssize(features->bytes) / int64_t{sizeof(float)};
  return outline;
}

void release_memory(const Part& part) {
  const auto mapped = std::static_pointer_cast<const MappedFile>(part.bytes);
  mapped->done_before(mapped->bytes().size());
}

Dataset partition_labels(const PartitionManifest& manifest) {
  const fs::path path = manifest.folder / kLabelsFile;
  const SafetensorsFile file = checked_file(manifest, path, manifest.labels_sha256);
  const DataSchema& schema = manifest.schema;
  Dataset dataset = manifest.about;
  dataset.targets = {schema.task, schema.width, {}, {}, schema.target_names};
  if (file.find("classes") != nullptr) dataset.targets.classes = file.values<int32_t>("classes");
  if (file.find("values") != nullptr) dataset.targets.values = file.values<double>("values");
  const auto nodes = static_cast<size_t>(manifest.nodes);
  const std::span<const uint8_t> marks = file.items<uint8_t>("splits");
  const bool fits = (schema.task == Task::kNone || dataset.targets.size() == manifest.nodes) &&
                    (nodes == 0 || marks.size() % nodes == 0);
  if (!fits) fail(fmt::format("{}: does not fit {}", path.string(), kPartitionFile));
  for (size_t begin = 0; begin < marks.size(); begin += nodes)
    dataset.splits.push_back(split_of(marks.subspan(begin, nodes)));
  return dataset;
}

Features features_of(const Part& part, std::vector<std::string> names) {
  const FeatureRows& rows = part.features;
  Features features;
  features.rows = rows.columns == 0 ? 0 : rows.rows;
  features.columns = rows.columns;
  features.sparse = rows.sparse;
  features.dense.assign(rows.dense.begin(), rows.dense.end());
  features.offsets.assign(rows.offsets.begin(), rows.offsets.end());
  features.indices.assign(rows.indices.begin(), rows.indices.end());
  features.values.assign(rows.values.begin(), rows.values.end());
  features.names = std::move(names);
  return features;
}

Dataset join_partition(const PartitionManifest& manifest) {
  Dataset dataset = partition_labels(manifest);
  FeatureGatherer features(manifest);
  std::vector<Part> parts = open_parts(manifest);
  for (const Part& part : parts) features.count(part);
  features.begin();
  Joined joined(manifest);
  for (const Part& part : parts) {
    joined.take(part);
    features.take(part);
  }
  parts.clear();
  dataset.node_ids = std::move(joined.ids);
  dataset.graph = joined.graph(manifest);
  dataset.features = features.finish(manifest.nodes, manifest.schema.feature_names);
  check_consistent(dataset);
  return dataset;
}

TrainedOn remember(const PartitionManifest& manifest, std::vector<Split> splits, std::string split) {
  TrainedOn trained_on;
  trained_on.schema = manifest.schema;
  trained_on.targets = partition_labels(manifest).targets;
  trained_on.feature_rows.resize(manifest.schema.features > 0 ? manifest.nodes : 0);
  Joined joined(manifest);
  for (int64_t number = 0; number < manifest.count(); ++number) {
    const Part part = open_part(manifest, number);
    joined.take(part);
    const std::vector<uint64_t> rows = row_hashes(features_of(part, manifest.schema.feature_names));
    for (size_t row = 0; row < rows.size(); ++row) trained_on.feature_rows[part.original[row]] = rows[row];
  }
  trained_on.node_ids = std::move(joined.ids);
  trained_on.graph = joined.graph(manifest);
  trained_on.splits = std::move(splits);
  trained_on.split = std::move(split);
  return trained_on;
}

}  // namespace qw
