#include <cmath>

#include "kernels/epoch_end.h"
#include "kernels/launch.cuh"

namespace qw::kernels {
namespace {

constexpr int kTallyThreads = 256;
constexpr int64_t kMostChunks = 512;     // of a part
constexpr int64_t kMostTallies = 16384;  // of a part, for the one block that adds them up
constexpr int64_t kFewestChunks = 64;    // though
constexpr int64_t kPassesOfAChunk = 4;   // at least, where there are so many rows

// What is known of one column from some rows.
//   kAccuracy  right, all (there is one column)
//   kMacroF1   true and false positives, false negatives
//   kR2        count, mean and squares around it of the labels, squares of errors
struct Tally {
  double a = 0, b = 0, c = 0, d = 0;
};

template <MetricKind kKind>
__device__ void add(Tally& to, const Tally& more) {
  if constexpr (kKind == MetricKind::kR2) {
    if (more.a == 0) return;
    const double count = to.a + more.a, apart = more.b - to.b, share = more.a / count;
    to.c += more.c + apart * apart * to.a * share;
    to.b += apart * share;
    to.a = count;
    to.d += more.d;
  } else {
    to.a += more.a;
    to.b += more.b;
    to.c += more.c;
  }
}

// Rows of a part that one block tallies.
struct Chunks {
  int of_part[kMetricParts];
  int rows[kMetricParts];  // of each chunk
};

// A tile of columns side by side, and as many rows at once as there are threads for.
struct Tile {
  int columns, lanes;
};
QW_BOTH inline Tile tile_of(int64_t width) {
  const int columns = width < kTallyThreads ? static_cast<int>(width) : kTallyThreads;
  return {columns, kTallyThreads / columns};
}

// Adds up what the lanes of each column of a tile have; lane 0 gets it. All threads of the block call it.
template <MetricKind kKind>
__device__ Tally sum_of_lanes(const Tally& own, const Tile& tile) {
  __shared__ double shared[4][kTallyThreads];
  const auto at = [&](int i) { return Tally{shared[0][i], shared[1][i], shared[2][i], shared[3][i]}; };
  const auto put = [&](int i, const Tally& t) {
    shared[0][i] = t.a, shared[1][i] = t.b, shared[2][i] = t.c, shared[3][i] = t.d;
  };
  const int self = static_cast<int>(threadIdx.x), lane = self / tile.columns;
  put(self, own);
  Tally sum = own;
  int apart = 1;
  while (2 * apart < tile.lanes) apart *= 2;
  for (; apart > 0; apart /= 2) {
    __syncthreads();
    if (lane < apart && lane + apart < tile.lanes) {
      add<kKind>(sum, at(self + apart * tile.columns));
      put(self, sum);
    }
  }
  __syncthreads();
  return sum;
}

// Which rows of which part are those of this block.
struct Work {
  int part;
  int64_t begin, end;
};
__device__ inline Work work_of(const Chunks& chunks, int chunk, const int64_t (&counts)[kMetricParts]) {
  int part = 0;
  while (part + 1 < kMetricParts && chunk >= chunks.of_part[part]) chunk -= chunks.of_part[part++];
  const int64_t begin = int64_t{chunk} * chunks.rows[part];
  const int64_t end = begin + chunks.rows[part];
  return {part, begin, end < counts[part] ? end : counts[part]};
}

template <class T>
__device__ T prediction(const MetricInput<T>& input, int64_t at) {
  return input.shift == nullptr ? input.scores[at] : input.scores[at] + input.shift[at];
}

// A row is shared by `lanes` lanes, a power of two.
template <class T>
struct TallyClasses {
  static constexpr int kThreads = kTallyThreads;
  MetricInput<T> input;
  Chunks chunks;
  int lanes;
  Tally* tallies;  // one a block

  // The first of the largest, as std::max_element finds it: a NaN in front is taken, any other is not.
  __device__ int predicted(int64_t node, bool exists) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int width = exists ? static_cast<int>(input.width) : 0;
    T largest = -INFINITY;
    int place = INT32_MAX;
    for (int c = lane; c < width; c += lanes) {
      const T z = prediction(input, node * input.width + c);
      if (c == 0 && z != z) {
        largest = INFINITY;
        place = -1;
      } else if (z > largest || (z == largest && place == INT32_MAX)) {
        largest = z;
        place = c;
      }
    }
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
      const T other = __shfl_xor_sync(kWholeWarp, largest, apart);
      const int its_place = __shfl_xor_sync(kWholeWarp, place, apart);
      if (other > largest || (other == largest && its_place < place)) {
        largest = other;
        place = its_place;
      }
    }
    return place < 0 ? 0 : place;
  }

