#include "qw/core/work.h"

#include <atomic>

namespace qw {
namespace {

std::atomic<int64_t> flops{0};
std::atomic<int64_t> bytes{0};

}  // namespace

void count_work(const Work& work) {
  flops.fetch_add(work.flops, std::memory_order_relaxed);
  bytes.fetch_add(work.bytes, std::memory_order_relaxed);
}

Work work_done() { return {flops.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed)}; }

}  // namespace qw
