#include "ops/kept_memory.h"

#include <ATen/ATen.h>

#include <thread>

#include "support/support.h"

namespace qw {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

at::Tensor tensor_of_megabytes(int64_t megabytes) { return at::empty({megabytes * kMegabyte}, at::kByte); }

TEST(KeptMemory, TheNextTensorOfThatSizeHasIt) {
  keep_memory_of_tensors();
  const KeptMemory before = kept_memory();
  at::Tensor tensor = tensor_of_megabytes(30);
  const void* place = tensor.data_ptr();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(place) % (2 * kMegabyte), 0U);
  const KeptMemory during = kept_memory();
  EXPECT_EQ(during.in_use, before.in_use + 30 * kMegabyte);
  tensor.fill_(7);
  tensor = at::Tensor();
  EXPECT_EQ(kept_memory().in_use, before.in_use);
  EXPECT_EQ(kept_memory().kept, during.kept + 30 * kMegabyte);
  tensor = tensor_of_megabytes(29);
  EXPECT_EQ(tensor.data_ptr(), place);
  const at::Tensor other = tensor_of_megabytes(29);
  EXPECT_NE(other.data_ptr(), place);
}

TEST(KeptMemory, SmallTensorsAreLeftAlone) {
  keep_memory_of_tensors();
  const KeptMemory before = kept_memory();
  const at::Tensor small = tensor_of_megabytes(1);
  EXPECT_EQ(kept_memory().in_use, before.in_use);
}

// Sizes that never come again must not pile up.
TEST(KeptMemory, IsAtMostATenthMoreThanWasEverInUse) {
  keep_memory_of_tensors();
  for (int64_t megabytes = 10; megabytes < 600; megabytes += 97) {
    const at::Tensor tensor = tensor_of_megabytes(megabytes);
    const KeptMemory now = kept_memory();
    EXPECT_GE(now.most_in_use, now.in_use);
    EXPECT_LE(now.in_use + now.kept, now.most_in_use + now.most_in_use / 10);
  }
}

TEST(KeptMemory, TensorsOfManyThreads) {
  keep_memory_of_tensors();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int round = 0; round < 50; ++round) {
        const at::Tensor tensor = tensor_of_megabytes(4 + (thread + round) % 3);
        tensor[0] = thread;
        tensor[-1] = thread;
        EXPECT_EQ(tensor[0].item<int64_t>() + tensor[-1].item<int64_t>(), 2 * thread);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace qw
