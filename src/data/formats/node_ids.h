// From the ids people use to node numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qw/graph/graph.h"

namespace qw {

// "0", "17": digits without a leading zero, below 2^31 - 1; nothing else is a plain number.
inline std::optional<NodeId> plain_number(std::string_view text) {
  if (text.empty() || text.size() > 10 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (value > kMaxNodes) return std::nullopt;
  return static_cast<NodeId>(value);
}

// "12" for "12.0" and "12.00", as a column of floats has whole numbers; anything else as it is.
inline std::string_view without_zero_fraction(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point + 1 == text.size()) return text;
  if (text.find_first_not_of('0', point + 1) != std::string_view::npos) return text;
  return plain_number(text.substr(0, point)) ? text.substr(0, point) : text;
}

// Whether a column of this name is likely to hold ids: "id", "node", "name", "user_id", ...
bool is_id_name(std::string_view column);

// Names and their numbers, 0, 1, 2, ... in the order in which they came: an open hash table, one cache line a
// lookup.
class NameTable {
 public:
  void reserve(size_t count);
  size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::vector<std::string> take_names() { return std::move(names_); }

  std::optional<NodeId> find(std::string_view name) const;
  NodeId find_or_add(std::string_view name);

 private:
  struct Slot {
    uint64_t hash = 0;
    NodeId number = -1;  // none
  };
  size_t slot_of(std::string_view name, uint64_t hash) const;
  void grow(size_t slots);

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::vector<std::string> names_;
};

// An immutable map; lookups are safe from many threads.
class NodeIds {
 public:
  // Node i is called "i".
  static NodeIds row_numbers(int64_t count, std::string described_by);
  // Node i is called names[i]; `names` must be distinct.
  static NodeIds named(std::vector<std::string> names, std::string described_by);

  NodeIds(NodeIds&&) = default;
  NodeIds& operator=(NodeIds&&) = default;
  NodeIds(const NodeIds&) = delete;
  NodeIds& operator=(const NodeIds&) = delete;

  int64_t size() const { return size_; }
  std::optional<NodeId> find(std::string_view id) const;
  // "node id 'x' is not ...": why find() had no answer.
  std::string explain(std::string_view id) const;
  const std::vector<std::string>& names() const { return table_.names(); }  // empty for row numbers

 private:
  NodeIds() = default;

  int64_t size_ = 0;
  bool row_numbers_ = false;
  std::string described_by_;
  NameTable table_;
  std::vector<NodeId> by_number_;  // when all names are plain and not too spread out, instead of hashing
};

}  // namespace qw
