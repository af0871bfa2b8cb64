// Is one method better than another? A paired comparison of the same seeds: what differs between seeds (the
// split, the initial values) is in both members of a pair and cancels in their difference.
#pragma once

#include <cstdint>
#include <span>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Whether the candidate is better, worse, or neither can be shown.
enum class Verdict { kHelps, kHurts, kUndecided };
const char* verdict_name(Verdict verdict);  // "helps", "hurts", "undecided"

// A candidate beside a baseline, over the same seeds.
struct PairedComparison {
  int64_t pairs = 0;                      // seeds that both have
  double difference = 0;                  // mean of candidate - baseline, whichever of them is better
  double half_width = 0;                  // of the 95 % interval around it, by Student's t
  int64_t wins = 0;                       // pairs in which the candidate is better
  int64_t ties = 0;                       // pairs that are equal
  int64_t losses = 0;                     // pairs in which the candidate is worse
  double p_value = 1;                     // see wilcoxon_p_value
  Verdict verdict = Verdict::kUndecided;  // kHelps, kHurts: the interval leaves out 0

  // The ends of the 95 % interval.
  double lower() const { return difference - half_width; }
  double upper() const { return difference + half_width; }
};

// Entry i of both is of the same seed. Differences within 1e-12 of the largest value are rounding and count
// as ties. Throws qw::Error when the lengths differ, when a value is not finite, or when there are fewer than
// two pairs, which have no interval.
PairedComparison compare_paired(std::span<const double> baseline, std::span<const double> candidate,
                                bool higher_is_better);

// The exact two-sided p-value of Wilcoxon's signed-rank test: the share of the 2^n choices of signs whose
// rank sums are at least as uneven. Zeros are left out, n counting the others; equal sizes share their mean
// rank, sizes within `tolerance` being equal. Above n = 25 by the normal distribution, with correction for
// continuity. 1 when all are zero.
double wilcoxon_p_value(std::span<const double> differences, double tolerance = 0);

// t such that a Student's t variable lies in [-t, t] with probability `coverage`, in (0, 1); degrees >= 1. To
// some 1e-12; takes time proportional to `degrees`.
double student_t(double coverage, int64_t degrees);

}  // namespace qw
