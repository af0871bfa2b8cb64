#include "data/partition/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "data/partition/node_set.h"
#include "data/partition/part_format.h"
#include "qw/core/error.h"

namespace qw {
namespace {

struct PartEdge {
  EdgeId edge;
  NodeId head, tail;  // new numbers
};

// The split that each node is in, one byte each.
std::vector<uint8_t> marks_of(const Split& split, int64_t nodes) {
  std::vector<uint8_t> marks(nodes, static_cast<uint8_t>(SplitMark::kNobody));
  for (const auto& [part, mark] : {std::pair{&split.train, SplitMark::kTrain},
                                   {&split.val, SplitMark::kVal},
                                   {&split.test, SplitMark::kTest}}) {
    for (const NodeId node : *part) marks[node] = static_cast<uint8_t>(mark);
  }
  return marks;
}

}  // namespace

// The nodes of other parts that edges of this one lead to, and which of its own those parts need.
struct PartWriter::Halo {
  NodeSet nodes;                         // new numbers
  std::map<int64_t, NodeSet> needed_by;  // own rows
  std::vector<int64_t> send_offsets, receive_offsets;
};

// Tensors to be written one after the other.
class PartWriter::Sections {
 public:
  using Write = std::function<void(HashedFile&)>;

  void add(std::string name, TensorType type, std::vector<int64_t> shape, Write write) {
    shapes_.push_back({std::move(name), type, std::move(shape)});
    writes_.push_back(std::move(write));
  }
  template <class T>
  void add(std::string name, std::vector<T> items) {
    const auto count = static_cast<int64_t>(items.size());
    add(std::move(name), tensor_type<T>(), {count},
        [items = std::move(items)](HashedFile& file) { file.append(items); });
  }
  void add(std::string name, TensorType type, std::vector<int64_t> shape, Spill& spill) {
    add(std::move(name), type, std::move(shape), [&spill](HashedFile& file) {
      spill.each_piece([&](std::span<const std::byte> piece) { file.append_bytes(piece); });
      spill.clear();
    });
  }

  // Wide types first, so that each lies at a multiple of its size.
  HashedFile::Summary write(const std::filesystem::path& path, const SafetensorsMetadata& metadata) {
    std::vector<size_t> order;
    for (const size_t bytes : {8, 4, 1}) {
      for (size_t k = 0; k < shapes_.size(); ++k) {
        if (item_size(shapes_[k].type) == bytes) order.push_back(k);
      }
    }
    std::vector<TensorShape> shapes;
    shapes.reserve(order.size());
    for (const size_t k : order) shapes.push_back(shapes_[k]);
    HashedFile file(path);
    const std::string head = safetensors_head(shapes, metadata, path.string());
    file.append(std::span<const char>(head));
    for (const size_t k : order) writes_[k](file);
    return file.finish();
  }

