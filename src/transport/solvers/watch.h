// A deadline that is asked once per so much work, as asking the clock costs something.
#pragma once

#include <cstdint>

#include "core/deadline.h"

namespace qw::transport {

class Watch {
 public:
  explicit Watch(const Deadline& deadline) : deadline_(deadline) {}

  bool passed(int64_t arcs_looked_at) {
    work_ += arcs_looked_at;
    if (work_ < kInterval) return passed_;
    work_ = 0;
    return passed_ = passed_ || deadline_.passed();
  }
  bool passed() const { return passed_; }

 private:
  static constexpr int64_t kInterval = 1 << 17;  // a millisecond or two
  Deadline deadline_;
  int64_t work_ = kInterval;  // the first question asks
  bool passed_ = false;
};

}  // namespace qw::transport
