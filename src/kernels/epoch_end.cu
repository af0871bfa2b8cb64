#include "kernels/epoch_end.h"

#include "kernels/launch.cuh"

namespace qw::kernels {
namespace {

__device__ bool is_finite(double x) { return x - x == 0; }

// One warp, because the decision needs one sum and nothing else.
struct EndEpoch {
  static constexpr int kThreads = kWarp;
  static constexpr int kStaged = 256;  // scores that are added up without a trip to memory for each
  EpochEnd end;

  __device__ double score_of(int64_t row) const {
    const double* record = end.history + row * kHistoryRow;
    return end.rule.score(record[kValLoss], record[kValMetric]);
  }

  __device__ double sum_of_scores(int64_t begin, int64_t count) const {
    __shared__ double staged[kStaged];
    double sum = 0;
    for (int64_t done = 0; done < count; done += kStaged) {
      const int64_t part = count - done < kStaged ? count - done : kStaged;
      for (int64_t i = threadIdx.x; i < part; i += kWarp) staged[i] = score_of(begin + done + i);
      __syncwarp();
      for (int64_t i = 0; i < part; ++i) sum += staged[i];
      __syncwarp();
    }
    return sum;
  }

  __device__ bool should_stop(int64_t epoch, int64_t row, double score) const {
    if (end.rule.is_last(epoch)) return true;
    if (!end.rule.looks_back(epoch) || row < end.rule.patience) return false;
    return end.rule.is_above_mean(score, sum_of_scores(row - end.rule.patience, end.rule.patience));
  }

  __device__ void advance() const {
    if (end.counts == nullptr) return;
    for (int i = 0; i < 3; ++i) end.counts[i] += end.increments[i];
  }

  __device__ void write(int64_t epoch, int64_t row, double loss, double val_loss, double score,
                        bool stops) const {
    double* record = end.history + row * kHistoryRow;
    record[kLoss] = loss;
    record[kValLoss] = val_loss;
    for (int part = 0; part < kMetricParts; ++part) record[kTrainMetric + part] = end.metrics[part];
    const bool broken = !(is_finite(loss) && is_finite(val_loss));
    const auto best_epoch = static_cast<int64_t>(end.state[kBestEpoch]);
    const bool better = !broken && end.rule.is_better(score, best_epoch, end.state[kBestScore]);
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
    const double score = end.rule.score(val_loss, end.metrics[kValMetric - kTrainMetric]);
    const bool stops = !over && should_stop(epoch, row, score);
    __syncwarp();  // all have read the state
    if (threadIdx.x != 0) return;
    if (over) {
      end.state[kCounted] = 0;
      end.state[kBetter] = 0;
      end.state[kStopped] = 1;
      return;
    }
    write(epoch, row, loss, val_loss, score, stops);
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
      const Copy& from = copies.items[i];
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
  for (int i = 0; i < copies.count; ++i) tiles += blocks_for(copies.items[i].bytes, KeepIf::kTileBytes);
  const int64_t blocks = tiles < KeepIf::kMostBlocks ? tiles : KeepIf::kMostBlocks;
  launch(KeepIf{flag, copies, blocks}, blocks, stream);
}

}  // namespace qw::kernels
