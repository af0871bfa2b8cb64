// Memory of large tensors on the CPU.
//
// The system clears every page it gives, which for a tensor of 500 MB takes as long as several passes over
// it, and looks up every page of 4 KB that random rows lie on. So memory that a tensor leaves is kept for the
// next one of about that size, and is asked for in pages of 2 MB. What is kept and not in use never makes the
// sum larger than the most that was in use at once, and a tenth.
#pragma once

#include <cstdint>

namespace qw {

// From now on, for all tensors of this process that are made on the CPU. A library leaves this to its
// program.
void keep_memory_of_tensors();

// Bytes of large tensors.
struct KeptMemory {
  int64_t in_use = 0;
  int64_t kept = 0;  // for others
  int64_t most_in_use = 0;
};
KeptMemory kept_memory();

}  // namespace qw
