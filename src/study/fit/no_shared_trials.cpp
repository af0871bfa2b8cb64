// In place of shared_trials.cpp where there are no stores.
#include "qw/core/error.h"
#include "study/fit/shared_trials.h"

namespace qw {

std::unique_ptr<SharedTrials> open_shared_trials(const Dataset&, const FitBestOptions&) {
  fail("this qw was built without stores of results (QW_SWEEP=OFF): fit without one");
}

}  // namespace qw
