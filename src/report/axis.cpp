#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/text.h"

namespace qw {
namespace {

constexpr double kAbsurd = 1e250;      // sums and squares of values below stay finite
constexpr double kNearlyWhole = 1e-9;  // log10(1000) need not be 3

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

// 1, 2 or 5 times a power of ten: the smallest that takes at most `most` steps for `range`. The power comes
// apart from the factor, because powers below 1 are not exact.
struct Step {
  int factor;
  int exponent;
  double size() const {
    return exponent < 0 ? factor / power_of_ten(-exponent) : factor * power_of_ten(exponent);
  }
  double times(double count) const {
    return exponent < 0 ? count * factor / power_of_ten(-exponent) : count * factor * power_of_ten(exponent);
  }
};

Step round_step(double range, int most) {
  const auto exponent = static_cast<int>(std::floor(std::log10(range / most) + kNearlyWhole));
  for (const int factor : {1, 2, 5}) {
    const Step step{factor, exponent};
    if (range <= step.size() * most * (1 + kNearlyWhole)) return step;
  }
  return {1, exponent + 1};
}

std::string plain_label(double value, const Step& step) {
  if (std::fabs(value) >= 1e9 || step.exponent < -5) return with_true_minus(fmt::format("{:.12g}", value));
  if (step.exponent >= 0) return with_true_minus(with_thousands(static_cast<int64_t>(std::llround(value))));
  return with_true_minus(fmt::format("{:.{}f}", value, -step.exponent));
}

std::string superscript(int exponent) {
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

Axis linear_axis(double low, double high, int most_ticks) {
  const double size = std::max(std::fabs(low), std::fabs(high));
  const bool is_zero = size < 1 / kAbsurd;
  if (high - low <= kNearlyWhole * size || is_zero) {
    const double room = is_zero ? 1 : size / 10;
    low -= room;
    high += room;
  }
  const Step step = round_step(high - low, most_ticks);
  const double first = std::floor(low / step.size() + kNearlyWhole);
  const double last = std::ceil(high / step.size() - kNearlyWhole);
  Axis axis;
  axis.low = step.times(first);
  axis.high = step.times(last);
  const auto steps = static_cast<int>(last - first);
  for (int i = 0; i <= steps; ++i) {
    axis.ticks.push_back(step.times(first + i) + 0.0);  // never -0
    axis.labels.push_back(plain_label(axis.ticks.back(), step));
  }
  return axis;
}

Axis log_axis(double low, double high, int most_ticks) {
  auto first = static_cast<int>(std::floor(std::log10(low) + kNearlyWhole));
  auto last = static_cast<int>(std::ceil(std::log10(high) - kNearlyWhole));
  if (first == last) {
    --first;
    ++last;
  }
  const int stride = (last - first + most_ticks - 1) / most_ticks;
  last = first + (last - first + stride - 1) / stride * stride;
  const bool as_powers = first < -3 || last > 4;
  Axis axis;
  axis.log = true;
  axis.low = power_of_ten(first);
  axis.high = power_of_ten(last);
  for (int exponent = first; exponent <= last; exponent += stride) {
    axis.ticks.push_back(power_of_ten(exponent));
    axis.labels.push_back(as_powers ? "10" + superscript(exponent)
                                    : plain_label(axis.ticks.back(), {1, exponent}));
  }
  for (int exponent = first; exponent < last; ++exponent) {
    if (exponent > first && (exponent - first) % stride != 0) axis.minor.push_back(power_of_ten(exponent));
    for (int factor = 2; factor <= 9 && stride == 1; ++factor) {
      axis.minor.push_back(factor * power_of_ten(exponent));
    }
  }
  return axis;
}

}  // namespace

std::string with_true_minus(const std::string& text) {
  return text.starts_with('-') ? "−" + text.substr(1) : text;
}

double Axis::share(double value) const {
  if (log && value <= low) return 0;
  const double share = log ? std::log10(value / low) / std::log10(high / low) : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

bool can_show(double value, bool log) { return std::fabs(value) < kAbsurd && (!log || value > 1 / kAbsurd); }

Axis make_axis(double low, double high, bool log, int most_ticks) {
  return log ? log_axis(low, high, most_ticks) : linear_axis(low, high, most_ticks);
}

}  // namespace qw
