// Stable counting sorts of edges into rows, in parallel and the same for any number of threads: every thread
// reads all keys and writes only the rows it owns, so that no row has two writers and no histogram is kept
// per thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/raw_vector.h"
#include "qw/core/parallel.h"
#include "qw/graph/graph.h"

namespace qw {

inline constexpr int64_t kSmallestPart = 1 << 15;  // entries that are worth a thread

namespace detail {
template <class Visit>
std::vector<int64_t> count_rows(int64_t rows, int64_t entries, const Visit& visit) {
  std::vector<int64_t> offsets(rows + 1, 0);
  const int parts = static_cast<int>(std::clamp<int64_t>(entries / kSmallestPart, 1, thread_count()));
  parallel_tasks(
      parts, [&](int part) { visit(rows * part / parts, rows * (part + 1) / parts, offsets.data() + 1); });
  for (int64_t row = 0; row < rows; ++row) offsets[row + 1] += offsets[row];
  return offsets;
}
}  // namespace detail

// offsets[r] .. offsets[r+1] will hold the entries whose key is r.
inline std::vector<int64_t> row_offsets(std::span<const NodeId> keys, int64_t rows) {
  return detail::count_rows(rows, static_cast<int64_t>(keys.size()),
                            [&](int64_t begin, int64_t end, int64_t* counts) {
                              for (const NodeId key : keys) {
                                if (key >= begin && key < end) ++counts[key];
                              }
                            });
}

// The same for undirected edges, which stand in the rows of both ends; a self-loop once.
inline std::vector<int64_t> row_offsets_of_both_ends(std::span<const NodeId> heads,
                                                     std::span<const NodeId> tails, int64_t rows) {
  return detail::count_rows(rows, static_cast<int64_t>(heads.size()),
                            [&](int64_t begin, int64_t end, int64_t* counts) {
                              for (size_t e = 0; e < heads.size(); ++e) {
                                if (heads[e] >= begin && heads[e] < end) ++counts[heads[e]];
                                if (tails[e] >= begin && tails[e] < end && heads[e] != tails[e])
                                  ++counts[tails[e]];
                              }
                            });
}

// values[i] goes to the row keys[i], in the order of i; no values, no work.
template <class Value>
RawVector<Value> scatter_to_rows(std::span<const NodeId> keys, const std::vector<int64_t>& offsets,
                                 std::span<const Value> values) {
  RawVector<Value> result(values.size());
  if (values.empty()) return result;
  parallel_rows(offsets, kSmallestPart, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> next(offsets.begin() + begin, offsets.begin() + end);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] >= begin && keys[i] < end) result[next[keys[i] - begin]++] = values[i];
    }
  });
  return result;
}

// rows[i] = the row that entry i stands in.
inline void fill_row_numbers(const std::vector<int64_t>& offsets, std::span<NodeId> rows) {
  parallel_rows(offsets, kSmallestPart, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::fill(rows.begin() + offsets[row], rows.begin() + offsets[row + 1], static_cast<NodeId>(row));
    }
  });
}

// Arc lists: edge e stands in the row keys[e] with neighbour others[e].
inline void scatter_arcs(std::span<const NodeId> keys, std::span<const NodeId> others,
                         const std::vector<int64_t>& offsets, RawVector<NodeId>& neighbours,
                         RawVector<EdgeId>& edges) {
  neighbours.resize(offsets.back());
  edges.resize(offsets.back());
  parallel_rows(offsets, kSmallestPart, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> next(offsets.begin() + begin, offsets.begin() + end);
    for (size_t e = 0; e < keys.size(); ++e) {
      if (keys[e] < begin || keys[e] >= end) continue;
      const int64_t at = next[keys[e] - begin]++;
      neighbours[at] = others[e];
      edges[at] = static_cast<EdgeId>(e);
    }
  });
}

// Both ends of each edge. Edges are sorted by (head, tail) with head <= tail, so that writing all lower
// neighbours first and the higher ones after leaves every row ascending.
inline void scatter_arcs_of_both_ends(std::span<const NodeId> heads, std::span<const NodeId> tails,
                                      const std::vector<int64_t>& offsets, RawVector<NodeId>& neighbours,
                                      RawVector<EdgeId>& edges) {
  neighbours.resize(offsets.back());
  edges.resize(offsets.back());
  parallel_rows(offsets, kSmallestPart, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> next(offsets.begin() + begin, offsets.begin() + end);
    const auto put = [&](NodeId row, NodeId neighbour, size_t edge) {
      if (row < begin || row >= end) return;
      const int64_t at = next[row - begin]++;
      neighbours[at] = neighbour;
      edges[at] = static_cast<EdgeId>(edge);
    };
    for (size_t e = 0; e < heads.size(); ++e) {
      if (heads[e] != tails[e]) put(tails[e], heads[e], e);
    }
    for (size_t e = 0; e < heads.size(); ++e) put(heads[e], tails[e], e);
  });
}

}  // namespace qw
