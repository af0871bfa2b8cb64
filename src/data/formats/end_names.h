// Which columns of an edge file are called like the ends of an edge.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qw {

struct EndColumns {
  static constexpr size_t kNone = static_cast<size_t>(-1);

  size_t tail = kNone;
  size_t head = kNone;
  bool found() const { return tail != kNone; }
};

// The columns whose names are a pair such as source and target. Of head and tail the one that stands first is
// the source: graph theory draws an arc from tail to head, knowledge graphs write it from head to tail.
EndColumns ends_by_name(const std::vector<std::string>& names);

// Whether these are ids of different things, such as user_id and movie_id.
bool name_two_kinds(const std::string& from, const std::string& to);

}  // namespace qw
