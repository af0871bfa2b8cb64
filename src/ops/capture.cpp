#include "qw/ops/capture.h"

#include "qw/core/error.h"

#if QW_HAS_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace qw {

int cuda_devices() { return c10::cuda::device_count(); }

void wait_for(const at::Device& device) {
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
}

struct CapturedWork::Recording {
  at::Device device;
  at::cuda::CUDAGraph graph{true};
};

CapturedWork::CapturedWork(const at::Device& device, const std::function<void()>& work)
    : recording_(new Recording{device}) {
  wait_for(device);
  // A stream of its own for every recording: what LibTorch keeps for a stream is then not shared with others.
  const c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool(false, device.index()));
  recording_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    try {
      recording_->graph.capture_end();
    } catch (const std::exception&) {
      // the first error says more
    }
    throw;
  }
  recording_->graph.capture_end();
}

CapturedWork::~CapturedWork() = default;

struct Replay::Graph {
  at::Device device;
  cudaGraphExec_t ready = nullptr;
  int64_t launches = 0;
};

Replay::Replay(const std::vector<const CapturedWork*>& works)
    : graph_(new Graph{works.front()->recording_->device}) {
  const c10::cuda::CUDAGuard guard(graph_->device);
  cudaGraph_t all = nullptr;
  C10_CUDA_CHECK(cudaGraphCreate(&all, 0));
  for (const CapturedWork* work : works) {
    const cudaGraph_t branch = work->recording_->graph.raw_cuda_graph();
    cudaGraphNode_t node = nullptr;
    C10_CUDA_CHECK(cudaGraphAddChildGraphNode(&node, all, nullptr, 0, branch));
    size_t launches = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(branch, nullptr, &launches));
    graph_->launches += static_cast<int64_t>(launches);
  }
  C10_CUDA_CHECK(cudaGraphInstantiate(&graph_->ready, all, 0));
  C10_CUDA_CHECK(cudaGraphDestroy(all));
}

Replay::~Replay() {
  const c10::cuda::CUDAGuard guard(graph_->device);
  c10::cuda::device_synchronize();
  C10_CUDA_CHECK_WARN(cudaGraphExecDestroy(graph_->ready));
}

void Replay::run(int64_t times) {
  const c10::cuda::CUDAGuard guard(graph_->device);
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  for (int64_t k = 0; k < times; ++k) C10_CUDA_CHECK(cudaGraphLaunch(graph_->ready, stream.stream()));
}

void Replay::wait() const { wait_for(graph_->device); }
int64_t Replay::launches() const { return graph_->launches; }

}  // namespace qw

#else

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
void Replay::wait() const {}
int64_t Replay::launches() const { return 0; }

}  // namespace qw

#endif
