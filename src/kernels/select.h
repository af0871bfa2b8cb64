// Choices that a compiler makes by a mask: it makes a branch of a choice, and half of its guesses are wrong.
// NaN stays NaN, so that a training that has gone astray shows.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
QW_BOTH_INLINE T zero_where(bool condition, T value) {
  return std::bit_cast<T>(std::bit_cast<WordOf<T>>(value) & ~(WordOf<T>{0} - WordOf<T>{condition}));
}

}  // namespace qw::kernels
