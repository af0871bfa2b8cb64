// Sums over a stack of K equal arrays of n numbers, each read once.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

// result[i] = sum over k of coefficients[k] * stack[k * n + i], in the order of k.
template <class T>
void linear_combination_cpu(const T* stack, const T* coefficients, int64_t count, int64_t n, T* result);

// result[k] = sum over i of stack[k * n + i] * other[i]: blocks of fixed size in order, then the blocks in
// order, so that the sum does not depend on the number of threads.
template <class T>
void dot_products_cpu(const T* stack, const T* other, int64_t count, int64_t n, T* result);

template <class T>
void linear_combination_cuda(const T* stack, const T* coefficients, int64_t count, int64_t n, T* result,
                             Stream stream);

// `scratch` has room for dot_products_scratch numbers; none are needed when one launch will do.
int64_t dot_products_scratch(int64_t count, int64_t n);
template <class T>
void dot_products_cuda(const T* stack, const T* other, int64_t count, int64_t n, T* result, double* scratch,
                       Stream stream);

}  // namespace qw::kernels
