#include "report/histogram.h"

#include <algorithm>
#include <cmath>

namespace qw {

Series histogram(const std::string& name, std::span<const double> values, int64_t bins) {
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low > high ? Series{.name = name} : histogram_between(name, values, bins, low, high);
}

Series histogram_between(const std::string& name, std::span<const double> values, int64_t bins, double low,
                         double high) {
  if (low == high) high = low + 1;
  Series series{.name = name};
  series.y.assign(bins, 0.0);
  for (int64_t b = 0; b <= bins; ++b)
    series.x.push_back(low + (high - low) * static_cast<double>(b) / static_cast<double>(bins));
  for (const double value : values) {
    if (!(value >= low && value <= high)) continue;
    const auto bin = static_cast<int64_t>((value - low) / (high - low) * static_cast<double>(bins));
    ++series.y[std::min(bin, bins - 1)];
  }
  return series;
}

Series spread_histogram(const std::string& name, std::span<const double> values, int64_t bins, bool& log) {
  constexpr double kFar = 100;  // from the smallest to the largest
  double low = INFINITY, high = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  log = low > 0 && high > kFar * low;
  if (!log) return histogram(name, values, bins);
  std::vector<double> logarithms;
  logarithms.reserve(values.size());
  for (const double value : values) logarithms.push_back(std::log10(value));
  Series series = histogram(name, logarithms, bins);
  for (double& edge : series.x) edge = std::pow(10, edge);
  return series;
}

}  // namespace qw