 private:
  std::vector<TensorShape> shapes_;
  std::vector<Write> writes_;
};

PartWriter::PartWriter(std::filesystem::path folder, const std::filesystem::path& work,
                       const PartitionSource& source, const Cut& cut)
    : folder_(std::move(folder)), source_(source), cut_(cut), form_(source.edge_form()) {
  for (const Split& split : source.about().splits) marks_.push_back(marks_of(split, source.nodes()));
  const size_t parts = cut.begins.size() - 1;
  const size_t room = std::clamp<size_t>((size_t{64} << 20) / parts, size_t{1} << 12, size_t{1} << 20);
  for (size_t part = 0; part < parts; ++part) {
    const auto spill = [&](const char* what) {
      return Spill(work / fmt::format("part-{}.{}", part, what), room);
    };
    pieces_.push_back({spill("edges"), spill("costs"), spill("weights"), spill("features"), spill("ends"),
                       spill("indices"), spill("values")});
  }
}

int64_t PartWriter::part_of(int64_t node) const {
  return std::upper_bound(cut_.begins.begin(), cut_.begins.end(), node) - cut_.begins.begin() - 1;
}

void PartWriter::add_edges(const EdgeBlock& block) {
  for (size_t k = 0; k < block.heads.size(); ++k) {
    const PartEdge edge{edges_++, block.heads[k], block.tails[k]};
    const int64_t owners[] = {part_of(edge.head), part_of(edge.tail)};
    const bool is_cut = owners[0] != owners[1];
    cut_edges_ += is_cut ? 1 : 0;
    for (int end = 0; end < (is_cut ? 2 : 1); ++end) {
      Pieces& pieces = pieces_[owners[end]];
      pieces.edges.put(edge);
      if (form_.has_costs) pieces.costs.put(block.costs[k]);
      if (form_.has_weights) pieces.weights.put(block.weights[k]);
      pieces.cut_edges += is_cut ? 1 : 0;
    }
  }
}

void PartWriter::add_features(const Features& block) {
  for (int64_t row = 0; row < block.rows; ++row, ++feature_rows_) {
    Pieces& pieces = pieces_of(feature_rows_);
    if (!block.sparse) {
      pieces.features.append(std::span(block.dense).subspan(row * block.columns, block.columns));
      continue;
    }
    const int64_t begin = block.offsets[row], count = block.offsets[row + 1] - begin;
    pieces.indices.append(std::span(block.indices).subspan(begin, count));
    pieces.values.append(std::span(block.values).subspan(begin, count));
    pieces.row_end += count;
    pieces.row_ends.put(pieces.row_end);
  }
}

PartWriter::Halo PartWriter::halo_of(int64_t part) {
  const int64_t begin = cut_.begins[part], end = cut_.begins[part + 1];
  Halo halo;
  halo.nodes = NodeSet(cut_.begins.back());
  const auto meet = [&](int64_t own, int64_t other) {
    if (other >= begin && other < end) return;
    halo.nodes.add(other);
    halo.needed_by.try_emplace(part_of(other), end - begin).first->second.add(own - begin);
  };
  pieces_[part].edges.each<PartEdge>([&](std::span<const PartEdge> edges) {
    for (const PartEdge& edge : edges) {
      if (edge.head >= begin && edge.head < end) {
        meet(edge.head, edge.tail);
      } else {
        meet(edge.tail, edge.head);
      }
    }
  });
  halo.nodes.number();
  halo.send_offsets.push_back(0);
  for (int64_t other = 0; other + 1 < static_cast<int64_t>(cut_.begins.size()); ++other) {
    const auto needed = halo.needed_by.find(other);
    halo.send_offsets.push_back(halo.send_offsets.back() +
                                (needed == halo.needed_by.end() ? 0 : needed->second.count()));
  }
  halo.receive_offsets.assign(cut_.begins.size(), 0);
  halo.nodes.each([&](int64_t node) { ++halo.receive_offsets[part_of(node) + 1]; });
  for (size_t k = 1; k < halo.receive_offsets.size(); ++k)
    halo.receive_offsets[k] += halo.receive_offsets[k - 1];
  return halo;
}

void PartWriter::add_edge_sections(int64_t part, const Halo& halo, Sections& sections) {
  const int64_t begin = cut_.begins[part], end = cut_.begins[part + 1];
  const auto row_of = [&halo, begin, end](NodeId node) {
    const bool own = node >= begin && node < end;
    return static_cast<NodeId>(own ? node - begin : end - begin + halo.nodes.rank(node));
  };
  Pieces& pieces = pieces_[part];
  const int64_t count = pieces.edges.count<PartEdge>();
  const auto add = [&]<class T>(const char* name, T /*type*/, const auto& value) {
    sections.add(name, tensor_type<T>(), {count}, [&pieces, value](HashedFile& file) {
      std::vector<T> items;
      pieces.edges.each<PartEdge>([&](std::span<const PartEdge> edges) {
        items.clear();
        for (const PartEdge& edge : edges) items.push_back(value(edge));
        file.append(items);
      });
    });
  };
  add("edges", EdgeId{}, [](const PartEdge& edge) { return edge.edge; });
  add("heads", NodeId{}, [row_of](const PartEdge& edge) { return row_of(edge.head); });
  add("tails", NodeId{}, [row_of](const PartEdge& edge) { return row_of(edge.tail); });
  if (form_.has_costs) sections.add("costs", TensorType::kF64, {count}, pieces.costs);
  if (form_.has_weights) sections.add("weights", TensorType::kF64, {count}, pieces.weights);
}

void PartWriter::add_feature_sections(int64_t part, Sections& sections) {
  Pieces& pieces = pieces_[part];
  const int64_t own = cut_.begins[part + 1] - cut_.begins[part];
  if (source_.feature_columns() == 0) return;
  if (!source_.sparse_features()) {
    sections.add("features", TensorType::kF32, {own, source_.feature_columns()}, pieces.features);
    return;
  }
  sections.add("feature_offsets", TensorType::kI64, {own + 1}, [&pieces](HashedFile& file) {
    file.append(std::vector<int64_t>{0});
    pieces.row_ends.each_piece([&](std::span<const std::byte> piece) { file.append_bytes(piece); });
    pieces.row_ends.clear();
  });
  sections.add("feature_indices", TensorType::kI32, {pieces.row_end}, pieces.indices);
  sections.add("feature_values", TensorType::kF32, {pieces.row_end}, pieces.values);
}

void PartWriter::add_node_sections(int64_t part, const Halo& halo, Sections& sections) const {
  const int64_t begin = cut_.begins[part], end = cut_.begins[part + 1];
  const Targets& targets = source_.about().targets;
  std::vector<NodeId> original, halo_nodes, halo_original, send_rows;
  for (int64_t node = begin; node < end; ++node) original.push_back(cut_.original_of(node));
  halo.nodes.each([&](int64_t node) {
    halo_nodes.push_back(static_cast<NodeId>(node));
    halo_original.push_back(cut_.original_of(node));
  });
  for (const auto& [other, rows] : halo.needed_by)
    rows.each([&](int64_t row) { send_rows.push_back(static_cast<NodeId>(row)); });
  std::vector<int32_t> classes;
  std::vector<double> values;
  std::vector<uint8_t> marks, id_text;
  std::vector<int64_t> id_ends;
  for (const NodeId node : original) {
    if (!targets.classes.empty()) classes.push_back(targets.classes[node]);
    const auto row = targets.values.begin() + (targets.values.empty() ? 0 : node * targets.width);
    if (!targets.values.empty()) values.insert(values.end(), row, row + targets.width);
    if (!source_.has_ids()) continue;
    const std::string id = source_.id(node);
    id_text.insert(id_text.end(), id.begin(), id.end());
    id_ends.push_back(static_cast<int64_t>(id_text.size()));
  }
  for (const std::vector<uint8_t>& of_all : marks_) {
    for (const NodeId node : original) marks.push_back(of_all[node]);
  }
  sections.add("begins", cut_.begins);
  sections.add("send_offsets", halo.send_offsets);
  sections.add("receive_offsets", halo.receive_offsets);
  sections.add("original", std::move(original));
  sections.add("halo", std::move(halo_nodes));
  sections.add("halo_original", std::move(halo_original));
  sections.add("send_rows", std::move(send_rows));
  if (!targets.classes.empty()) sections.add("classes", std::move(classes));
  if (!targets.values.empty()) sections.add("values", std::move(values));
  if (!marks_.empty()) sections.add("splits", std::move(marks));
  if (source_.has_ids()) {
    sections.add("id_ends", std::move(id_ends));
    sections.add("ids", std::move(id_text));
  }
}

PartSummary PartWriter::write(int64_t part, const std::string& partition_id) {
  PartSummary summary;
  summary.file = part_file_name(part);
  summary.nodes = cut_.begins[part + 1] - cut_.begins[part];
  summary.edges = pieces_[part].edges.count<PartEdge>();
  summary.cut_edges = pieces_[part].cut_edges;
  const Halo halo = halo_of(part);
  summary.halo = halo.receive_offsets.back();
  Sections sections;
  add_edge_sections(part, halo, sections);
  add_feature_sections(part, sections);
  add_node_sections(part, halo, sections);
  const auto written =
      sections.write(folder_ / summary.file, {{"schema", std::to_string(kPartitionSchema)},
                                              {"partition", partition_id},
                                              {"part", std::to_string(part)},
                                              {"edges", std::to_string(edges_)},
                                              {"directed", form_.directed ? "1" : "0"},
                                              {"features", std::to_string(source_.feature_columns())},
                                              {"width", std::to_string(source_.about().targets.width)}});
  pieces_[part].edges.clear();
  summary.sha256 = written.sha256;
  summary.bytes = written.bytes;
  return summary;
}

std::string PartWriter::write_labels(const std::string& partition_id) {
  const Targets& targets = source_.about().targets;
  const int64_t nodes = source_.nodes();
  Sections sections;
  if (!targets.classes.empty()) {
    sections.add("classes", TensorType::kI32, {nodes},
                 [&](HashedFile& file) { file.append(targets.classes); });
  }
  if (!targets.values.empty()) {
    sections.add("values", TensorType::kF64, {nodes, targets.width},
                 [&](HashedFile& file) { file.append(targets.values); });
  }
  sections.add("splits", TensorType::kU8, {static_cast<int64_t>(marks_.size()), nodes},
               [this](HashedFile& file) {
                 for (const std::vector<uint8_t>& marks : marks_) file.append(marks);
               });
  return sections
      .write(folder_ / kLabelsFile,
             {{"schema", std::to_string(kPartitionSchema)}, {"partition", partition_id}})
      .sha256;
}

}  // namespace qw
