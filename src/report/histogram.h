// How many values are how large.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "qw/report/chart.h"

namespace qw {

// Bins of one width from the smallest to the largest value; what is not finite does not count.
Series histogram(const std::string& name, std::span<const double> values, int64_t bins);
// Bins of one width from low to high; what lies outside does not count.
Series histogram_between(const std::string& name, std::span<const double> values, int64_t bins, double low,
                         double high);

// The same for values above 0. Where they are far apart bins are of one width on a log axis, which is said.
Series spread_histogram(const std::string& name, std::span<const double> values, int64_t bins, bool& log);

}  // namespace qw
