// The end of an epoch on a GPU, on raw pointers: metrics, which epoch is the best, when to stop.
//
// Floor: the rows of the measured nodes and their labels read once; copies read and written once, nothing
// when nothing is to be kept. For small graphs the number of launches is what counts.
#pragma once

#include <cstdint>

#include "kernels/stream.h"
#include "qw/core/epoch_rule.h"

namespace qw::kernels {

enum class MetricKind { kAccuracy, kMacroF1, kR2 };
constexpr int kMetricParts = 3;  // train, val, test

template <class T>
struct MetricPart {
  const int32_t* nodes;    // [count]
  const int32_t* classes;  // [count]: for the accuracy; negative: unknown
  const T* targets;        // [count, width]: for the others; NaN: unknown
  int64_t count;
};

template <class T>
struct MetricInput {
  const T* scores;  // [N, width]
  const T* shift;   // null or [N, width]
  int64_t width;
  double threshold;  // above it a label is predicted
  MetricPart<T> parts[kMetricParts];
};

// Numbers of scratch that epoch_metrics_cuda needs.
template <class T>
int64_t epoch_metrics_scratch(MetricKind kind, const MetricInput<T>& input);

// result [3].
template <class T>
void epoch_metrics_cuda(MetricKind kind, const MetricInput<T>& input, double* scratch, double* result,
                        Stream stream);

// Places in the state of a training; all are doubles.
enum EpochPlace { kEpochs, kCounted, kBetter, kStopped, kBroken, kBestEpoch, kBestScore };
enum HistoryPlace { kLoss, kValLoss, kTrainMetric, kValMetric, kTestMetric, kHistoryRow };

struct EpochEnd {
  double* history;  // [rows, 5]
  int64_t rows;
  int64_t first_row;  // the epoch of row 0
  double* state;
  const double* loss;
  const double* val_divergence;
  const double* flow_cost;  // or null
  const double* metrics;    // [3]
  double lambda;
  EpochRule rule;
  int64_t* counts;  // null or [3]
  int64_t increments[3];
};
void epoch_end_cuda(const EpochEnd& end, Stream stream);

// counts[i] += increments[i] for three of them.
void advance_cuda(int64_t* counts, const int64_t* increments, Stream stream);

constexpr int kMostCopies = 16;

struct Copy {
  const void* source;
  void* target;
  int64_t bytes;
};

// Makes the first `count` copies when *flag is not 0.
struct Copies {
  Copy items[kMostCopies];
  int count;
};
void keep_if_cuda(const double* flag, const Copies& copies, Stream stream);

}  // namespace qw::kernels
