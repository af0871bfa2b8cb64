#include "data/formats/node_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "core/text.h"

namespace qw {

bool is_id_name(std::string_view column) {
  static const std::vector<std::string_view> known = {
      "id",  "ids",  "node",   "nodes",  "nodeid",   "name",     "key",        "index", "idx",
      "uid", "uuid", "vertex", "userid", "vertexid", "nodename", "identifier", "code"};
  const std::string name = lower(column);
  return name.ends_with("_id") || name.ends_with(" id") || name.ends_with(":id") ||
         std::find(known.begin(), known.end(), name) != known.end();
}

size_t NameTable::slot_of(std::string_view name, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].number >= 0 && (slots_[slot].hash != hash || names_[slots_[slot].number] != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameTable::grow(size_t slots) {
  slots_.assign(slots, {});
  for (size_t number = 0; number < names_.size(); ++number) {
    const uint64_t hash = std::hash<std::string_view>()(names_[number]);
    slots_[slot_of(names_[number], hash)] = {hash, static_cast<NodeId>(number)};
  }
}

void NameTable::reserve(size_t count) {
  names_.reserve(count);
  grow(std::bit_ceil(2 * count + 2));
}

std::optional<NodeId> NameTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const NodeId number = slots_[slot_of(name, std::hash<std::string_view>()(name))].number;
  return number >= 0 ? std::optional(number) : std::nullopt;
}

NodeId NameTable::find_or_add(std::string_view name) {
  if (2 * (names_.size() + 1) > slots_.size()) grow(std::max<size_t>(64, 2 * slots_.size()));
  const uint64_t hash = std::hash<std::string_view>()(name);
  Slot& slot = slots_[slot_of(name, hash)];
  if (slot.number < 0) {
    slot = {hash, static_cast<NodeId>(names_.size())};
    names_.emplace_back(name);
  }
  return slot.number;
}

NodeIds NodeIds::row_numbers(int64_t count, std::string described_by) {
  NodeIds ids;
  ids.size_ = count;
  ids.row_numbers_ = true;
  ids.described_by_ = std::move(described_by);
  return ids;
}

NodeIds NodeIds::named(std::vector<std::string> names, std::string described_by) {
  NodeIds ids;
  ids.size_ = static_cast<int64_t>(names.size());
  ids.described_by_ = std::move(described_by);
  NodeId largest = -1;
  ids.table_.reserve(names.size());
  for (const std::string& name : names) {
    ids.table_.find_or_add(name);
    const auto number = plain_number(name);
    largest = number ? std::max(largest, *number) : static_cast<NodeId>(kMaxNodes);
  }
  // A table by number as long as it stays about as small as the names themselves.
  if (largest < 8 * ids.size_ + 1024) {
    ids.by_number_.assign(largest + 1, -1);
    for (NodeId node = 0; node < ids.size_; ++node) ids.by_number_[*plain_number(names[node])] = node;
  }
  return ids;
}

std::optional<NodeId> NodeIds::find(std::string_view id) const {
  if (row_numbers_) {
    const auto number = plain_number(id);
    return number && *number < size_ ? number : std::nullopt;
  }
  if (by_number_.empty()) return table_.find(id);
  const auto number = plain_number(id);
  if (!number || *number >= static_cast<int64_t>(by_number_.size()) || by_number_[*number] < 0)
    return std::nullopt;
  return by_number_[*number];
}

std::string NodeIds::explain(std::string_view id) const {
  if (!row_numbers_) return fmt::format("node id {} is not in {}", in_quotes(id), described_by_);
  if (!parse_integer(id)) return fmt::format("node id {} is not an integer", in_quotes(id));
  return fmt::format(
      "node id {} is outside 0 to {}, the rows of {}; if it has a column of ids, name it with --id",
      in_quotes(id), size_ - 1, described_by_);
}

}  // namespace qw
