// The sweeps of a store as module report shows them.
#pragma once

#include <vector>

#include "qw/study/store.h"
#include "report/sweep_page.h"

namespace qw {

// All that were asked for, sweep by sweep; searches that have not begun are left out.
std::vector<SweptSearch> swept_searches(ResultStore& store);

}  // namespace qw
