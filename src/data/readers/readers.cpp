#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      kHeterophilousNpzReader, kCsrNpzReader, kPlanetoidReader, kGeomGcnReader, kOgbReader,
      kMatrixMarketReader,     kCsvReader};
  return all;
}

const Reader& reader_named(std::string_view name) {
  const auto found =
      std::find_if(readers().begin(), readers().end(), [&](const Reader& r) { return r.name == name; });
  QW_ASSERT(found != readers().end());
  return *found;
}

int64_t max_nodes_for(size_t bytes) { return 4096 + 64 * static_cast<int64_t>(bytes); }

void check_node_count(int64_t nodes, size_t bytes, const std::string& label) {
  if (nodes < 0 || nodes > kMaxNodes) {
    fail(fmt::format("{}: {} nodes; a graph has 0 to {}", label, nodes, kMaxNodes));
  }
  if (nodes > max_nodes_for(bytes)) {
    fail(fmt::format("{}: claims {} nodes in {}, which cannot be", label, with_thousands(nodes),
                     human_bytes(static_cast<double>(bytes))));
  }
}

}  // namespace qw
