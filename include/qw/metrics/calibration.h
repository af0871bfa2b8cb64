// Probabilities from scores, and the one number that makes them honest.
//
// A trained network is usually too sure of itself. Dividing its scores by a temperature T changes no decision
// and, with the T that fits held-out nodes best, makes its probabilities match how often it is right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Limits of the temperatures that are fitted.
inline constexpr double kLeastTemperature = 0.01;
inline constexpr double kMostTemperature = 100;

// The T that minimises the mean negative log likelihood of softmax(logits / T), within the limits above, to
// 1e-10. `logits` is [n * classes], `truth` in [0, classes). 1 where every T is as good: no nodes, or rows of
// equal logits. A limit where the best T lies beyond it: the least where every node is right, the most where
// the scores say nothing of the classes. Throws qw::Error on a logit that is not finite.
double fit_temperature(std::span<const double> logits, int64_t classes, std::span<const int32_t> truth);

// The same for 0/1 labels and sigmoid(logits / T): one T for all entries. Entries whose truth is NaN do not
// count.
double fit_label_temperature(std::span<const double> logits, std::span<const double> truth);

double sigmoid(double logit);  // 1 / (1 + exp(-logit)) without overflow

// softmax(logits / temperature) of each row, and sigmoid(logits / temperature) of each entry. A logit of
// -infinity has probability 0.
std::vector<double> softmax_rows(std::span<const double> logits, int64_t classes, double temperature = 1);
std::vector<double> sigmoids(std::span<const double> logits, double temperature = 1);

}  // namespace qw
