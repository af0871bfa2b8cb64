#include "kernels/adam.h"

#include "kernels/adam_factors.h"
#include "kernels/quads.cuh"

namespace qw::kernels {
namespace {

template <class T>
struct Adam {
  static constexpr int kThreads = 128;
  static constexpr int kQuads = 2;                         // of a thread, which share the factors
  static constexpr int kElements = kQuads * 4 * kThreads;  // of a block, all of one tensor
  AdamRule rule;
  StepNumber step;
  AdamTensor<T> tensors[kAdamTensors];
  uint32_t end_block[kAdamTensors];  // of each tensor; those of absent ones are the last
  uint32_t by_quads;                 // a bit for each

  __device__ void operator()() const {
    int which = 0;
    while (which < kAdamTensors - 1 && blockIdx.x >= end_block[which]) ++which;
    const AdamTensor<T>& tensor = tensors[which];
    const uint32_t block = blockIdx.x - (which == 0 ? 0 : end_block[which - 1]);
    const int64_t first = int64_t{block} * kElements + 4 * threadIdx.x;
    if (first >= tensor.size) return;
    const bool by_quad = (by_quads >> which & 1) != 0;
    Quad quads[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) quads[q].load(tensor, first + q * 4 * kThreads, by_quad);
    const AdamFactors<T> factors = factors_now<T>(rule, step);
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      quads[q].update(factors);
      quads[q].store(tensor, first + q * 4 * kThreads, by_quad);
    }
  }

 private:
  // Four elements from `at` on, or as many as there are.
  struct Quad {
    T parameter[4], gradient[4], first[4], second[4];

    __device__ void load(const AdamTensor<T>& tensor, int64_t at, bool by_quad) {
      const int64_t left = tensor.size - at;
      const bool whole = by_quad && left >= 4;
      load_four(whole, tensor.parameter + at, left, parameter);
      load_four(whole, tensor.gradient + at, left, gradient);
      load_four(whole, tensor.first_moment + at, left, first);
      load_four(whole, tensor.second_moment + at, left, second);
    }

    __device__ void update(const AdamFactors<T>& f) {
#pragma unroll
      for (int k = 0; k < 4; ++k) adam_element(f, gradient[k], parameter[k], first[k], second[k]);
    }

    __device__ void store(const AdamTensor<T>& tensor, int64_t at, bool by_quad) const {
      const int64_t left = tensor.size - at;
      const bool whole = by_quad && left >= 4;
      store_four(whole, tensor.parameter + at, left, parameter);
      store_four(whole, tensor.first_moment + at, left, first);
      store_four(whole, tensor.second_moment + at, left, second);
    }
  };
};

template <class T>
void launch_list(Adam<T> task, int count, Stream stream) {
  int64_t blocks = 0;
  task.by_quads = 0;
  for (int i = 0; i < kAdamTensors; ++i) {
    if (i < count) {
      const AdamTensor<T>& tensor = task.tensors[i];
      blocks += blocks_for(tensor.size, Adam<T>::kElements);
      const bool aligned =
          aligned_for_quads(tensor.parameter, tensor.gradient, tensor.first_moment, tensor.second_moment);
      task.by_quads |= static_cast<uint32_t>(aligned) << i;
    }
    task.end_block[i] = static_cast<uint32_t>(blocks);
  }
  launch(task, blocks, stream);
}

}  // namespace

template <class T>
void adam_cuda(const AdamRule& rule, const StepNumber& step, std::span<const AdamTensor<T>> tensors,
               Stream stream) {
  Adam<T> task{rule, step, {}, {}, 0};
  int count = 0;
  for (const AdamTensor<T>& tensor : tensors) {
    if (tensor.size == 0) continue;
    task.tensors[count++] = tensor;
    if (count < kAdamTensors) continue;
    launch_list(task, count, stream);
    task = {rule, step, {}, {}, 0};  // the same task has the same bytes, whatever came before
    count = 0;
  }
  if (count > 0) launch_list(task, count, stream);
}

template void adam_cuda(const AdamRule&, const StepNumber&, std::span<const AdamTensor<float>>, Stream);
template void adam_cuda(const AdamRule&, const StepNumber&, std::span<const AdamTensor<double>>, Stream);

}  // namespace qw::kernels
