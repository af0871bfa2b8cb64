// Sums over a stack of K equal arrays of n numbers, each read once.
#pragma once

#include <cstdint>

namespace qw::kernels {

// result[i] = sum over k of coefficients[k] * stack[k * n + i], in the order of k.
template <class T>
void linear_combination_cpu(const T* stack, const T* coefficients, int64_t count, int64_t n, T* result);

// result[k] = sum over i of stack[k * n + i] * other[i]: blocks of fixed size in order, then the blocks in
// order, so that the sum does not depend on the number of threads.
template <class T>
void dot_products_cpu(const T* stack, const T* other, int64_t count, int64_t n, T* result);

}  // namespace qw::kernels
