// Checks that operators share. Every backend of an operator calls its checker first, so that no way in avoids
// it. All throw c10::Error "OP: what must be, what was got".
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "qw/ops/incidence.h"
#include "qw/ops/spmm.h"

namespace qw::ops {

// One contiguous row of `type`, on the device of `values`.
void check_index(const char* op, const char* name, const at::Tensor& index, at::ScalarType type,
                 const at::Tensor& values);

// A matrix [rows, anything] of float32 or float64; `rows_are` says what a row stands for.
void check_matrix(const char* op, const char* name, const at::Tensor& matrix, int64_t rows,
                  const char* rows_are);

// Offsets [rows + 1] and columns [entries] of a sparse matrix.
void check_csr(const char* op, const at::Tensor& offsets, const at::Tensor& columns,
               const at::Tensor& values);

// All parts of a pattern whose transpose has its size and its entries; what `order` must have is the
// caller's.
void check_square_pattern(const char* op, const SparsePattern& pattern, const at::Tensor& values);

// A pattern as a schema has it, a Tensor[] of the five members in their order.
std::vector<at::Tensor> tensors_of(const SparsePattern& pattern);
SparsePattern pattern_of(at::TensorList tensors);

// The same of S and its four members.
std::vector<at::Tensor> tensors_of(const IncidenceTensors& graph);
IncidenceTensors incidence_of(at::TensorList tensors);
// All parts of it, beside `values`.
void check_incidence_tensors(const char* op, const IncidenceTensors& graph, const at::Tensor& values);

}  // namespace qw::ops
