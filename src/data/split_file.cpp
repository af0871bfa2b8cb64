#include "data/split_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

std::vector<Split> read_csv(const std::string& text, const std::string& label, const Dataset& dataset) {
  CsvScanner scanner(text, label);
  const CsvHeader header = read_header(scanner);
  if (header.names.size() < 2) fail_at_line(label, 1, "expected a column of node ids and one of parts");
  const NodeIds ids = ids_of(dataset);
  std::vector<Split> splits(header.names.size() - 1);
  std::vector<int64_t> line_of(ids.size(), 0);
  std::vector<std::string_view> cells;
  while (scanner.next(cells)) {
    if (cells.size() != header.names.size()) {
      fail_at_line(label, scanner.line(),
                   fmt::format("{} fields, expected {} as in the header", cells.size(), header.names.size()));
    }
    const auto node = ids.find(trim(cells[0]));
    if (!node) fail_at_line(label, scanner.line(), ids.explain(trim(cells[0])));
    if (line_of[*node] != 0) {
      fail_at_line(label, scanner.line(),
                   fmt::format("node id {} stands already in line {}", in_quotes(cells[0]), line_of[*node]));
    }
    line_of[*node] = scanner.line();
    for (size_t run = 0; run < splits.size(); ++run) {
      const std::string_view part = trim(cells[run + 1]);
      if (part.empty()) continue;
      std::vector<NodeId>* members = part_named(splits[run], part);
      if (members == nullptr) {
        fail_at_line(label, scanner.line(),
                     fmt::format("split {} is none of train, val, test or empty", in_quotes(part)));
      }
      members->push_back(*node);
    }
  }
  return splits;
}

Split read_json(const std::string& text, const std::string& label, int64_t nodes) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object())
    fail(fmt::format("{}: is no split: expected CSV, or JSON with train, val, test", label));
  Split split;
  for (const char* part : {"train", "val", "test"}) {
    if (!document.contains(part)) continue;
    for (const nlohmann::json& node : document.at(part)) {
      const int64_t number = node.is_number_integer() ? node.get<int64_t>() : -1;
      if (number < 0 || number >= nodes) {
        fail(fmt::format("{}: {} of \"{}\" is no node number from 0 to {}", label, node.dump(), part,
                         nodes - 1));
      }
      part_named(split, part)->push_back(static_cast<NodeId>(number));
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
  if (part == "train") return &split.train;
  if (part == "val" || part == "valid" || part == "validation") return &split.val;
  return part == "test" ? &split.test : nullptr;
}

std::vector<Split> read_split_file(const std::string& path, Dataset& dataset) {
  const std::string text = FolderFiles(".").read_text(path);
  const std::string label = FolderFiles(".").label(path);
  if (dataset.targets.task == Task::kNone)
    fail_usage("--split-file says who trains, but there is nothing to learn; name the target with --target");
  std::vector<Split> splits;
  if (path.ends_with(".json")) {
    splits.push_back(read_json(text, label, dataset.graph.num_nodes()));
  } else {
    splits = read_csv(text, label, dataset);
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
