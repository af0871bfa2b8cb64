// The scale of a chart: a range that holds all values, with round ticks.
#pragma once

#include <string>
#include <vector>

namespace qw {

struct Axis {
  double low = 0;  // both ends are ticks, or decades on a log axis
  double high = 1;
  bool log = false;
  std::vector<double> ticks;        // rising
  std::vector<std::string> labels;  // of the ticks, in Unicode: "−0.5", "1,000", "10⁻³"
  std::vector<double> minor;        // ticks without labels, between those of a log axis

  // Where a value lies: 0 at the low end, 1 at the high one; values beyond are held at the ends.
  double share(double value) const;
};

// Whether an axis can show it: neither infinite nor absurd, and above 0 when `log`.
bool can_show(double value, bool log);

// "-2" with the sign that is as wide as a digit.
std::string with_true_minus(const std::string& text);

// An axis for values in [low, high], with at most about `most_ticks` ticks: multiples of 1, 2 or 5 times a
// power of ten, or powers of ten. Equal ends get some room around them.
Axis make_axis(double low, double high, bool log, int most_ticks);

}  // namespace qw
