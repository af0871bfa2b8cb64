#include "qw/data/make_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/file.h"
#include "core/staged_folder.h"
#include "core/text.h"
#include "data/partition/fingerprint.h"
#include "data/partition/metis.h"
#include "data/partition/part_format.h"
#include "data/partition/part_writer.h"
#include "qw/core/error.h"
#include "qw/core/version.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

void check_options(const PartitionOptions& options) {
  const PartitionOptions defaults;
  const auto refuse = [](const char* option, const char* why) {
    fail_usage(fmt::format("--{} {}", option, why));
  };
  if (options.parts < 1) fail_usage(fmt::format("--parts {} is not at least 1", options.parts));
  if (options.align < 1) fail_usage(fmt::format("--align {} is not at least 1", options.align));
  if (options.method == "metis") {
    if (options.align != defaults.align) refuse("align", "is for --method range; METIS puts nodes anywhere");
    if (options.stream == "yes") refuse("stream", "is for --method range; METIS needs the whole graph");
    if (options.memory != defaults.memory) refuse("memory", "is for --method range, of a stream");
    if (!has_metis()) metis_cut(Graph(), 2, options.seed);
  } else if (options.method == "range") {
    if (options.seed != defaults.seed) refuse("seed", "is for --method metis; ranges have none");
    if (options.stream == "no" && options.memory != defaults.memory) refuse("memory", "is for --stream yes");
  } else {
    fail_usage(fmt::format("--method {}", unknown_name(options.method, {"metis", "range"})));
  }
}

// Whole blocks in each part, as equal as they can be.
Cut range_cut(int64_t nodes, const PartitionOptions& options, std::vector<std::string>& notes) {
  const int64_t blocks = (nodes + options.align - 1) / options.align;
  const int64_t parts = std::min(options.parts, blocks);
  if (parts < options.parts) {
    notes.push_back(
        fmt::format("{} nodes are {} block{} of {}: {} part{} instead of {}; a smaller --align makes more",
                    with_thousands(nodes), blocks, blocks == 1 ? "" : "s", options.align, parts,
                    parts == 1 ? "" : "s", options.parts));
  }
  Cut cut;
  for (int64_t part = 0; part <= parts; ++part)
    cut.begins.push_back(std::min(blocks * part / parts * options.align, nodes));
  return cut;
}

// The graph with its new numbers.
Graph renumbered(const Graph& graph, const Cut& cut) {
  std::vector<NodeId> place(cut.original.size());
  for (size_t node = 0; node < place.size(); ++node) place[cut.original[node]] = static_cast<NodeId>(node);
  EdgeList edges;
  edges.num_nodes = graph.num_nodes();
  for (const NodeId head : graph.heads()) edges.heads.push_back(place[head]);
  for (const NodeId tail : graph.tails()) edges.tails.push_back(place[tail]);
  edges.costs.assign(graph.costs().begin(), graph.costs().end());
  edges.weights.assign(graph.weights().begin(), graph.weights().end());
  return Graph::build(std::move(edges), {graph.directed(), EdgePolicy::kKeep, EdgePolicy::kKeep, false});
}

// One row of features after the other, in the order of new numbers.
void add_renumbered_features(const Features& features, const Cut& cut, PartWriter& writer) {
  for (const NodeId node : cut.original) {
    Features row;
    row.rows = 1;
    row.columns = features.columns;
    row.sparse = features.sparse;
    if (features.sparse) {
      const int64_t first = features.offsets[node], last = features.offsets[node + 1];
      row.offsets = {0, last - first};
      row.indices.assign(features.indices.begin() + first, features.indices.begin() + last);
      row.values.assign(features.values.begin() + first, features.values.begin() + last);
    } else {
      const auto first = features.dense.begin() + node * features.columns;
      row.dense.assign(first, first + features.columns);
    }
    writer.add_features(row);
  }
}

PartitionManifest manifest_of(PartitionSource& source, const Cut& cut, const PartitionOptions& options) {
  const Dataset& about = source.about();
  const EdgeForm form = source.edge_form();
  PartitionManifest manifest;
  manifest.version = build_info().version;
  manifest.method = options.method;
  manifest.align = options.method == "range" ? options.align : 1;
  manifest.nodes = source.nodes();
  manifest.directed = form.directed;
  manifest.has_costs = form.has_costs;
  manifest.has_weights = form.has_weights;
  manifest.has_ids = source.has_ids();
  manifest.sparse_features = source.sparse_features();
  manifest.begins = cut.begins;
  manifest.schema = schema_of(about);
  // A stream has no list of ids to tell by.
  if (source.has_ids() && manifest.schema.ids == "numbers") manifest.schema.ids = "edges";
  manifest.about.name = about.name;
  manifest.about.format = about.format;
  manifest.about.notes = about.notes;
  manifest.about.columns = about.columns;
  manifest.about.made_features = about.made_features;
  manifest.about.of_paper = about.of_paper;
  manifest.about.default_split = about.default_split;
  return manifest;
}

