// Whether index tensors point to where there is something. Kernels go by them without looking, so that every
// way into an operator comes through here; a tensor that was found right is not looked at again until it
// changes (a thread remembers it by its memory and torch's version counter).
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/incidence.h"
#include "qw/ops/spmm.h"

namespace qw::ops {

// All throw c10::Error "OP: what must be, what was got". Tensors are contiguous, int32 or int64.

// Every entry is in [low, high).
void check_entries(const char* op, const char* name, const at::Tensor& index, int64_t low, int64_t high);
// They begin with 0, never fall and end with `entries`.
void check_offsets(const char* op, const char* name, const at::Tensor& offsets, int64_t entries);

// All of a matrix [rows, columns] in rows.
void check_csr_entries(const char* op, const at::Tensor& offsets, const at::Tensor& columns,
                       int64_t num_columns);
// All of a pattern [R, K] and its transpose.
void check_pattern_entries(const char* op, const SparsePattern& pattern);
// All of S.
void check_incidence_entries(const char* op, const IncidenceTensors& graph);

}  // namespace qw::ops
