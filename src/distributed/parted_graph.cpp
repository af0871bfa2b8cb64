// What is known of a graph in parts before any of it is read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "distributed/train_partition.h"
#include "distributed/training_plan.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr std::string_view kSize = "size:";

double share(int64_t some, int64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
}

// Nodes of other parts that a node's part asks for, where every neighbour is in any part with the same
// chance: another part asks for a node unless none of its neighbours is there.
double halo_by_lot(const GraphSize& size, int64_t parts) {
  const double degree = 2 * share(size.edges, size.nodes), others = static_cast<double>(parts - 1);
  return others * -std::expm1(degree * std::log1p(-1 / static_cast<double>(parts)));
}

}  // namespace

FieldTable fields(GraphSize& size) {
  FieldTable table("size");
  table.add("nodes", size.nodes, {1, static_cast<double>(kMaxNodes)}, "nodes of the graph");
  table.add("edges", size.edges, {0, 1e15}, "edges, each once");
  table.add("features", size.features, {1, 1e9}, "columns of the features, all stored");
  table.add("classes", size.classes, {2, 1e6}, "classes of the nodes");
  table.add("directed", size.directed, "edges are arcs");
  table.add("train", size.train, {0, 1}, "share of the nodes that train");
  table.add("val", size.val, {0, 1}, "share of the nodes that validate; the rest is for the test");
  table.add("halo", size.halo, {-1, 1e9},
            "rows of other parts that each own node needs; -1: of parts drawn by lot");
  return table;
}

bool is_size_spec(std::string_view spec) { return spec.starts_with(kSize); }

GraphSize graph_size(std::string_view spec) {
  GraphSize size;
  fields(size).parse_spec(spec.substr(kSize.size()));
  std::vector<std::string> lacking;
  for (const auto& [name, number] :
       {std::pair{"nodes", size.nodes}, std::pair{"edges", size.edges}, std::pair{"features", size.features},
        std::pair{"classes", size.classes}})
    if (number == 0) lacking.emplace_back(name);
  if (!lacking.empty()) fail_usage("size: give " + join(lacking, ", "));
  if (size.train + size.val > 1) fail_usage("size: train and val are more than all nodes");
  return size;
}

PartedGraph parted_graph(const PartitionManifest& manifest, const TrainRequest& request) {
  const Dataset labels = labels_of_partition(manifest);
  const Split split = split_of(request, labels, 0);
  int64_t stored = 0;
  PartedGraph graph{
      manifest.about.name, manifest.method, manifest.nodes, manifest.edges, manifest.parts, {}, {}};
  for (int64_t part = 0; part < manifest.count(); ++part) {
    graph.outlines.push_back(outline_of(manifest, part));
    stored += graph.outlines.back().stored_features;
  }
  graph.data = {labels.targets.task,
                labels.targets.width,
                manifest.schema.features,
                manifest.sparse_features,
                share(stored, manifest.nodes),
                manifest.directed,
                manifest.has_weights,
                manifest.has_costs,
                share(std::ssize(split.train), manifest.nodes),
                share(std::ssize(split.val), manifest.nodes),
                share(std::ssize(split.test), manifest.nodes)};
  return graph;
}

PartedGraph parted_graph(const GraphSize& size, int64_t parts) {
  if (parts > size.nodes)
    fail_usage(fmt::format("size: {} nodes are too few for {} processes", size.nodes, parts));
  PartedGraph graph{"size", size.halo < 0 ? "drawn by lot" : "given", size.nodes, size.edges, {}, {}, {}};
  const double halo = size.halo < 0 ? halo_by_lot(size, parts) : size.halo;
  // A row of the halo has one edge at least; by lot, an edge is between two parts with this chance.
  const double by_lot = 1 - 1 / static_cast<double>(parts);
  const auto number = [&](double of_all) { return std::llround(of_all / static_cast<double>(parts)); };
  const auto nodes = static_cast<double>(size.nodes), edges = static_cast<double>(size.edges);
  const double most_halo = halo_by_lot(size, parts);
  const double cut = most_halo == 0 ? 0 : edges * by_lot * std::min(1.0, halo / most_halo);
  for (int64_t part = 0; part < parts; ++part) {
    PartSummary summary;
    summary.nodes = number(nodes);
    summary.halo = number(nodes * halo);
    summary.edges = number(edges + cut);
    summary.cut_edges = number(2 * cut);
    graph.parts.push_back(summary);
    PartOutline outline;
    outline.received.assign(parts, parts == 1 ? 0 : summary.halo / (parts - 1));
    outline.received[part] = 0;
    outline.stored_features = summary.nodes * size.features;
    graph.outlines.push_back(outline);
  }
  graph.data = {Task::kClassification,
                size.classes,
                size.features,
                false,
                static_cast<double>(size.features),
                size.directed,
                false,
                false,
                size.train,
                size.val,
                1 - size.train - size.val};
  return graph;
}

}  // namespace qw
