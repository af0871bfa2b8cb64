// What is kept of features: a number for each row.
#pragma once

#include <cstdint>
#include <vector>

#include "qw/graph/features.h"

namespace qw {

// A hash of each row, the same for any order of the columns.
std::vector<uint64_t> row_hashes(const Features& features);

}  // namespace qw
