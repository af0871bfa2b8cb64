#include "data/split_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "data/file_set.h"
#include "data/formats/csv.h"
#include "data/formats/node_ids.h"
#include "qw/core/error.h"

namespace qw {
namespace {

NodeIds ids_of(const Dataset& dataset) {
  return dataset.node_ids.empty() ? NodeIds::row_numbers(dataset.graph.num_nodes(), "the graph")
                                  : NodeIds::named(dataset.node_ids, "the graph");
}

// Whether the first row is a node and its parts.
bool is_row_of_parts(const std::vector<std::string_view>& cells, const NodeIds& ids) {
  Split parts;
  bool has_part = false;
  for (size_t column = 1; column < cells.size(); ++column) {
    const std::string_view cell = trim(cells[column]);
    if (!cell.empty() && part_named(parts, cell) == nullptr) return false;
    has_part = has_part || !cell.empty();
  }
  return has_part && (ids.find(trim(cells[0])) || !is_id_name(trim(cells[0])));
}

// Takes the rows of one file.
class PartsReader {
 public:
  PartsReader(const std::string& label, const NodeIds& ids, size_t runs)
      : label_(label), ids_(ids), splits_(runs), line_of_(ids.size(), 0) {}

  void take(const std::vector<std::string_view>& cells, int64_t line) {
    if (cells.size() != splits_.size() + 1) {
      fail_at_line(
          label_, line,
          fmt::format("{} fields, expected {} as in the first line", cells.size(), splits_.size() + 1));
    }
    const auto node = ids_.find(trim(cells[0]));
    if (!node) fail_at_line(label_, line, ids_.explain(trim(cells[0])));
    if (line_of_[*node] != 0) {
      fail_at_line(label_, line,
                   fmt::format("node id {} stands already in line {}", in_quotes(cells[0]), line_of_[*node]));
    }
    line_of_[*node] = line;
    for (size_t run = 0; run < splits_.size(); ++run) {
      const std::string_view part = trim(cells[run + 1]);
      if (part.empty()) continue;
      std::vector<NodeId>* members = part_named(splits_[run], part);
      if (members == nullptr) {
        fail_at_line(label_, line,
                     fmt::format("split {} is none of train, val, test or empty", in_quotes(part)));
      }
      members->push_back(*node);
    }
  }

  std::vector<Split> finish() { return std::move(splits_); }

