// Graph attention of one head with few columns over short rows, as the last layer of a network for
// classification has: a team of lanes has a row. They take an entry each while coefficients are made, and a
// column each while rows are gathered. To a warp for a row, of which most lanes would have nothing, it is a
// fifth of the instructions.
#pragma once

#include "kernels/graph_attention.h"

namespace qw::kernels {

template <class T>
bool is_narrow_attention(const AttentionView<T>& view, int64_t entries);

// As graph_attention_forward_cuda and graph_attention_backward_columns_cuda, of what is narrow.
template <class T>
void narrow_attention_forward(const AttentionView<T>& view, const StepNumber& epoch,
                              const AttentionStatistics<T>& statistics, T* result, int64_t entries,
                              Stream stream);
template <class T>
void narrow_attention_backward_columns(const AttentionView<T>& view, const StepNumber& epoch, const T* facts,
                                       const T* gradient, const AttentionColumnGradients<T>& gradients,
                                       int64_t entries, Stream stream);

}  // namespace qw::kernels
