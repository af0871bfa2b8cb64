// A list of edges between plain numbers: what its nodes are is known after one pass, and the second one
// sorts.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/text.h"
#include "data/formats/adjacency_csv.h"
#include "data/formats/edge_checks.h"
#include "data/formats/edge_csv.h"
#include "data/formats/encoding.h"
#include "data/partition/node_set.h"
#include "data/partition/stream.h"
#include "data/readers/csv_parts.h"
#include "qw/core/error.h"

namespace qw {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{1} << 23;  // bytes of text at a time
constexpr int64_t kBlock = 4096;            // numbers whose edges are counted together

// What the first pass finds. The first row may turn out to be none: it is kept apart.
struct Scan {
  int64_t rows = 0, comments = 0, negative = 0;
  NodeId first_tail = -1, first_head = -1;
  double first_weight = 1;
  NodeSet tails, heads;         // of all other rows
  NodeId largest = -1;          // in all other rows
  std::vector<int64_t> counts;  // edges by block of heads, of all rows
  // From row to row: of all rows, and without the first.
  bool heads_ascend[2] = {true, true}, tails_ascend[2] = {true, true};
  NodeId last_tail = -1, last_head = -1;

  void take(NodeId tail, NodeId head, double weight, bool directed) {
    negative += weight < 0 ? 1 : 0;
    const auto block = static_cast<size_t>((directed ? head : std::min(head, tail)) / kBlock);
    if (block >= counts.size()) counts.resize(block + 1, 0);
    ++counts[block];
    if (rows > 0) {
      heads_ascend[0] &= head >= last_head;
      tails_ascend[0] &= tail > last_tail;
      heads_ascend[1] &= rows == 1 || head >= last_head;
      tails_ascend[1] &= rows == 1 || tail > last_tail;
      tails.insert(tail);
      heads.insert(head);
      largest = std::max({largest, tail, head});
    } else {
      first_tail = tail;
      first_head = head;
      first_weight = weight;
    }
    last_tail = tail;
    last_head = head;
    ++rows;
  }

  NodeSet used() const {
    NodeSet all = tails;
    all.unite(heads);
    return all;
  }

  // Whether the first row says how many nodes and edges there are; as first_line_counts().
  bool first_counts(const EdgeLayout& layout) const {
    if (layout.has_header || layout.width != 2 || rows < 3 || first_head != rows - 1) return false;
    return first_tail == used().count() || first_tail == largest || first_tail == largest + 1;
  }
};

// Why the text cannot be read piece by piece as it is; empty: it can.
std::string odd_bytes(const MappedFile& file) {
  Forget forget(file);
  bool returns = false, ends = false;
  const std::string_view text = file.text();
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80 || byte == 0x7F || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r'))
      return "it is not plain ASCII";
    returns |= byte == '\r';
    ends |= byte == '\n';
    if ((at & 0xFFFFF) == 0) forget(at);
  }
  return returns && !ends ? "its lines end in CR alone" : "";
}

class CsvStream : public StreamSource {
 public:
  CsvStream(std::shared_ptr<const MappedFile> file, EdgeLayout layout, const LoadOptions& load,
            std::vector<std::string> notes)
      : file_(std::move(file)), layout_(std::move(layout)), load_(load) {
    form_ = {load.directed, has_value(layout_.cost, layout_.cost_attribute),
             has_value(layout_.weight, layout_.weight_attribute)};
    about_.notes = std::move(notes);
  }

  // False when an id is no plain number.
  bool scan() {
    const bool plain = each_piece([&](const PlainRows& rows) {
      scan_.comments += rows.comments;
      for (size_t e = 0; e < rows.edges.heads.size(); ++e) {
        scan_.take(rows.edges.tails[e], rows.edges.heads[e], form_.has_weights ? rows.edges.weights[e] : 1.0,
                   form_.directed);
      }
    });
    if (plain) skip_counts();
    return plain;
  }

  // After the scan, with the table of nodes if there is one; false, with a reason, where that cannot be.
  // Throws on what is no list of edges.
  bool prepare(std::optional<NodeText> nodes, int64_t memory_bytes, const fs::path& folder,
               std::string& reason) {
    NodeSet used = scan_.used();
    if (!skips_first_ && scan_.rows > 0) {
      used.insert(scan_.first_tail);
      used.insert(scan_.first_head);
      scan_.largest = std::max({scan_.largest, scan_.first_tail, scan_.first_head});
    }
    refuse_node_table(layout_, facts(used), load_);
    nodes_ = used.count();
    if (nodes_ != scan_.largest + 1)
      used.each([&](int64_t number) { numbers_.push_back(static_cast<NodeId>(number)); });
    used.number();
    used_ = std::move(used);
    if (!write_about(std::move(nodes), reason)) return false;
    std::vector<int64_t> first;
    if (node_of_.empty()) {
      first = bucket_begins(scan_.counts, kBlock, form_, memory_bytes);
      for (int64_t& number : first) number = number > scan_.largest ? nodes_ : used_.rank(number);
    } else {
      first = bucket_begins(count_heads(), kBlock, form_, memory_bytes);
    }
    scan_ = {};
    make_buckets(folder, load_, std::move(first), layout_.label);
    return true;
  }

