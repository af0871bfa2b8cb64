// How much arithmetic and memory traffic an operation needs at least: the floor that speed is measured
// against.
#pragma once

#include <cstdint>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Operations and memory traffic of one or more operators.
struct Work {
  int64_t flops = 0;  // a multiply-add counts 2
  int64_t bytes = 0;  // inputs read once, results written once
};

// Every operator adds what it had to do; what has been added since the program began.
void count_work(const Work& work);
Work work_done();

}  // namespace qw