void check_parts(int64_t nodes, const PartitionOptions& options) {
  if (options.parts > nodes) {
    fail_usage(fmt::format("--parts {} are more than the {} nodes of the graph", options.parts,
                           with_thousands(nodes)));
  }
}

// `graph`: the whole one, where METIS cuts it.
PartitionManifest write(PartitionSource& source, const Dataset* whole, const PartitionOptions& options,
                        StagedFolder& staged, std::vector<std::string>& notes) {
  check_parts(source.nodes(), options);
  const Cut cut = options.method == "metis" ? metis_cut(whole->graph, options.parts, options.seed)
                                            : range_cut(source.nodes(), options, notes);
  const fs::path work = staged.path() / "work";
  fs::create_directories(work);
  PartWriter writer(staged.path(), work, source, cut);
  DataHash hash;
  const bool same_order = cut.original.empty();
  source.each_edge([&](const EdgeBlock& block) {
    hash.add(block);
    if (same_order) writer.add_edges(block);
  });
  if (source.feature_columns() > 0) {
    source.each_features([&](const Features& block) {
      hash.add(block);
      if (same_order) writer.add_features(block);
    });
  }
  if (!same_order) {
    const Graph graph = renumbered(whole->graph, cut);
    writer.add_edges({graph.heads(), graph.tails(), graph.costs(), graph.weights()});
    if (source.feature_columns() > 0) add_renumbered_features(whole->features, cut, writer);
  }
  PartitionManifest manifest = manifest_of(source, cut, options);
  manifest.edges = writer.edges();
  manifest.cut_edges = writer.cut_edges();
  manifest.fingerprint = hash.hex(source);
  manifest.id = partition_id(manifest.fingerprint, options.method, cut);
  for (size_t part = 0; part + 1 < cut.begins.size(); ++part)
    manifest.parts.push_back(writer.write(static_cast<int64_t>(part), manifest.id));
  manifest.labels_sha256 = writer.write_labels(manifest.id);
  return manifest;
}

PartitionManifest publish(PartitionManifest manifest, StagedFolder& staged, const fs::path& out) {
  fs::remove_all(staged.path() / "work");
  write_file_atomically(staged.path() / kPartitionFile, manifest_text(manifest));
  staged.publish();
  manifest.folder = out;
  return manifest;
}

PartitionManifest cut_whole(const Dataset& dataset, const PartitionOptions& options, StagedFolder& staged,
                            const fs::path& out, std::vector<std::string>& notes) {
  const std::unique_ptr<PartitionSource> source = whole_source(dataset);
  return publish(write(*source, &dataset, options, staged, notes), staged, out);
}

}  // namespace

PartitionManifest make_partition(const Dataset& dataset, const PartitionOptions& options, const fs::path& out,
                                 std::vector<std::string>& notes) {
  check_options(options);
  if (options.stream == "yes" || options.memory != PartitionOptions().memory)
    fail_usage("--stream yes and --memory are for data that is not loaded yet");
  StagedFolder staged(out);
  return cut_whole(dataset, options, staged, out, notes);
}

PartitionManifest make_partition(const std::string& what, const LoadOptions& load,
                                 const PartitionOptions& options, const fs::path& out,
                                 std::vector<std::string>& notes) {
  check_options(options);
  StagedFolder staged(out);
  const fs::path work = staged.path() / "work";
  fs::create_directories(work);
  std::string reason;
  std::unique_ptr<PartitionSource> stream;
  if (options.method == "range" && options.stream != "no")
    stream = stream_source(what, load, options.memory << 20, work, reason);
  if (!stream) {
    // Without a reason loading finds what is wrong.
    const bool has_memory = options.memory != PartitionOptions().memory;
    if ((options.stream == "yes" || has_memory) && !reason.empty()) {
      fail_usage(
          fmt::format("--{}: {} cannot be read in passes: {}",
                      options.stream == "yes" ? "stream yes" : fmt::format("memory {}", options.memory),
                      in_quotes(what.empty() ? load.edges : what), reason));
    }
    const Dataset dataset = load_dataset(what, load);
    notes.insert(notes.end(), dataset.notes.begin(), dataset.notes.end());
    if (options.method == "range" && options.stream == "auto")
      notes.push_back("all of it was read into memory: " + reason);
    return cut_whole(dataset, options, staged, out, notes);
  }
  std::vector<std::string> of_cut;
  PartitionManifest manifest = write(*stream, nullptr, options, staged, of_cut);
  notes.insert(notes.end(), manifest.about.notes.begin(), manifest.about.notes.end());
  notes.insert(notes.end(), of_cut.begin(), of_cut.end());
  stream.reset();
  return publish(std::move(manifest), staged, out);
}

}  // namespace qw
