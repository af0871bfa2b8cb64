#include "kernels/epoch_end.h"

#include "kernels/launch.cuh"

namespace qw::kernels {
namespace {

__device__ bool is_finite(double x) { return x - x == 0; }

// One warp, because the decision needs one sum and nothing else.
struct EndEpoch {
  static constexpr int kThreads = kWarp;
  EpochEnd end;

  __device__ double val_metric() const { return end.metrics[kValMetric - kTrainMetric]; }

  __device__ double sum_of_window(int64_t row) const {
    const double* values =
        end.history + (row - end.patience) * kHistoryRow + (end.by_metric ? kValMetric : kValLoss);
    double sum = 0;
    for (int64_t i = threadIdx.x; i < end.patience; i += kWarp) sum += values[i * kHistoryRow];
    for (int apart = kWarp / 2; apart > 0; apart /= 2) sum += __shfl_down_sync(kWholeWarp, sum, apart);
    return __shfl_sync(kWholeWarp, sum, 0);
  }

  __device__ bool should_stop(int64_t epoch, int64_t row, double val_loss) const {
    if (epoch + 1 >= end.epochs) return true;
    if (end.patience == 0 || epoch <= end.patience || end.keeps_last || row < end.patience) return false;
    const double mean = sum_of_window(row) / static_cast<double>(end.patience);
    return end.by_metric ? val_metric() < mean : val_loss > mean;
  }

  __device__ void advance() const {
    if (end.counts == nullptr) return;
    for (int i = 0; i < 3; ++i) end.counts[i] += end.increments[i];
  }

  __device__ void write(int64_t epoch, int64_t row, double loss, double val_loss, bool stops) const {
    double* record = end.history + row * kHistoryRow;
    record[kLoss] = loss;
    record[kValLoss] = val_loss;
    for (int part = 0; part < kMetricParts; ++part) record[kTrainMetric + part] = end.metrics[part];
    const bool broken = !(is_finite(loss) && is_finite(val_loss));
    const double score = end.by_metric ? -val_metric() : val_loss;
    const bool better =
        !broken && (end.state[kBestEpoch] < 0 || end.keeps_last || score < end.state[kBestScore]);
    if (better) {
      end.state[kBestEpoch] = static_cast<double>(epoch);
      end.state[kBestScore] = score;
    }
    end.state[kEpochs] = static_cast<double>(epoch + 1);
    end.state[kCounted] = 1;
    end.state[kBetter] = better ? 1 : 0;
    end.state[kStopped] = stops || broken ? 1 : 0;
    end.state[kBroken] = broken ? 1 : 0;
  }

  __device__ void operator()() const {
    const auto epoch = static_cast<int64_t>(end.state[kEpochs]);
    const int64_t row = epoch - end.first_row;
    const bool over = end.state[kStopped] != 0 || row < 0 || row >= end.rows;
    const double loss = *end.loss;
    double val_loss = *end.val_divergence;
    if (end.flow_cost != nullptr) val_loss = __dadd_rn(*end.flow_cost, __dmul_rn(end.lambda, val_loss));
    const bool stops = !over && should_stop(epoch, row, val_loss);
    __syncwarp();  // all have read the state
    if (threadIdx.x != 0) return;
    if (over) {
      end.state[kCounted] = 0;
      end.state[kBetter] = 0;
      end.state[kStopped] = 1;
      return;
    }
    write(epoch, row, loss, val_loss, stops);
    advance();
  }
};

struct Advance {
  static constexpr int kThreads = kWarp;
  int64_t* counts;
  int64_t increments[3];

  __device__ void operator()() const {
    if (threadIdx.x < 3) counts[threadIdx.x] += increments[threadIdx.x];
  }
};

// Tensors are cut into tiles, and the blocks go through all tiles of all tensors.
struct KeepIf {
  static constexpr int kThreads = 256;
  static constexpr int64_t kTileBytes = int64_t{kThreads} * 16 * 4;
  static constexpr int64_t kMostBlocks = 2048;
  const double* flag;
  Copies copies;
  int64_t blocks;

  template <class Word>
  __device__ static void copy(const Copy& from, int64_t begin, int64_t end) {
    const auto* source = reinterpret_cast<const Word*>(static_cast<const char*>(from.source) + begin);
    auto* target = reinterpret_cast<Word*>(static_cast<char*>(from.target) + begin);
    const int64_t words = (end - begin) / static_cast<int64_t>(sizeof(Word));
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < words; i += kThreads) target[i] = source[i];
    const int64_t rest = begin + words * static_cast<int64_t>(sizeof(Word)) + threadIdx.x;
    if (rest < end) static_cast<char*>(from.target)[rest] = static_cast<const char*>(from.source)[rest];
  }

  __device__ static void copy_tile(const Copy& from, int64_t tile) {
    const int64_t begin = tile * kTileBytes;
    const int64_t end = begin + kTileBytes < from.bytes ? begin + kTileBytes : from.bytes;
    const auto places = reinterpret_cast<uintptr_t>(from.source) | reinterpret_cast<uintptr_t>(from.target);
    if (places % 16 == 0) {
      copy<int4>(from, begin, end);
    } else if (places % 4 == 0) {
      copy<int>(from, begin, end);
    } else {
      copy<char>(from, begin, end);
    }
  }

  __device__ void operator()() const {
    if (*flag == 0) return;
    int64_t before = 0;
    for (int i = 0; i < copies.count; ++i) {
      const Copy& from = copies.of[i];
      const int64_t tiles = (from.bytes + kTileBytes - 1) / kTileBytes;
      // The first tile from `before` on that is this block's: tiles go around, block by block.
      const int64_t first = (blockIdx.x + blocks - before % blocks) % blocks;
      for (int64_t tile = first; tile < tiles; tile += blocks) copy_tile(from, tile);
      before += tiles;
    }
  }
};

}  // namespace

void epoch_end_cuda(const EpochEnd& end, Stream stream) { launch(EndEpoch{end}, 1, stream); }

void advance_cuda(int64_t* counts, const int64_t* increments, Stream stream) {
  launch(Advance{counts, {increments[0], increments[1], increments[2]}}, 1, stream);
}

void keep_if_cuda(const double* flag, const Copies& copies, Stream stream) {
  int64_t tiles = 0;
  for (int i = 0; i < copies.count; ++i) tiles += blocks_for(copies.of[i].bytes, KeepIf::kTileBytes);
  const int64_t blocks = tiles < KeepIf::kMostBlocks ? tiles : KeepIf::kMostBlocks;
  launch(KeepIf{flag, copies, blocks}, blocks, stream);
}

}  // namespace qw::kernels
