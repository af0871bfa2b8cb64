#include <algorithm>

#include "kernels/head_scores.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kWorkPerThread = 1 << 15;  // multiply-adds that are worth a thread
constexpr int64_t kMostParts = 64;
constexpr int64_t kRowsOfPart = 32;  // at least

int64_t rows_of_part(int64_t nodes) { return std::max(kRowsOfPart, (nodes + kMostParts - 1) / kMostParts); }

template <class T>
QW_INLINE T sum_of(const typename VectorOf<T>::Type& vector) {
  T sum = 0;
  for (int lane = 0; lane < kLanes<T>; ++lane) sum += vector[lane];
  return sum;
}

template <class T>
QW_INLINE void score_rows(const HeadFeatures<T>& view, int64_t begin, int64_t end, T* source_scores,
                          T* target_scores) {
  const int64_t depth = view.depth;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t head = 0; head < view.heads; ++head) {
      const int64_t item = row * view.heads + head;
      const T* features = view.features + item * depth;
      const T* source = view.source + head * depth;
      const T* target = view.target + head * depth;
      typename VectorOf<T>::Type of_source = {}, of_target = {};
      int64_t c = 0;
      for (; c + kLanes<T> <= depth; c += kLanes<T>) {
        const auto x = load_vector<T>(features + c);
        of_source += x * load_vector<T>(source + c);
        of_target += x * load_vector<T>(target + c);
      }
      T source_score = sum_of<T>(of_source), target_score = sum_of<T>(of_target);
      for (; c < depth; ++c) {
        source_score += features[c] * source[c];
        target_score += features[c] * target[c];
      }
      source_scores[item] = source_score;
      target_scores[item] = target_score;
    }
  }
}

// What rows [begin, end) add, to the gradients of features and, in parts [2, heads * depth], of the vectors.
template <class T>
QW_INLINE void add_rows(const HeadFeatures<T>& view, const HeadScoresGradients<T>& gradients, int64_t begin,
                        int64_t end, T* parts) {
  const int64_t depth = view.depth, width = view.heads * depth;
  std::fill_n(parts, 2 * width, T{0});
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t head = 0; head < view.heads; ++head) {
      const int64_t item = row * view.heads + head;
      const T of_source = gradients.source_scores[item], of_target = gradients.target_scores[item];
      const T* features = view.features + item * depth;
      const T* source = view.source + head * depth;
      const T* target = view.target + head * depth;
      T* gradient = gradients.features + item * depth;
      T* source_part = parts + head * depth;
      T* target_part = source_part + width;
      int64_t c = 0;
      for (; c + kLanes<T> <= depth; c += kLanes<T>) {
        const auto x = load_vector<T>(features + c);
        store_vector<T>(source_part + c, load_vector<T>(source_part + c) + of_source * x);
        store_vector<T>(target_part + c, load_vector<T>(target_part + c) + of_target * x);
        store_vector<T>(gradient + c, load_vector<T>(gradient + c) + of_source * load_vector<T>(source + c) +
                                          of_target * load_vector<T>(target + c));
      }
      for (; c < depth; ++c) {
        source_part[c] += of_source * features[c];
        target_part[c] += of_target * features[c];
        gradient[c] += of_source * source[c] + of_target * target[c];
      }
    }
  }
}

QW_MULTIVERSION void score(const HeadFeatures<float>& view, int64_t begin, int64_t end, float* source_scores,
                           float* target_scores) {
  score_rows(view, begin, end, source_scores, target_scores);
}

QW_MULTIVERSION void score(const HeadFeatures<double>& view, int64_t begin, int64_t end,
                           double* source_scores, double* target_scores) {
  score_rows(view, begin, end, source_scores, target_scores);
}

QW_MULTIVERSION void add(const HeadFeatures<float>& view, const HeadScoresGradients<float>& gradients,
                         int64_t begin, int64_t end, float* parts) {
  add_rows(view, gradients, begin, end, parts);
}

QW_MULTIVERSION void add(const HeadFeatures<double>& view, const HeadScoresGradients<double>& gradients,
                         int64_t begin, int64_t end, double* parts) {
  add_rows(view, gradients, begin, end, parts);
}

}  // namespace

int64_t head_scores_parts_cpu(int64_t nodes) {
  return (nodes + rows_of_part(nodes) - 1) / rows_of_part(nodes);
}

template <class T>
void head_scores_cpu(const HeadFeatures<T>& view, T* source_scores, T* target_scores) {
  const int64_t work = std::max<int64_t>(1, 2 * view.heads * view.depth);
  parallel_for(view.nodes, std::max<int64_t>(1, kWorkPerThread / work),
               [&](int64_t begin, int64_t end) { score(view, begin, end, source_scores, target_scores); });
}

template <class T>
void head_scores_backward_cpu(const HeadFeatures<T>& view, const HeadScoresGradients<T>& gradients) {
  const int64_t rows = rows_of_part(view.nodes), parts = head_scores_parts_cpu(view.nodes);
  const int64_t columns = 2 * view.heads * view.depth;
  const int64_t work = std::max<int64_t>(1, 2 * rows * columns);
  parallel_for(parts, std::max<int64_t>(1, kWorkPerThread / work), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      add(view, gradients, part * rows, std::min(view.nodes, (part + 1) * rows),
          gradients.parts + part * columns);
  });
  std::fill_n(gradients.vectors, columns, T{0});
  for (int64_t part = 0; part < parts; ++part) {
    for (int64_t c = 0; c < columns; ++c) gradients.vectors[c] += gradients.parts[part * columns + c];
  }
}

template void head_scores_cpu(const HeadFeatures<float>&, float*, float*);
template void head_scores_cpu(const HeadFeatures<double>&, double*, double*);
template void head_scores_backward_cpu(const HeadFeatures<float>&, const HeadScoresGradients<float>&);
template void head_scores_backward_cpu(const HeadFeatures<double>&, const HeadScoresGradients<double>&);

}  // namespace qw::kernels