  __device__ void operator()() const {
    const int64_t counts[] = {input.parts[0].count, input.parts[1].count, input.parts[2].count};
    const Work work = work_of(chunks, static_cast<int>(blockIdx.x), counts);
    const MetricPart<T>& part = input.parts[work.part];
    int right = 0, all = 0;
    for (int64_t first = work.begin; first < work.end; first += kThreads / lanes) {
      const int64_t row = first + static_cast<int>(threadIdx.x) / lanes;
      const bool exists = row < work.end;
      const int truth = exists ? part.classes[row] : -1;
      const int guess = predicted(exists ? part.nodes[row] : 0, exists);
      if (threadIdx.x % lanes != 0 || truth < 0) continue;
      right += guess == truth;
      ++all;
    }
    const Tally sum = sum_of_lanes<MetricKind::kAccuracy>(
        {static_cast<double>(right), static_cast<double>(all)}, tile_of(1));
    if (threadIdx.x == 0) tallies[blockIdx.x] = sum;
  }
};

template <class T, MetricKind kKind>
struct TallyColumns {
  static constexpr int kThreads = kTallyThreads;
  MetricInput<T> input;
  Chunks chunks;
  int tiles;
  Tally* tallies;  // [chunks, width]

  __device__ void see(Tally& tally, double truth, double guess) const {
    if constexpr (kKind == MetricKind::kMacroF1) {
      const bool predicted = guess > input.threshold, is = truth > 0.5;
      tally.a += predicted && is ? 1 : 0;
      tally.b += predicted && !is ? 1 : 0;
      tally.c += !predicted && is ? 1 : 0;
    } else {
      add<kKind>(tally, {1, truth, 0, (guess - truth) * (guess - truth)});
    }
  }

  __device__ void operator()() const {
    const int64_t counts[] = {input.parts[0].count, input.parts[1].count, input.parts[2].count};
    const int chunk = static_cast<int>(blockIdx.x) / tiles;
    const Work work = work_of(chunks, chunk, counts);
    const MetricPart<T>& part = input.parts[work.part];
    const Tile tile = tile_of(input.width);
    const int self = static_cast<int>(threadIdx.x), lane = self / tile.columns;
    const int64_t column = int64_t{static_cast<int>(blockIdx.x) % tiles} * kThreads + self % tile.columns;
    Tally tally;
    if (lane < tile.lanes && column < input.width) {
      for (int64_t row = work.begin + lane; row < work.end; row += tile.lanes) {
        const T truth = part.targets[row * input.width + column];
        const T guess = prediction(input, part.nodes[row] * input.width + column);
        if (truth == truth) see(tally, static_cast<double>(truth), static_cast<double>(guess));
      }
    }
    tally = sum_of_lanes<kKind>(tally, tile);
    if (lane == 0 && column < input.width) tallies[chunk * input.width + column] = tally;
  }
};

// Block p adds up the tallies of part p and says what they mean.
template <MetricKind kKind>
struct FinishMetric {
  static constexpr int kThreads = kTallyThreads;
  const Tally* tallies;
  int64_t width;  // of the tallies
  Chunks chunks;
  double* result;

  __device__ Tally sum_of_column(int64_t column, int lane, const Tile& tile) const {
    int64_t chunk = lane, end = 0;
    const int part = static_cast<int>(blockIdx.x);
    for (int p = 0; p <= part; ++p) {
      if (p < part) chunk += chunks.of_part[p];
      end += chunks.of_part[p];
    }
    Tally sum;
    if (lane >= tile.lanes || column >= width) return sum;
    for (; chunk < end; chunk += tile.lanes) add<kKind>(sum, tallies[chunk * width + column]);
    return sum;
  }

  // The F1 of a label and whether it is there at all; the squares of errors and around the mean; or the
  // counts of the accuracy as they are.
  __device__ static void part_of_metric(const Tally& t, double& first, double& second) {
    first = t.a;
    second = t.b;
    if constexpr (kKind == MetricKind::kMacroF1) {
      const double all = 2 * t.a + t.b + t.c;
      first = all == 0 ? 0 : 2 * t.a / all;
      second = all == 0 ? 0 : 1;
    } else if constexpr (kKind == MetricKind::kR2) {
      first = t.d;
      second = t.c;
    }
  }

