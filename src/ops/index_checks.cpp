#include "ops/index_checks.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ops/seen_tensor.h"

namespace qw::ops {
namespace {

// What was found right.
struct Known {
  SeenTensor index;
  int64_t low = 0, high = 0;  // low > high: offsets that end with `high`
};

// Memory that torch did not make, of numpy or shared with other processes, changes without its knowledge.
bool has_foreign_memory(const at::Tensor& tensor) { return tensor.storage().allocator() == nullptr; }

class KnownIndices {
 public:
  bool has(const at::Tensor& index, int64_t low, int64_t high) const {
    const auto found = known_.find(index.data_ptr());
    return found != known_.end() && std::ranges::any_of(found->second, [&](const Known& known) {
             return known.low == low && known.high == high && known.index.is(index);
           });
  }

  void add(const at::Tensor& index, int64_t low, int64_t high) {
    if (index.is_inference() || has_foreign_memory(index)) return;
    if (known_.size() >= most_) forget_the_gone();
    std::vector<Known>& here = known_[index.data_ptr()];
    std::erase_if(here, [&](const Known& known) {
      return known.index.gone() || (known.low == low && known.high == high);
    });
    here.push_back({SeenTensor(index), low, high});
  }

 private:
  void forget_the_gone() {
    std::erase_if(known_, [](const auto& here) {
      return std::ranges::all_of(here.second, [](const Known& known) { return known.index.gone(); });
    });
    most_ = std::max<size_t>(64, 2 * known_.size());
  }

  std::unordered_map<const void*, std::vector<Known>> known_;
  size_t most_ = 64;
};

thread_local KnownIndices known_indices;

// Where the tensor may be read.
at::Tensor on_host(const at::Tensor& index) { return index.cpu(); }

}  // namespace

void check_entries(const char* op, const char* name, const at::Tensor& index, int64_t low, int64_t high) {
  if (index.numel() == 0 || index.is_meta() || known_indices.has(index, low, high)) return;
  const at::Tensor here = on_host(index);
  AT_DISPATCH_INDEX_TYPES(here.scalar_type(), "qw::check_entries", [&] {
    const auto* entries = here.data_ptr<index_t>();
    const auto* bad = std::find_if(entries, entries + here.numel(),
                                   [&](index_t entry) { return entry < low || entry >= high; });
    TORCH_CHECK(bad == entries + here.numel(), op, ": ", name, " must be in [", low, ", ", high, "), got ",
                *bad, " at place ", bad - entries);
  });
  known_indices.add(index, low, high);
}

void check_offsets(const char* op, const char* name, const at::Tensor& offsets, int64_t entries) {
  constexpr int64_t kOffsets = INT64_MAX;  // more than any `high`
  if (offsets.is_meta() || known_indices.has(offsets, kOffsets, entries)) return;
  const at::Tensor here = on_host(offsets);
  const auto* begin = here.data_ptr<int64_t>();
  const int64_t last = here.numel() - 1;
  TORCH_CHECK(begin[0] == 0 && begin[last] == entries, op, ": ", name, " must begin with 0 and end with ",
              entries, ", got ", begin[0], " and ", begin[last]);
  const auto* fall = std::adjacent_find(begin, begin + last + 1, std::greater<>());
  TORCH_CHECK(fall == begin + last + 1, op, ": ", name, " must not fall, got ", fall[0], " and then ",
              fall[1], " at place ", fall - begin);
  known_indices.add(offsets, kOffsets, entries);
}

void check_csr_entries(const char* op, const at::Tensor& offsets, const at::Tensor& columns,
                       int64_t num_columns) {
  check_offsets(op, "offsets", offsets, columns.numel());
  check_entries(op, "columns", columns, 0, num_columns);
}

void check_pattern_entries(const char* op, const SparsePattern& pattern) {
  const int64_t entries = pattern.columns.numel();
  check_csr_entries(op, pattern.offsets, pattern.columns, pattern.transposed_offsets.numel() - 1);
  check_offsets(op, "transposed_offsets", pattern.transposed_offsets, entries);
  check_entries(op, "transposed_columns", pattern.transposed_columns, 0, pattern.offsets.numel() - 1);
  check_entries(op, "order", pattern.order, 0, entries);
  const at::Tensor& numbers = pattern.entry_numbers;
  TORCH_CHECK(!numbers.defined() ||
                  (numbers.device() == pattern.columns.device() && numbers.scalar_type() == at::kLong &&
                   numbers.is_contiguous() && numbers.sizes() == pattern.columns.sizes()),
              op, ": entry_numbers must be [", entries, "] of Long where the columns are, contiguous; got ",
              numbers.sizes(), " of ", numbers.scalar_type(), " on ", numbers.device());
}

void check_incidence_entries(const char* op, const IncidenceTensors& graph) {
  const int64_t nodes = graph.offsets.numel() - 1, edges = graph.heads.numel();
  check_entries(op, "heads", graph.heads, 0, nodes);
  check_entries(op, "tails", graph.tails, 0, nodes);
  check_offsets(op, "offsets", graph.offsets, 2 * edges);
  check_entries(op, "arcs", graph.arcs, -edges, edges);
}

}  // namespace qw::ops
