#include "qw/data/check.h"

#include <fmt/format.h>

#include <map>

#include "core/file.h"
#include "core/text.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {

void check_counts(const DatasetCard& card, const Dataset& dataset) {
  const auto check = [&](int64_t expected, int64_t found, const char* what) {
    if (expected != found) {
      fail(fmt::format("{}: has {} {}, expected {}", card.name, with_thousands(found), what,
                       with_thousands(expected)));
    }
  };
  check(card.nodes, dataset.graph.num_nodes(), "nodes");
  check(card.edges, dataset.graph.num_edges(), "edges");
  check(card.features, dataset.features.columns, "features");
  if (card.classes > 0) check(card.classes, dataset.targets.width, "classes");
}

void check_downloaded_file(const DatasetCard& card, const FileCard& file, const std::filesystem::path& path) {
  QW_ASSERT(card.files.size() == 1);
  std::map<std::string, std::string> files;
  files[file.name] = read_file(path);
  check_counts(card, reader_named(card.reader).read(MemoryFiles(std::move(files)), card.entry, card.options));
}

}  // namespace qw
