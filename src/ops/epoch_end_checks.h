// What the operators of the end of an epoch require; every backend calls them first.
#pragma once

#include "ops/epoch_end.h"

namespace qw::ops {

// `parts`: train, val, test.
void check_epoch_metrics(int64_t kind, const at::Tensor& scores, const at::Tensor& shift,
                         const std::array<LabelTensors, 3>& parts);
void check_advance(const at::Tensor& counts, at::IntArrayRef increments);
void check_epoch_end(const at::Tensor& history, const at::Tensor& state, const EpochResult& result,
                     const EpochRule& rule, const at::Tensor& counts, at::IntArrayRef increments);
void check_keep_if(const at::Tensor& state, int64_t flag, at::TensorList sources, at::TensorList targets);

}  // namespace qw::ops
