// What the readers have in common: from arrays to the parts of a Dataset.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "data/file_set.h"
#include "data/formats/npy.h"
#include "qw/core/error.h"
#include "qw/data/load.h"
#include "qw/graph/dataset.h"

namespace qw {

// What make() returns; a qw::Error that it throws gets "LABEL: " in front, one of ours (InternalError) does
// not.
template <class Make>
auto with_label(const std::string& label, Make make) {
  try {
    return make();
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    fail(label + ": " + error.what());
  }
}

// The .npz file that `entry` means: itself, or the only one in the folder when `entry` is "".
std::optional<std::string> find_npz(const FileSet& files, const std::string& entry);

// Whether there is such a file and it has at least two of these arrays, or is a damaged archive: then reading
// it tells what is wrong.
bool is_npz_with(const FileSet& files, const std::string& entry, std::initializer_list<const char*> arrays);

// Throws qw::Error when there is none.
NpzArchive open_npz(const FileSet& files, const std::string& entry);

// Where the entries of a sparse matrix are: those of row r at offsets[r] .. offsets[r+1], each a column.
struct EntryPositions {
  std::vector<int64_t> offsets;
  std::vector<int32_t> columns;
};

// Throws qw::Error unless the arrays are such a pattern of `rows` rows and columns below `columns`.
EntryPositions entry_positions(const NpyArray& offsets, const NpyArray& indices, int64_t rows,
                               int64_t columns);

// All items; throws qw::Error on NaN and infinity.
std::vector<float> finite_floats(const NpyArray& array);

// From a matrix [rows, columns] of finite numbers.
Features dense_features(NpyArray array);

// Whole numbers are classes (-1, or NaN, where missing), those that occur; floating point that is not whole,
// or as large as the number of nodes, is a value to regress. `names` of the labels 0, 1, ... may be empty.
Targets targets_from_labels(const NpyArray& labels, const std::vector<std::string>& names);

inline constexpr const char* kNoEdge = "there is no edge; --edges names the file of edges";

// What building a graph did not keep, and its notes on that.
struct DroppedEdges {
  int64_t self_loops = 0;
  int64_t repeated = 0;   // in the same direction
  int64_t different = 0;  // repetitions with another weight or cost
};
std::vector<std::string> notes_of_building(const DroppedEdges& dropped);

// Self-loops and repeated edges are treated as the options say; notes count those that were dropped. The two
// directions of an undirected edge are one edge, no repetition: only repetitions whose weight or cost is
// another are told there.
Graph build_graph(EdgeList edges, const LoadOptions& options, const std::string& label,
                  std::vector<std::string>& notes);

}  // namespace qw
