#include "kernels/adam.h"

#include "kernels/adam_factors.h"
#include "kernels/quads.cuh"

namespace qw::kernels {
namespace {

template <class T>
struct Adam {
  static constexpr int kThreads = 128;
  static constexpr int kElements = 4 * kThreads;  // of a block, all of one tensor
  AdamRule rule;
  Count step;
  AdamTensor<T> tensors[kAdamTensors];
  uint32_t end_block[kAdamTensors];  // of each tensor; those of absent ones are the last
  uint32_t by_quads;                 // a bit for each

  __device__ void operator()() const {
    int which = 0;
    while (which < kAdamTensors - 1 && blockIdx.x >= end_block[which]) ++which;
    const AdamTensor<T>& tensor = tensors[which];
    const uint32_t block = blockIdx.x - (which == 0 ? 0 : end_block[which - 1]);
    const int64_t i = int64_t{block} * kElements + 4 * threadIdx.x;
    const int64_t left = tensor.size - i;
    if (left <= 0) return;
    T parameter[4], gradient[4], first[4], second[4];
    const bool whole = left >= 4 && (by_quads >> which & 1) != 0;
    if (whole) {
      load_quad(tensor.parameter + i, parameter);
      load_quad(tensor.gradient + i, gradient);
      load_quad(tensor.first_moment + i, first);
      load_quad(tensor.second_moment + i, second);
    } else {
      load_singly(tensor.parameter + i, left, parameter);
      load_singly(tensor.gradient + i, left, gradient);
      load_singly(tensor.first_moment + i, left, first);
      load_singly(tensor.second_moment + i, left, second);
    }
    const AdamFactors<T> f = factors_now<T>(rule, step);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const T g = gradient[k] + f.weight_decay * parameter[k];
      first[k] = f.beta1 * first[k] + f.fresh1 * g;
      second[k] = f.beta2 * second[k] + f.fresh2 * g * g;
      parameter[k] -= f.step_size * first[k] / (sqrt(second[k]) * f.root_scale + f.eps);
    }
    if (whole) {
      store_quad(tensor.parameter + i, parameter);
      store_quad(tensor.first_moment + i, first);
      store_quad(tensor.second_moment + i, second);
    } else {
      store_singly(tensor.parameter + i, left, parameter);
      store_singly(tensor.first_moment + i, left, first);
      store_singly(tensor.second_moment + i, left, second);
    }
  }
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
void adam_cuda(const AdamRule& rule, const Count& step, std::span<const AdamTensor<T>> tensors,
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

template void adam_cuda(const AdamRule&, const Count&, std::span<const AdamTensor<float>>, Stream);
template void adam_cuda(const AdamRule&, const Count&, std::span<const AdamTensor<double>>, Stream);

}  // namespace qw::kernels
