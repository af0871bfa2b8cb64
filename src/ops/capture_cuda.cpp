#ifndef QW_CUDA_EMULATOR

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/merge.h"
#include "qw/ops/capture.h"

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
  kernels::ReadyGraph ready = nullptr;
  kernels::MergeReport report;
};

Replay::Replay(const std::vector<const CapturedWork*>& works)
    : graph_(new Graph{works.front()->recording_->device, nullptr, {}}) {
  const c10::cuda::CUDAGuard guard(graph_->device);
  std::vector<kernels::CapturedGraph> graphs;
  for (const CapturedWork* work : works) graphs.push_back(work->recording_->graph.raw_cuda_graph());
  graph_->ready = kernels::merge_graphs(graphs, graph_->report);
}

Replay::~Replay() {
  if (graph_->ready == nullptr) return;
  const c10::cuda::CUDAGuard guard(graph_->device);
  c10::cuda::device_synchronize();
  kernels::destroy_graph(graph_->ready);
}

void Replay::run(int64_t times) {
  const c10::cuda::CUDAGuard guard(graph_->device);
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  for (int64_t k = 0; k < times; ++k) kernels::launch_graph(graph_->ready, stream.stream());
}

int64_t Replay::nodes() const { return graph_->report.nodes; }
int64_t Replay::launches() const { return graph_->report.left; }

}  // namespace qw

#endif