  bool has_ids() const override { return !about_.node_ids.empty() || !numbers_.empty(); }
  std::string id(NodeId original) const override {
    if (!about_.node_ids.empty()) return about_.node_ids[original];
    return std::to_string(numbers_.empty() ? original : numbers_[original]);
  }
  // The table of nodes is in memory.
  void each_features(const std::function<void(const Features&)>& visit) override { visit(about_.features); }

 protected:
  void fill(EdgeBuckets& buckets) override {
    each_piece([&](const PlainRows& rows) {
      for (size_t e = 0; e < rows.edges.heads.size(); ++e) {
        buckets.add(node_of(rows.edges.tails[e]), node_of(rows.edges.heads[e]),
                    form_.has_costs ? rows.edges.costs[e] : 1.0,
                    form_.has_weights ? rows.edges.weights[e] : 1.0);
      }
    });
    used_ = {};
    node_of_ = {};
  }

  void each_dense(const std::function<void(int64_t, std::vector<float>)>& /*visit*/) override {}

 private:
  static bool has_value(size_t column, const std::string& attribute) {
    return column != EdgeLayout::kNoColumn || !attribute.empty();
  }

  // Whole lines at a time.
  bool each_piece(const std::function<void(const PlainRows&)>& visit) const {
    EdgeLayout piece = layout_;
    Forget forget(*file_);
    std::string_view left = layout_.rows;
    while (!left.empty()) {
      const size_t end = left.size() <= kPiece ? std::string_view::npos : left.find('\n', kPiece);
      piece.rows = left.substr(0, end == std::string_view::npos ? left.size() : end + 1);
      const std::optional<PlainRows> rows = read_plain_rows(piece);
      if (!rows) return false;
      visit(*rows);
      piece.first_line += std::count(piece.rows.begin(), piece.rows.end(), '\n');
      left.remove_prefix(piece.rows.size());
      forget(static_cast<size_t>(piece.rows.data() - file_->text().data()));
    }
    return true;
  }

  void skip_counts() {
    if (load_.header != "auto" || !scan_.first_counts(layout_)) return;
    skips_first_ = true;
    const NodeId head = form_.directed ? scan_.first_head : std::min(scan_.first_head, scan_.first_tail);
    --scan_.counts[head / kBlock];
    layout_.rows.remove_prefix(layout_.rows.find('\n') + 1);
    ++layout_.first_line;
  }

  ColumnFacts facts(const NodeSet& used) {
    const int apart = skips_first_ ? 1 : 0;
    if (!skips_first_ && scan_.rows > 0) {
      scan_.tails.insert(scan_.first_tail);
      scan_.heads.insert(scan_.first_head);
    }
    ColumnFacts facts;
    facts.rows = scan_.rows - apart;
    facts.tails = scan_.tails.count();
    facts.heads = scan_.heads.count();
    facts.heads_ascend = scan_.heads_ascend[apart];
    NodeId lowest = -1, highest = -1;
    scan_.tails.each([&](int64_t tail) {
      facts.disjoint &= !scan_.heads.has(tail);
      highest = static_cast<NodeId>(tail);
      if (lowest < 0) lowest = highest;
    });
    // They ascend, and no node lies between two of them.
    int64_t between = 0;
    used.each([&](int64_t node) { between += node >= lowest && node <= highest ? 1 : 0; });
    facts.tails_count_up = scan_.tails_ascend[apart] && between == facts.tails;
    return facts;
  }

  // The node that a number of the file names.
  NodeId node_of(NodeId number) const {
    const int64_t rank = used_.rank(number);
    return node_of_.empty() ? static_cast<NodeId>(rank) : node_of_[rank];
  }

  std::vector<int64_t> count_heads() const {
    std::vector<int64_t> counts(nodes_ / kBlock + 1, 0);
    each_piece([&](const PlainRows& rows) {
      for (size_t e = 0; e < rows.edges.heads.size(); ++e) {
        const NodeId head = node_of(rows.edges.heads[e]), tail = node_of(rows.edges.tails[e]);
        ++counts[(form_.directed ? head : std::min(head, tail)) / kBlock];
      }
    });
    return counts;
  }

