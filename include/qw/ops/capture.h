// Work on a CUDA device that is recorded once and replayed at will, alone or together with that of others: no
// launches, no allocations and no waiting in between.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// The CUDA devices of this machine; 0 where the library was built without CUDA.
int cuda_devices();

// Waits until a CUDA device has done all it was asked to.
void wait_for(const at::Device& device);

// Records what `work` asks of the device, without doing it: tensors that it makes and drops live in memory of
// their own, which goes with the recording; those that it changes in place are changed by every replay. The
// work must not read from the device. Throws qw::Error where there is no CUDA.
class CapturedWork {
 public:
  // Calls `work` once, on a stream that records.
  CapturedWork(const at::Device& device, const std::function<void()>& work);
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;
  ~CapturedWork();

 private:
  friend class Replay;
  struct Recording;
  std::unique_ptr<Recording> recording_;
};

// Several recordings as one that does them all, side by side. Each computes what it would alone, to the bit.
// The recordings must outlive it.
class Replay {
 public:
  // Of one device.
  explicit Replay(const std::vector<const CapturedWork*>& works);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  void run(int64_t times = 1);  // returns at once; on the device in order
  void wait() const;            // until the device has done all it was asked to

  int64_t launches() const;  // kernels and copies of all recordings

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace qw
