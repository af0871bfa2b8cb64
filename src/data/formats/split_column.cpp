#include "data/formats/split_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/excerpt.h"
#include "core/text.h"
#include "data/formats/numbers.h"
#include "data/split_file.h"

namespace qw {
namespace {

constexpr std::array<const char*, 3> kMasks = {"train_mask", "val_mask", "test_mask"};

bool lists(const std::vector<std::string>& names, const std::string& column) {
  return std::find(names.begin(), names.end(), column) != names.end();
}

// Which columns have nothing but names of parts, train and another among them.
std::vector<bool> columns_of_parts(const NodeText& nodes, const std::vector<std::string>& names,
                                   const LoadOptions& options) {
  const MissingSpellings missing(options.missing);
  std::vector<bool> may_be(names.size());
  for (size_t column = 0; column < names.size(); ++column) may_be[column] = is_free(names[column], options);
  std::vector<bool> trains(names.size(), false), evaluates(names.size(), false);
  Split parts;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& cells) {
    for (size_t column = 0; column < cells.size(); ++column) {
      if (!may_be[column] || missing.contains(cells[column])) continue;
      const std::vector<NodeId>* part = part_named(parts, cells[column]);
      if (part == nullptr) may_be[column] = false;
      (part == &parts.train ? trains : evaluates)[column] = true;
    }
  });
  for (size_t column = 0; column < names.size(); ++column)
    may_be[column] = may_be[column] && trains[column] && evaluates[column];
  return may_be;
}

std::optional<bool> mask_bit(std::string_view cell) {
  if (const auto truth = parse_truth(cell)) return truth;
  const auto number = parse_number(cell);
  return number && (*number == 0.0 || *number == 1.0) ? std::optional(*number == 1.0) : std::nullopt;
}

std::string in_words(const std::vector<std::string>& columns) {
  std::vector<std::string> quoted;
  quoted.reserve(columns.size());
  for (const std::string& column : columns) quoted.push_back(in_quotes(column));
  return (columns.size() == 1 ? "column " : "columns ") + name_list(quoted);
}

// The split that three columns of 0 and 1 make; nothing when a node is in two parts, or nobody trains.
std::optional<Split> split_of_masks(const NodeText& nodes, const std::array<size_t, 3>& columns) {
  Split split;
  const std::array<std::vector<NodeId>*, 3> parts = {&split.train, &split.val, &split.test};
  bool is_split = true;
  NodeId node = 0;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& cells) {
    int64_t in_parts = 0;
    for (size_t k = 0; k < columns.size(); ++k) {
      const auto bit = mask_bit(cells[columns[k]]);
      is_split = is_split && (bit.has_value() || cells[columns[k]].empty());
      if (!bit.value_or(false)) continue;
      parts[k]->push_back(node);
      ++in_parts;
    }
    is_split = is_split && in_parts <= 1;
    ++node;
  });
  is_split = is_split && !split.train.empty() && !(split.val.empty() && split.test.empty());
  return is_split ? std::optional(std::move(split)) : std::nullopt;
}

MaskSplit choose_masks(const NodeText& nodes, const std::vector<std::string>& names, bool is_wanted,
                       LoadOptions& options, std::vector<std::string>& notes) {
  MaskSplit masks;
  std::array<size_t, 3> columns{};
  for (size_t column = 0; column < names.size(); ++column) {
    const auto mask = std::find(kMasks.begin(), kMasks.end(), names[column]);
    if (mask == kMasks.end() || !is_free(names[column], options)) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    if (!std::all_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return cell.empty() || mask_bit(cell); }))
      continue;
    columns[mask - kMasks.begin()] = column;
    masks.columns.push_back(names[column]);
  }
  if (masks.columns.empty()) return {};
  options.drop.insert(options.drop.end(), masks.columns.begin(), masks.columns.end());
  const std::string words = in_words(masks.columns);
  auto split =
      is_wanted && masks.columns.size() == kMasks.size() ? split_of_masks(nodes, columns) : std::nullopt;
  if (!split) {
    notes.push_back(fmt::format(
        "{}: {} {} taken for masks of a split, and {} no feature{}; --features can name {}", nodes.label,
        words, masks.columns.size() == 1 ? "is" : "are", masks.columns.size() == 1 ? "is" : "are",
        is_wanted ? " and, without disjoint train_mask, val_mask and test_mask, no split" : "",
        masks.columns.size() == 1 ? "it" : "them"));
    return {};
  }
  notes.push_back(fmt::format(
      "{}: {} say who trains; --split stratified draws another, --features {} makes them features",
      nodes.label, words, printable(join(masks.columns, ","))));
  masks.split = std::move(*split);
  return masks;
}

// Names of columns that say who trains, without blanks and the like.
bool sounds_like_split(const std::string& name) {
  static constexpr std::array kNames{"split",  "fold",    "partition", "subset", "trainval", "traintest",
                                     "istest", "istrain", "isval",     "train",  "holdout",  "datasplit"};
  std::string word = lower(name);
  std::erase_if(word, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.'; });
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

void say_unread_splits(const NodeText& nodes, const std::vector<std::string>& names,
                       const LoadOptions& options, std::vector<std::string>& notes) {
  for (const std::string& name : names) {
    if (!is_free(name, options) || !sounds_like_split(name)) continue;
    notes.push_back(fmt::format(
        "{}: column {} is a feature and does not say who trains: its words are none of train, val and test; "
        "--drop {} leaves it out, --split-file names who trains",
        nodes.label, in_quotes(name), printable(name)));
  }
}

}  // namespace

MaskSplit choose_split(const NodeText& nodes, LoadOptions& options, std::vector<std::string>& notes) {
  const std::vector<std::string> names = header_names(nodes);
  bool is_wanted = !options.target.empty() && options.split_column.empty() && options.split_file.empty();
  const std::vector<bool> has_parts = columns_of_parts(nodes, names, options);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    if (!has_parts[column]) continue;
    if (is_wanted) {
      options.split_column = name;
      is_wanted = false;
      notes.push_back(fmt::format(
          "{}: column {} says who trains; --split stratified draws another, --features {} makes it "
          "a feature",
          nodes.label, in_quotes(name), printable(name)));
    } else {
      options.drop.push_back(name);
      notes.push_back(
          fmt::format("{}: column {} names the parts of a split and is no feature; --split-column can name "
                      "it, or --features",
                      nodes.label, in_quotes(name)));
    }
  }
  MaskSplit masks = choose_masks(nodes, names, is_wanted, options, notes);
  if (is_wanted && masks.columns.empty()) say_unread_splits(nodes, names, options, notes);
  return masks;
}

void take_masks(MaskSplit masks, NodeTable& table) {
  if (masks.columns.empty()) return;
  int64_t unlabelled = 0;
  for (auto* part : {&masks.split.train, &masks.split.val, &masks.split.test})
    unlabelled += std::erase_if(*part, [&](NodeId node) { return !table.targets.known(node); });
  if (unlabelled > 0) {
    table.notes.push_back(fmt::format(
        "{} nodes of {} have no label and are left out of the split; --split stratified draws another",
        unlabelled, in_words(masks.columns)));
  }
  for (TableColumn& column : table.columns) {
    if (lists(masks.columns, column.name)) column.role = "split";
  }
  table.splits.push_back(std::move(masks.split));
}

}  // namespace qw
