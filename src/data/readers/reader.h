// One on-disk format = one file in this folder that defines one `Reader`, named in readers.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/file_set.h"
#include "qw/data/load.h"
#include "qw/graph/dataset.h"

namespace qw {

struct Reader {
  std::string name;     // "planetoid"
  std::string expects;  // what it looks for, in words, for "tried ..." messages
  // `entry` is the file the user named, or "" when the user named the folder behind `files`.
  bool (*recognises)(const FileSet& files, const std::string& entry);
  Dataset (*read)(const FileSet& files, const std::string& entry, const LoadOptions& options);
};

const std::vector<Reader>& readers();  // in the order in which they are tried

const Reader& reader_named(std::string_view name);  // of the cards; asserts that it exists

extern const Reader kPlanetoidReader;
extern const Reader kCsrNpzReader;
extern const Reader kHeterophilousNpzReader;
extern const Reader kGeomGcnReader;
extern const Reader kOgbReader;
extern const Reader kMatrixMarketReader;
extern const Reader kCsvReader;

// A file of `bytes` bytes may describe at most this many nodes: a header that claims more is refused by
// arithmetic.
int64_t max_nodes_for(size_t bytes);

// Throws "FILE: ..." unless 0 <= nodes <= max_nodes_for(bytes) and nodes <= kMaxNodes.
void check_node_count(int64_t nodes, size_t bytes, const std::string& label);

}  // namespace qw
