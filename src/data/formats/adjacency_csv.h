// An adjacency matrix with the names of the nodes over its columns and beside its rows.
#pragma once

#include <optional>

#include "data/formats/edge_csv.h"

namespace qw {

// The edges of the matrix, from row to column, or nothing when the file is a list of edges: a matrix has the
// same names, each once, in its first row and its first column. Entries that are not zero are edges, and
// weights unless all are 1; an empty entry is no edge. Options that name columns ask for a list. Throws
// qw::Error on an entry that is no number, and with a hint on what can only be a matrix but has no names or
// is not square.
std::optional<EdgeTable> read_adjacency(const EdgeLayout& layout, const LoadOptions& options);

}  // namespace qw
