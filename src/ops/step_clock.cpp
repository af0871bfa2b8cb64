#include "qw/ops/step_clock.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <atomic>

#include "ops/backend.h"

namespace qw {
namespace {

std::atomic<const int64_t*> clock_in_use{nullptr};

kernels::StepNumber number_at(int64_t base, int place) {
  const int64_t* counts = clock_in_use.load();
  return {base, counts == nullptr ? nullptr : counts + place};
}

}  // namespace

StepClock::StepClock(at::Device device)
    : counts_(at::zeros({3}, at::TensorOptions(at::kLong).device(device))) {}

StepClock::InUse::InUse(const StepClock& clock) {
  const int64_t* none = nullptr;
  const bool alone = clock_in_use.compare_exchange_strong(none, clock.counts().data_ptr<int64_t>());
  TORCH_CHECK(alone, "qw::StepClock: another clock is in use");
}

StepClock::InUse::~InUse() { clock_in_use.store(nullptr); }

namespace ops {

kernels::StepNumber draw_number(int64_t base) { return number_at(base, 0); }
kernels::StepNumber network_step_number(int64_t base) { return number_at(base, 1); }
kernels::StepNumber flow_step_number(int64_t base) { return number_at(base, 2); }

}  // namespace ops
}  // namespace qw
