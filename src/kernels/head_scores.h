// The scores of graph attention on raw pointers, row-major: the products of each head of a row of features
// with two vectors of that head, and their gradients.
//
// With W = heads * depth, for each row 4 W flops forward on W features read once, 8 W backward on W features
// read and W gradients read and written. Floor: those bytes; what belongs to heads is small beside them.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
struct HeadFeatures {
  int64_t nodes;
  int64_t heads;
  int64_t depth;
  const T* features;  // [nodes, heads * depth]
  const T* source;    // [heads, depth]
  const T* target;    // [heads, depth]
};

template <class T>
struct HeadScoresGradients {
  const T* source_scores;  // [nodes, heads], given
  const T* target_scores;
  T* features;  // [nodes, heads * depth]: what comes through the scores is added to it
  T* parts;     // [head_scores_parts, 2, heads * depth]: room
  T* vectors;   // [2, heads, depth]: of source, of target
};

// The rows are divided into so many runs, each summed by one thread or block, whose sums are then added in
// order.
int64_t head_scores_parts_cpu(int64_t nodes);
int64_t head_scores_parts_cuda(int64_t nodes, int64_t width);

// source_scores and target_scores [nodes, heads].
template <class T>
void head_scores_cpu(const HeadFeatures<T>& view, T* source_scores, T* target_scores);
template <class T>
void head_scores_backward_cpu(const HeadFeatures<T>& view, const HeadScoresGradients<T>& gradients);

// One launch forward, two backward.
template <class T>
void head_scores_cuda(const HeadFeatures<T>& view, T* source_scores, T* target_scores, Stream stream);
template <class T>
void head_scores_backward_cuda(const HeadFeatures<T>& view, const HeadScoresGradients<T>& gradients,
                               Stream stream);

}  // namespace qw::kernels
