#include "ops/kept_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

namespace qw {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallest = 2 * kHugePage;  // below it the library's own way is as good

size_t whole_pages(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Memory that begins with a huge page, cleared by the system.
void* map_pages(size_t bytes) {
  const size_t room = bytes + kHugePage;
  void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t first = whole_pages(begin);
  if (first > begin) munmap(mapped, first - begin);
  munmap(reinterpret_cast<void*>(first + bytes), begin + room - (first + bytes));
  madvise(reinterpret_cast<void*>(first), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(first);
}

class Keeper {
 public:
  void* take(size_t bytes) {
    const size_t size = whole_pages(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    void* block = take_kept(size);
    if (block == nullptr) block = map(size);
    in_use_ += sizes_.at(block);
    most_in_use_ = std::max(most_in_use_, in_use_);
    return block;
  }

  // False: it is none of ours.
  bool give(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return false;
    in_use_ -= found->second;
    kept_ += found->second;
    blocks_.emplace(found->second, block);
    return true;
  }

  KeptMemory now() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {static_cast<int64_t>(in_use_), static_cast<int64_t>(kept_), static_cast<int64_t>(most_in_use_)};
  }

 private:
  // The smallest that is not much too large; of several the last one kept, which the caches know best.
  void* take_kept(size_t size) {
    auto found = blocks_.lower_bound(size);
    if (found == blocks_.end() || found->first > size + size / 8) return nullptr;
    found = std::prev(blocks_.upper_bound(found->first));
    void* block = found->second;
    kept_ -= found->first;
    blocks_.erase(found);
    return block;
  }

  void* map(size_t size) {
    const size_t most = std::max(most_in_use_, in_use_ + size);
    while (!blocks_.empty() && in_use_ + kept_ + size > most + most / 10) unmap_one();
    void* block = map_pages(size);
    while (block == nullptr && !blocks_.empty()) {
      unmap_one();
      block = map_pages(size);
    }
    if (block == nullptr) throw std::bad_alloc();
    sizes_.emplace(block, size);
    return block;
  }

  // The largest of the kept: few are given back.
  void unmap_one() {
    const auto last = std::prev(blocks_.end());
    munmap(last->second, last->first);
    sizes_.erase(last->second);
    kept_ -= last->first;
    blocks_.erase(last);
  }

  std::mutex mutex_;
  std::multimap<size_t, void*> blocks_;  // kept, by their size
  std::unordered_map<void*, size_t> sizes_;
  size_t in_use_ = 0, kept_ = 0, most_in_use_ = 0;
};

Keeper& keeper() {
  static auto* const only = new Keeper;  // tensors may be freed after the end of main
  return *only;
}

class TensorMemory : public c10::Allocator {
 public:
  explicit TensorMemory(c10::Allocator& others) : others_(others) {}

  // As LibTorch 2 declares it and as 1 does. One of them does not override, so none says it.
  c10::DataPtr allocate(size_t bytes) { return make(bytes); }        // NOLINT(modernize-use-override)
  c10::DataPtr allocate(size_t bytes) const { return make(bytes); }  // NOLINT(modernize-use-override)
  void copy_data(void* to, const void* from, size_t bytes) const {   // NOLINT(modernize-use-override)
    std::memcpy(to, from, bytes);
  }

  c10::DeleterFnPtr raw_deleter() const {  // NOLINT(modernize-use-override)
    return [](void* block) {
      if (!keeper().give(block)) c10::GetDefaultCPUAllocator()->raw_deallocate(block);
    };
  }

 private:
  c10::DataPtr make(size_t bytes) const {
    if (bytes < kSmallest) return others_.allocate(bytes);
    void* block = keeper().take(bytes);
    return {block, block, [](void* given) { keeper().give(given); }, c10::Device(c10::DeviceType::CPU)};
  }

  c10::Allocator& others_;
};

}  // namespace

void keep_memory_of_tensors() {
  [[maybe_unused]] static const bool once = [] {
    c10::SetCPUAllocator(new TensorMemory(*c10::GetDefaultCPUAllocator()));
    return true;
  }();
}

KeptMemory kept_memory() { return keeper().now(); }

}  // namespace qw
