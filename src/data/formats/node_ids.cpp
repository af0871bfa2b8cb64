#include "data/formats/node_ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace qw {

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
  ids.names_ = std::move(names);
  NodeId largest = -1;
  for (const std::string& name : ids.names_) {
    const auto number = plain_number(name);
    largest = number ? std::max(largest, *number) : static_cast<NodeId>(kMaxNodes);
  }
  // A table by number as long as it stays about as small as the names themselves.
  if (largest < 8 * ids.size_ + 1024) {
    ids.by_number_.assign(largest + 1, -1);
    for (NodeId node = 0; node < ids.size_; ++node) ids.by_number_[*plain_number(ids.names_[node])] = node;
  } else {
    ids.by_name_.reserve(ids.names_.size());
    for (NodeId node = 0; node < ids.size_; ++node) ids.by_name_.emplace(ids.names_[node], node);
  }
  return ids;
}

std::optional<NodeId> NodeIds::find(std::string_view id) const {
  if (by_name_.empty()) {
    const auto number = plain_number(id);
    if (!number) return std::nullopt;
    if (row_numbers_) return *number < size_ ? number : std::nullopt;
    if (*number >= static_cast<NodeId>(by_number_.size()) || by_number_[*number] < 0) return std::nullopt;
    return by_number_[*number];
  }
  const auto found = by_name_.find(id);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::string NodeIds::explain(std::string_view id) const {
  if (!row_numbers_) return fmt::format("node id {} is not in {}", in_quotes(id), described_by_);
  if (!parse_integer(id)) return fmt::format("node id {} is not an integer", in_quotes(id));
  return fmt::format(
      "node id {} is outside 0 to {}, the rows of {}; if it has a column of ids, name it with --id",
      in_quotes(id), size_ - 1, described_by_);
}

}  // namespace qw
