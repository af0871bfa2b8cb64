// Sums that keep the digits which a plain sum of doubles loses.
#pragma once

#include <cmath>

namespace qw::transport {

// a + b = sum + lost, exactly.
struct TwoSum {
  TwoSum(double a, double b) : sum(a + b) {
    const double b_kept = sum - a;
    lost = (a - (sum - b_kept)) + (b - b_kept);
  }
  double sum;
  double lost;
};

class Sum {
 public:
  void add(double value) {
    const TwoSum next(sum_, value);
    sum_ = next.sum;
    lost_ += next.lost;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    lost_ += std::fma(a, b, -product);
  }
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

}  // namespace qw::transport