 private:
  const std::string& label_;
  const NodeIds& ids_;
  std::vector<Split> splits_;
  std::vector<int64_t> line_of_;
};

NodeId node_of_number(const nlohmann::ordered_json& node, int64_t nodes, const std::string& place) {
  const int64_t number = node.is_number_integer() ? node.get<int64_t>() : -1;
  if (number < 0 || number >= nodes)
    fail(fmt::format("{}: {} is no node number from 0 to {}{}", place, json_excerpt(node), nodes - 1,
                     node.is_string() ? "; node ids stand under \"ids\"" : ""));
  return static_cast<NodeId>(number);
}

NodeId node_of_id(const nlohmann::ordered_json& id, const NodeIds& ids, const std::string& place) {
  const std::string name = id.is_string() ? id.get<std::string>() : json_text(id);
  const auto node = ids.find(name);
  if (!node) fail(fmt::format("{}: {}", place, ids.explain(name)));
  return *node;
}

void check_keys(const nlohmann::ordered_json& document, const std::string& label) {
  static const std::vector<std::string> known = {"train", "val",  "test",  "nodes",  "ids",
                                                 "name",  "seed", "split", "classes"};
  for (const auto& [key, value] : document.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(fmt::format("{}: key {}", label, unknown_name(key, known)));
  }
}

// By ids where the file and the graph have them, else by node numbers, which mean this graph only if it has
// as many nodes.
Split split_from_json(const std::string& text, const std::string& label, const Dataset& dataset) {
  const nlohmann::ordered_json document = parse_json(text, label);
  if (!document.is_object())
    fail(fmt::format("{}: is no split: expected CSV, or JSON with train, val, test", label));
  check_keys(document, label);
  const int64_t nodes = dataset.graph.num_nodes();
  const bool by_ids = document.contains("ids") && !dataset.node_ids.empty();
  if (!by_ids && document.contains("nodes") && document.at("nodes") != nodes) {
    fail(fmt::format("{}: is a split of {} nodes, but this graph has {}", label,
                     json_excerpt(document.at("nodes")), nodes));
  }
  const nlohmann::ordered_json& parts = by_ids ? document.at("ids") : document;
  if (!parts.contains("train")) {
    fail(fmt::format("{}: has no \"train\"{}; expected lists of nodes, train, val and test", label,
                     by_ids ? " in \"ids\"" : ""));
  }
  const NodeIds ids = ids_of(dataset);
  Split split;
  for (const char* part : {"train", "val", "test"}) {
    if (!parts.contains(part)) continue;
    const std::string place = fmt::format("{}: \"{}\"", label, part);
    if (!parts.at(part).is_array()) fail(fmt::format("{}: expected a list of nodes", place));
    for (const nlohmann::ordered_json& node : parts.at(part)) {
      part_named(split, part)
          ->push_back(by_ids ? node_of_id(node, ids, place) : node_of_number(node, nodes, place));
    }
  }
  return split;
}

// Returns how many were left out.
int64_t keep_labelled(std::vector<NodeId>& part, const Targets& targets) {
  std::sort(part.begin(), part.end());
  return static_cast<int64_t>(std::erase_if(part, [&](NodeId node) { return !targets.known(node); }));
}

}  // namespace

std::vector<NodeId>* part_named(Split& split, std::string_view name) {
  const std::string part = lower(name);
  if (part == "train" || part == "training") return &split.train;
  if (part == "val" || part == "valid" || part == "validation" || part == "dev") return &split.val;
  const bool is_test = part == "test" || part == "testing" || part == "holdout" || part == "hold-out";
  return is_test ? &split.test : nullptr;
}

std::vector<Split> splits_from_csv(const std::string& text, const std::string& label,
                                   const Dataset& dataset) {
  CsvScanner scanner(text, label);
  std::vector<std::string_view> cells;
  if (!scanner.next(cells)) fail(fmt::format("{}: is empty; expected node ids and parts", label));
  if (cells.size() < 2) fail_at_line(label, scanner.line(), "expected a column of node ids and one of parts");
  const NodeIds ids = ids_of(dataset);
  PartsReader reader(label, ids, cells.size() - 1);
  if (is_row_of_parts(cells, ids)) reader.take(cells, scanner.line());
  while (scanner.next(cells)) reader.take(cells, scanner.line());
  return reader.finish();
}

std::vector<Split> read_split_file(const std::string& path, Dataset& dataset) {
  const std::string text = FolderFiles(".").read_text(path);
  const std::string label = FolderFiles(".").label(path);
  if (dataset.targets.task == Task::kNone)
    fail_usage("--split-file says who trains, but there is nothing to learn; name the target with --target");
  std::vector<Split> splits;
  if (path.ends_with(".json")) {
    splits.push_back(split_from_json(text, label, dataset));
  } else {
    splits = splits_from_csv(text, label, dataset);
  }
  int64_t unlabelled = 0;
  for (Split& split : splits) {
    for (auto* part : {&split.train, &split.val, &split.test})
      unlabelled += keep_labelled(*part, dataset.targets);
    try {
      check_split(split, dataset.targets);
    } catch (const Error& error) {
      fail(fmt::format("{}: {}", label, error.what()));
    }
  }
  if (unlabelled > 0) {
    dataset.notes.push_back(
        fmt::format("{} nodes of --split-file have no label and are left out of the split", unlabelled));
  }
  return splits;
}

}  // namespace qw