  __device__ static double metric(double first, double second) {
    if (!(second > 0)) return NAN;
    return kKind == MetricKind::kR2 ? 1.0 - first / second : first / second;
  }

  __device__ void operator()() const {
    __shared__ double firsts[kThreads], seconds[kThreads];
    const Tile tile = tile_of(width);
    const int self = static_cast<int>(threadIdx.x);
    double first = 0, second = 0;
    for (int64_t begin = 0; begin < width; begin += tile.columns) {
      const Tally sum =
          sum_of_lanes<kKind>(sum_of_column(begin + self % tile.columns, self / tile.columns, tile), tile);
      if (self < tile.columns) part_of_metric(sum, firsts[self], seconds[self]);
      __syncthreads();
      if (self != 0) continue;
#pragma unroll 8
      for (int c = 0; c < tile.columns; ++c) {  // in the order of the host, which it must agree with
        first += firsts[c];
        second += seconds[c];
      }
    }
    if (self == 0) result[blockIdx.x] = metric(first, second);
  }
};

int lanes_for(int64_t width) {
  int lanes = 1;
  while (lanes < kWarp && 2 * lanes < width) lanes *= 2;
  return lanes;
}

template <class T>
Chunks chunks_of(MetricKind kind, const MetricInput<T>& input) {
  const bool by_class = kind == MetricKind::kAccuracy;
  const int64_t at_once = by_class ? kTallyThreads / lanes_for(input.width) : tile_of(input.width).lanes;
  int64_t most = by_class ? kMostChunks : kMostTallies / input.width;
  most = most < kFewestChunks ? kFewestChunks : (most > kMostChunks ? kMostChunks : most);
  Chunks chunks{};
  for (int p = 0; p < kMetricParts; ++p) {
    const int64_t count = input.parts[p].count;
    const int64_t least = at_once * (by_class ? 1 : kPassesOfAChunk);
    const int64_t rows = blocks_for(count, least * most) * least;
    chunks.rows[p] = static_cast<int>(rows);
    chunks.of_part[p] = rows == 0 ? 0 : static_cast<int>(blocks_for(count, rows));
  }
  return chunks;
}

int64_t total(const Chunks& chunks) {
  return int64_t{chunks.of_part[0]} + chunks.of_part[1] + chunks.of_part[2];
}

template <class T, MetricKind kKind>
void run(const MetricInput<T>& input, double* scratch, double* result, Stream stream) {
  const Chunks chunks = chunks_of(kKind, input);
  auto* tallies = reinterpret_cast<Tally*>(scratch);
  if constexpr (kKind == MetricKind::kAccuracy) {
    launch(TallyClasses<T>{input, chunks, lanes_for(input.width), tallies}, total(chunks), stream);
    launch(FinishMetric<kKind>{tallies, 1, chunks, result}, kMetricParts, stream);
  } else {
    const int64_t tiles = blocks_for(input.width, kTallyThreads);
    launch(TallyColumns<T, kKind>{input, chunks, static_cast<int>(tiles), tallies}, tiles * total(chunks),
           stream);
    launch(FinishMetric<kKind>{tallies, input.width, chunks, result}, kMetricParts, stream);
  }
}

}  // namespace

template <class T>
int64_t epoch_metrics_scratch(MetricKind kind, const MetricInput<T>& input) {
  const int64_t columns = kind == MetricKind::kAccuracy ? 1 : input.width;
  return total(chunks_of(kind, input)) * columns * static_cast<int64_t>(sizeof(Tally) / sizeof(double));
}

template <class T>
void epoch_metrics_cuda(MetricKind kind, const MetricInput<T>& input, double* scratch, double* result,
                        Stream stream) {
  if (kind == MetricKind::kAccuracy) run<T, MetricKind::kAccuracy>(input, scratch, result, stream);
  if (kind == MetricKind::kMacroF1) run<T, MetricKind::kMacroF1>(input, scratch, result, stream);
  if (kind == MetricKind::kR2) run<T, MetricKind::kR2>(input, scratch, result, stream);
}

template int64_t epoch_metrics_scratch(MetricKind, const MetricInput<float>&);
template int64_t epoch_metrics_scratch(MetricKind, const MetricInput<double>&);
template void epoch_metrics_cuda(MetricKind, const MetricInput<float>&, double*, double*, Stream);
template void epoch_metrics_cuda(MetricKind, const MetricInput<double>&, double*, double*, Stream);

}  // namespace qw::kernels
