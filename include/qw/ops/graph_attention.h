// Graph attention (Velickovic et al., GAT, as PyTorch Geometric's GATConv computes it), in one operator.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// Slope and dropout of an attention layer.
struct GraphAttentionOptions {
  double negative_slope = 0.2;  // of the leaky_relu on the scores; finite
  double dropout = 0.0;         // probability with which an attention weight is set to zero, in [0, 1)
  // What names the random numbers of the dropout: the same three give the same weights dropped, in the
  // forward pass, in the backward pass and in a resumed run. Unused without dropout.
  int64_t seed = 0;
  int64_t epoch = 0;  // in [0, 2^32)
  int64_t layer = 0;  // in [0, 2^32)
};

// Row i of the pattern [N, N] lists the nodes j that send to i; a self-loop is an entry like any other, for
// the caller to add. For each of H heads, with the D features x_i of that head
//   score_ij = leaky_relu(<x_j, attention_source> + <x_i, attention_target>)
//   alpha_ij = exp(score_ij) / sum over the entries (i, k) of exp(score_ik), the maximum subtracted first
//   out[i]   = sum over the entries (i, j) of dropout(alpha_ij * edge_weights_ij) * x_j
// so edge weights come after the softmax and the weights of a row need not sum to 1. Dropout is that of
// qw::dropout on the weights as a matrix [entries, H]: element i = entry * H + head is set to zero when lane
// i % 4 of philox({i / 4, i / 4 >> 32, layer, epoch}, seed) is below dropout * 2^32; what is kept is divided
// by 1 - dropout.
//
//   features          [N, H * D], already multiplied by the layer's weight; head h in columns
//                     [h D, (h + 1) D)
//   attention_source  [1, H, D]
//   attention_target  [1, H, D]
//   edge_weights      [entries], or [0] for none
//   result            [N, H * D]; a row without entries is zero
//
// All float32 or float64 of one type, on one device. The pattern must have its `order`, as it has to tell
// (i, j) from (j, i): SparsePattern::symmetric is refused. Gradients for all four; that of edge_weights is
// made only when asked for; leaky_relu has the derivative negative_slope at 0, as in torch. The backward pass
// is not differentiable again: create_graph is refused.
//
// O((N + entries) * H * D) time. Kept for the backward pass: the inputs, the result (so it must not be
// changed in place), both scores of each node and the maximum and sum of each softmax, [N, H] each. The
// weights are computed again and their random numbers drawn again; while it runs, the backward pass has the
// gradient of each score, [entries, H]. Every sum has one owner and the order of the entries: the same bits
// for any number of threads. A NaN in the scores of a row makes the row NaN. Throws c10::Error on shapes,
// types, devices or options that do not fit; indices are trusted.
//
// With pattern.others all parts call it together, as spmm, with the features of own rows. With entry_numbers
// an entry is dropped by its number there.
at::Tensor graph_attention(const SparsePattern& pattern, const at::Tensor& features,
                           const at::Tensor& attention_source, const at::Tensor& attention_target,
                           const at::Tensor& edge_weights, const GraphAttentionOptions& options);

}  // namespace qw
