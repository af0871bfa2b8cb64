// Where LibTorch has no CUDA; else capture_cuda.cpp.
#include "qw/ops/capture.h"

#include "qw/core/error.h"

#if !QW_HAS_CUDA

namespace qw {

namespace {
[[noreturn]] void refuse() { fail("this qw was built without CUDA"); }
}  // namespace

int cuda_devices() { return 0; }
void wait_for(const at::Device& device) {
  if (device.is_cuda()) refuse();
}

struct CapturedWork::Recording {};
CapturedWork::CapturedWork(const at::Device&, const std::function<void()>&) { refuse(); }
CapturedWork::~CapturedWork() = default;

struct Replay::Graph {};
Replay::Replay(const std::vector<const CapturedWork*>&) { refuse(); }
Replay::~Replay() = default;
void Replay::run(int64_t) {}
int64_t Replay::nodes() const { return 0; }
int64_t Replay::launches() const { return 0; }

}  // namespace qw

#endif
