// One graph cut into parts, so that each of several processes holds some of it. A partition is a folder:
// partition.json (the manifest), part-00000.safetensors, ... and labels.safetensors; docs/data.md has the
// table of what stands there. Nodes have new numbers, by which a part is a range: parts are mapped, not
// copied, and none needs to look at another. make_partition.h cuts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/schema.h"
#include "qw/data/trained_on.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// Parts cut by range begin at multiples of it, so that sums over such blocks of nodes are those of the whole.
inline constexpr int64_t kPartitionBlock = 4096;

// What the manifest says of one part.
struct PartSummary {
  std::string file, sha256;  // in the folder; 64 hexadecimal digits
  int64_t bytes = 0;         // of the file
  int64_t nodes = 0;         // that it owns
  int64_t halo = 0;          // of others that its edges lead to
  int64_t edges = 0;         // with one end at least in it
  int64_t cut_edges = 0;     // of these, with the other end elsewhere
};

// A partition as a whole.
struct PartitionManifest {
  std::filesystem::path folder;    // where it was opened
  std::string version;             // of the qw that wrote it
  std::string id;                  // of this way to cut this data: each part says whose it is
  std::string fingerprint;         // SHA-256 of the data, the same for any way to cut it
  std::string method;              // "range" or "metis"
  int64_t align = 1;               // parts begin at multiples of it
  int64_t nodes = 0, edges = 0;    // of the graph
  int64_t cut_edges = 0;           // edges between parts
  bool directed = false;           // of the graph
  bool has_costs = false;          // of its edges
  bool has_weights = false;        // of its edges
  bool has_ids = false;            // else a node's id is its original number
  bool sparse_features = false;    // the form of the features
  std::vector<int64_t> begins;     // [P + 1]: part p owns the new numbers begins[p] .. begins[p + 1]
  std::vector<PartSummary> parts;  // [P]
  std::string labels_sha256;       // of labels.safetensors
  DataSchema schema;               // columns, classes and ids of the data
  Dataset about;                   // of the data: all but the graph, features, targets, splits and ids

  int64_t count() const { return static_cast<int64_t>(parts.size()); }  // P
  int64_t part_of(int64_t node) const;                                  // the owner of a new number
};

// Features of the nodes of a part; either `dense` or the three sparse arrays are filled, as in Features.
struct FeatureRows {
  int64_t rows = 0, columns = 0;     // own nodes, features
  bool sparse = false;               // which of the two
  std::span<const float> dense;      // [rows * columns]
  std::span<const int64_t> offsets;  // [rows + 1]
  std::span<const int32_t> indices;  // [non-zeros], columns
  std::span<const float> values;     // [non-zeros]
};

// One part. Rows are local numbers: own nodes first, in the order of their new numbers, then the halo, in the
// same order, and so part by part. Spans point into the mapped file, and live as long as a copy of the Part.
struct Part {
  int64_t number = 0, begin = 0, end = 0;  // it owns the new numbers begin .. end
  std::span<const int64_t> begins;         // of all parts, as in the manifest
  std::span<const NodeId> original;        // [own]: the number that the data gave the node
  std::span<const NodeId> halo;            // [halo]: new numbers, ascending
  std::span<const NodeId> halo_original;   // [halo]: original numbers

  // Edges with one end at least here, in the order of all edges of the renumbered graph (by head, then tail;
  // undirected ones have head <= tail there). An edge between parts stands in both.
  std::span<const NodeId> heads;           // [edges], rows
  std::span<const NodeId> tails;           // [edges], rows
  std::span<const EdgeId> edges;           // [edges]: numbers in the whole graph, ascending
  std::span<const double> costs, weights;  // [edges] or empty: all 1
  bool directed = false;                   // edges are arcs from tail to head

  FeatureRows features;              // of own nodes
  int64_t width = 0;                 // of targets
  std::span<const int32_t> classes;  // [own] or empty, as in Targets
  std::span<const double> values;    // [own * width] or empty
  std::span<const uint8_t> splits;   // [stored splits * own]: 0 nobody, 1 train, 2 val, 3 test

  // How many nodes it owns.
  int64_t own() const { return end - begin; }
  // That of an own node or one of the halo.
  int64_t new_number(NodeId row) const { return row < own() ? begin + row : int64_t{halo[row - own()]}; }
  bool owns_edge(int64_t e) const { return heads[e] < own(); }  // each edge of the graph in one part
  std::string node_id(NodeId row) const;                        // the user's, of an own node

  // Own rows that another part has in its halo, ascending: what it needs of them, in this order.
  std::span<const NodeId> sent_to(int64_t part) const;
  // Rows of the halo that another part owns: what it sends, in the same order.
  struct Rows {
    int64_t begin = 0;  // the first
    int64_t end = 0;    // behind the last
  };
  Rows received_from(int64_t part) const;

  std::span<const int64_t> send_offsets, receive_offsets, id_ends;  // behind the functions above
  std::span<const NodeId> send_rows;                                // behind sent_to
  std::span<const uint8_t> id_text;                                 // behind node_id
  std::shared_ptr<const void> bytes;                                // the mapped file
};

// Those of a part's own nodes, copied.
Features features_of(const Part& part, std::vector<std::string> names);

// Whether the folder is a partition.
bool is_partition(const std::filesystem::path& folder);

// All of these throw qw::Error with one line on what is missing, damaged, of another partition, or of a newer
// qw. The bytes of a part are compared with their checksum when it is opened.
PartitionManifest open_partition(const std::filesystem::path& folder);
Part open_part(const PartitionManifest& manifest, int64_t number);

// What is known of a part without reading it: of its file only the head and a few numbers are looked at, so
// that its bytes are not compared with their checksum.
struct PartOutline {
  std::vector<int64_t> received;  // [P]: rows of its halo that each part owns
  int64_t stored_features = 0;    // numbers: all of them, or the non-zeros
};
PartOutline outline_of(const PartitionManifest& manifest, int64_t number);

// What was read of a part need not stay in memory: it is read again when it is looked at.
void release_memory(const Part& part);

// Targets and stored splits of all nodes by their original numbers, without edges, features and ids: what
// make_split() draws a split from that is the one of the unpartitioned graph.
Dataset partition_labels(const PartitionManifest& manifest);

// The data as it was before it was cut.
Dataset join_partition(const PartitionManifest& manifest);

// What a training over the parts remembers of its data, as remember() of the joined data; features are
// hashed part by part. `splits` and `split` as in TrainedOn.
TrainedOn remember(const PartitionManifest& manifest, std::vector<Split> splits, std::string split);

}  // namespace qw