  bool write_about(std::optional<NodeText> nodes, std::string& reason) {
    about_.format = "csv";
    about_.name = fs::path(layout_.label).filename().string();
    EdgeTable ends;
    ends.layout = layout_;
    ends.notes = layout_.notes;
    if (scan_.comments > 0) ends.notes.push_back(comments_note(scan_.comments));
    if (skips_first_) ends.notes.emplace_back(kFirstLineCounts);
    if (nodes && !join_nodes(std::move(*nodes), ends, reason)) return false;
    const std::string negative = negative_weights_note(scan_.negative, scan_.rows - (skips_first_ ? 1 : 0));
    if (!negative.empty()) ends.notes.push_back(negative);
    about_.notes.insert(about_.notes.end(), ends.notes.begin(), ends.notes.end());
    if (!can_make_features(about_.features.columns, load_, reason)) return false;
    finish_about(load_);
    return true;
  }

  // Every end of an edge is looked for among the nodes once, as an edge to itself.
  bool join_nodes(NodeText text, EdgeTable& ends, std::string& reason) {
    const auto count = static_cast<NodeId>(nodes_);
    for (NodeId end = 0; end < count; ++end) {
      ends.edges.tails.push_back(end);
      ends.edges.heads.push_back(end);
      if (!numbers_.empty()) ends.names.push_back(std::to_string(numbers_[end]));
    }
    ends.edges.num_nodes = nodes_;
    LoadOptions load = load_;
    if (load.unknown_nodes == "error") load.unknown_nodes = "drop";
    read_nodes(std::move(text), load, layout_.table, ends, about_);
    if (std::ssize(ends.edges.heads) < nodes_) {
      reason = "edges name nodes that the table of nodes has not";
      return false;
    }
    nodes_ = ends.edges.num_nodes;
    node_of_ = std::move(ends.edges.heads);
    numbers_.clear();
    return true;
  }

  std::shared_ptr<const MappedFile> file_;
  EdgeLayout layout_;
  LoadOptions load_;
  Scan scan_;
  bool skips_first_ = false;
  NodeSet used_;                 // numbers that are nodes
  std::vector<NodeId> numbers_;  // of the nodes without a table of them; empty: 0, 1, 2, ...
  std::vector<NodeId> node_of_;  // with a table of nodes: the row that each used number is
};

// A header that might be an edge is judged by the nodes of all the others.
bool has_doubtful_header(const EdgeLayout& layout, bool has_nodes) {
  return layout.has_header && layout.header_is_guess &&
         (has_nodes || parse_number(layout.names[layout.tail]) || parse_number(layout.names[layout.head]));
}

std::string why_not(const EdgeLayout& layout, const LoadOptions& load) {
  if (layout.bipartite) return "its two columns count their nodes apart";
  if (!layout.style.is_by_line() && layout.rows.find('"') != std::string_view::npos)
    return "it has fields in quotes";
  if (read_adjacency(layout, load)) return "it is a matrix";
  if (has_doubtful_header(layout, !load.nodes.empty())) return "its first line may be an edge";
  return "";
}

}  // namespace

std::unique_ptr<PartitionSource> csv_stream(const fs::path& data, const LoadOptions& given,
                                            int64_t memory_bytes, const fs::path& folder,
                                            std::string& reason) {
  const bool is_folder = !data.empty();
  const FolderFiles files(is_folder ? data : fs::path("."));
  LoadOptions load = csv_files(files, "", is_folder, given);
  const std::string label = files.label(load.edges);
  std::error_code ignored;
  if (!fs::exists(label, ignored)) return nullptr;
  reason = !fs::is_regular_file(label, ignored) ? "its edges are no file"
           : load.encoding != "auto"            ? "it has another encoding"
                                                : "";
  if (!reason.empty()) return nullptr;
  if (load.nodes.empty() && !can_make_features(0, load, reason)) return nullptr;
  const auto file = mapped_text(label, folder);
  reason = odd_bytes(*file);
  if (!reason.empty()) return nullptr;
  if (is_folder) adopt_edge_columns(file->text(), label, load);
  EdgeLayout layout = find_edge_layout(file->text(), label, load);
  reason = why_not(layout, load);
  if (!reason.empty()) return nullptr;
  std::optional<NodeText> nodes;
  std::vector<std::string> notes;
  if (!load.nodes.empty()) {
    nodes = {to_utf8(files.read_text(load.nodes), files.label(load.nodes), load.encoding, notes),
             files.label(load.nodes)};
    if (is_folder) adopt_node_columns(*nodes, load);
  }
  auto stream = std::make_unique<CsvStream>(file, std::move(layout), load, std::move(notes));
  if (!stream->scan()) {
    reason = "its ids are not all plain numbers";
    return nullptr;
  }
  return stream->prepare(std::move(nodes), memory_bytes, folder, reason) ? std::move(stream) : nullptr;
}

}  // namespace qw
