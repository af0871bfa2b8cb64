#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/launch.cuh"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr int kWarpLanes = 32;

enum class Waits { kNo, kBlock, kWarp, kDone };

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "CUDA emulator: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
  std::abort();
}

// A thread of a block. It starts by swapcontext and is switched by _setjmp and _longjmp after that, which
// make no system call.
struct Fiber {
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  ucontext_t start;
  jmp_buf here;
  bool started = false;
  Waits waits = Waits::kNo;
  uint64_t given = 0;  // to the other lanes
};

std::vector<Fiber> fibers;
const std::function<void()>* work = nullptr;
jmp_buf scheduler;
ucontext_t scheduler_start;
unsigned current = 0;
unsigned count = 0;

void enter() {
  (*work)();
  fibers[current].waits = Waits::kDone;
  _longjmp(scheduler, 1);
}

void pause(Waits reason) {
  const unsigned self = current;
  fibers[self].waits = reason;
  if (_setjmp(fibers[self].here) == 0) _longjmp(scheduler, 1);
  current = self;
  threadIdx.x = self;
}

void resume(unsigned index) {
  Fiber& fiber = fibers[index];
  current = index;
  threadIdx.x = index;
  fiber.waits = Waits::kNo;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.here, 1);
  fiber.started = true;
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack.get();
  fiber.start.uc_stack.ss_size = kStackBytes;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, enter, 0);
  swapcontext(&scheduler_start, &fiber.start);
}

// Whether all of [begin, end) that have not left stand at the same barrier.
bool all_wait(unsigned begin, unsigned end, Waits barrier) {
  for (unsigned i = begin; i < end; ++i) {
    if (fibers[i].waits != barrier && fibers[i].waits != Waits::kDone) return false;
  }
  return true;
}

bool run_warp(unsigned begin, unsigned end) {
  bool moved = false;
  for (unsigned i = begin; i < end; ++i) {
    while (fibers[i].waits == Waits::kNo) {
      resume(i);
      moved = true;
    }
  }
  if (all_wait(begin, end, Waits::kWarp)) {
    for (unsigned i = begin; i < end; ++i) {
      if (fibers[i].waits == Waits::kWarp) {
        fibers[i].waits = Waits::kNo;
        moved = true;
      }
    }
  }
  return moved;
}

void run_block() {
  for (unsigned i = 0; i < count; ++i) {
    fibers[i].started = false;
    fibers[i].waits = Waits::kNo;
  }
  for (;;) {
    bool moved = false;
    for (unsigned begin = 0; begin < count; begin += kWarpLanes) {
      while (run_warp(begin, std::min(count, begin + kWarpLanes))) moved = true;
    }
    if (all_wait(0, count, Waits::kDone)) return;
    if (all_wait(0, count, Waits::kBlock)) {
      for (unsigned i = 0; i < count; ++i) {
        if (fibers[i].waits == Waits::kDone) continue;
        fibers[i].waits = Waits::kNo;
      }
    } else if (!moved) {
      give_up("threads wait for each other at different barriers");
    }
  }
}

}  // namespace

void block_barrier() { pause(Waits::kBlock); }
void warp_barrier() { pause(Waits::kWarp); }

uint64_t exchange(uint64_t bits, int lane) {
  fibers[current].given = bits;
  warp_barrier();
  const unsigned other = current / kWarpLanes * kWarpLanes + static_cast<unsigned>(lane);
  if (other >= count || fibers[other].waits == Waits::kDone) give_up("a shuffle reads a lane that has left");
  const uint64_t result = fibers[other].given;
  warp_barrier();
  return result;
}

uint32_t ballot(bool vote) {
  fibers[current].given = vote ? 1 : 0;
  warp_barrier();
  uint32_t votes = 0;
  const unsigned first = current / kWarpLanes * kWarpLanes;
  for (unsigned lane = 0; lane < kWarpLanes && first + lane < count; ++lane) {
    if (fibers[first + lane].waits != Waits::kDone && fibers[first + lane].given != 0) votes |= 1u << lane;
  }
  warp_barrier();
  return votes;
}

void run(int64_t blocks, int threads, const std::function<void()>& body) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  work = &body;
  count = static_cast<unsigned>(threads);
  if (fibers.size() < count) fibers.resize(count);
  gridDim.x = static_cast<unsigned>(blocks);
  blockDim.x = count;
  for (int64_t block = 0; block < blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    run_block();
  }
}

}  // namespace emulator
