// std::vector without the zeros: for large arrays that are written whole right after, by several threads, so
// that the first touch of each page is parallel too.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace qw {

template <class T>
struct UninitialisedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {                             // NOLINT(readability-identifier-naming): the standard's name
    using other = UninitialisedAllocator<U>;  // NOLINT(readability-identifier-naming)
  };
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
  }
};

template <class T>
using RawVector = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace qw
