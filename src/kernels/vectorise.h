// One source, several instruction sets: on x86_64 the compiler makes a copy of a function marked
// QW_MULTIVERSION per level and the loader picks the best the machine has; elsewhere the baseline has vectors
// already. Mark functions that hold the loop themselves: a lambda inside is a function of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define QW_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define QW_MULTIVERSION
#endif

#define QW_INLINE inline __attribute__((always_inline))

namespace qw::kernels {

#if defined(__x86_64__)
inline constexpr size_t kVectorBytes = 32;
#else
inline constexpr size_t kVectorBytes = 16;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type __attribute__((vector_size(kVectorBytes))) = float;
};
template <>
struct VectorOf<double> {
  using Type __attribute__((vector_size(kVectorBytes))) = double;
};

// By memcpy, which becomes one unaligned instruction: rows of a matrix are aligned to their elements only.
template <class T>
QW_INLINE typename VectorOf<T>::Type load_vector(const T* source) {
  typename VectorOf<T>::Type vector;
  __builtin_memcpy(&vector, source, sizeof(vector));
  return vector;
}
template <class T>
QW_INLINE void store_vector(T* target, typename VectorOf<T>::Type vector) {
  __builtin_memcpy(target, &vector, sizeof(vector));
}

// A loop over rows in no order asks for each some rows before it is used: so many that what is asked for fits
// into what a core can wait for.
constexpr int64_t rows_ahead(size_t bytes) { return bytes > 64 ? 8 : 16; }

// Whether rows are too many for a core's own cache, where they need not be asked for.
inline bool is_far(int64_t rows, int64_t width, size_t element) {
  constexpr int64_t kCached = 1 << 20;
  return rows * width * static_cast<int64_t>(element) > kCached;
}

// Has memory brought near, as far as whole cache lines go; a place beyond an array's end does no harm.
template <size_t kBytes>
QW_INLINE void prefetch(const void* place) {
  const char* line = static_cast<const char*>(place);
  for (size_t at = 0; at < kBytes; at += 64) __builtin_prefetch(line + at);
  if constexpr (kBytes % 64 != 0) __builtin_prefetch(line + kBytes - 1);  // it may begin anywhere in a line
}

template <class T>
inline constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));

// kCount vectors that stay in registers: the loops over them are unrolled in the source, since the compiler
// keeps an array with run-time indices in memory.
template <class T, int kCount>
class Accumulators {
 public:
  QW_INLINE void add_scaled(T scale, const T* source) {
    add_scaled(scale, source, std::make_index_sequence<kCount>());
  }
  QW_INLINE void multiply(T scale) { multiply(scale, std::make_index_sequence<kCount>()); }
  QW_INLINE void store(T* target) const { store(target, std::make_index_sequence<kCount>()); }

 private:
  using Vector = typename VectorOf<T>::Type;

  template <size_t... kIndex>
  QW_INLINE void add_scaled(T scale, const T* source, std::index_sequence<kIndex...>) {
    ((sum_[kIndex] += scale * load_vector(source + kIndex * kLanes<T>)), ...);
  }
  template <size_t... kIndex>
  QW_INLINE void multiply(T scale, std::index_sequence<kIndex...>) {
    ((sum_[kIndex] *= scale), ...);
  }
  template <size_t... kIndex>
  QW_INLINE void store(T* target, std::index_sequence<kIndex...>) const {
    (store_vector(target + kIndex * kLanes<T>, sum_[kIndex]), ...);
  }

  Vector sum_[kCount] = {};
};

// None.
template <class T>
class Accumulators<T, 0> {
 public:
  QW_INLINE void add_scaled(T, const T*) {}
  QW_INLINE void multiply(T) {}
  QW_INLINE void store(T*) const {}
};

// Calls body(columns), for few columns with a constant: loops over them are then unrolled, and their sums
// stay in registers.
template <class Body>
QW_INLINE void with_columns(int64_t columns, const Body& body) {
  switch (columns) {
    case 1:
      return body(std::integral_constant<int64_t, 1>());
    case 2:
      return body(std::integral_constant<int64_t, 2>());
    case 3:
      return body(std::integral_constant<int64_t, 3>());
    case 4:
      return body(std::integral_constant<int64_t, 4>());
    case 5:
      return body(std::integral_constant<int64_t, 5>());
    case 6:
      return body(std::integral_constant<int64_t, 6>());
    case 7:
      return body(std::integral_constant<int64_t, 7>());
    case 8:
      return body(std::integral_constant<int64_t, 8>());
    case 10:
      return body(std::integral_constant<int64_t, 10>());
    default:
      return body(columns);
  }
}

}  // namespace qw::kernels
