// What lets a captured step be replayed: the counts it depends on live on the device.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Three counts on a CUDA device: of draws (which name the random numbers of dropouts), of the network's steps
// and of the flow's. While a clock is in use, operators add to the epoch or step they are given what the
// clock has counted since it was made or reset, read when they run: the operators of a captured step go on
// counting when it is replayed. One clock is in use at a time, by all threads.
class StepClock {
 public:
  // All counts are 0.
  explicit StepClock(at::Device device);

  const at::Tensor& counts() const { return counts_; }  // [3] int64: draws, network_steps, flow_steps

  // The clock is in use while this object lives.
  class InUse {
   public:
    // Throws c10::Error when another clock is in use.
    explicit InUse(const StepClock& clock);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
  };

 private:
  at::Tensor counts_;
};

}  // namespace qw
