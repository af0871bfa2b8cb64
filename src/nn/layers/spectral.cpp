#include "nn/layers/spectral.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "qw/ops/chebyshev_filter.h"

namespace qw {

std::vector<double> chebyshev_coefficients(int64_t k, const std::function<double(double)>& polynomial) {
  const auto count = static_cast<double>(k + 1);
  std::vector<double> coefficients(k + 1, 0.0);
  for (int64_t m = 0; m <= k; ++m) {
    const double angle = (static_cast<double>(m) + 0.5) * std::numbers::pi / count;
    const double value = polynomial(std::cos(angle));
    for (int64_t j = 0; j <= k; ++j) {
      coefficients[j] += (j == 0 ? 1.0 : 2.0) / count * value * std::cos(static_cast<double>(j) * angle);
    }
  }
  return coefficients;
}

at::Tensor dropped(const ModelInput& input, double dprate, const at::Tensor& x) {
  return dropout(x, input.training ? dprate : 0.0, dropout_key(input, DropoutPlace::kPropagation));
}

at::Tensor propagate(const ModelInput& input, double dprate, const PropagationMatrix& matrix,
                     const at::Tensor& coefficients, const at::Tensor& x) {
  return chebyshev_filter(matrix.pattern, matrix.values, coefficients, dropped(input, dprate, x));
}

PassMemory filter_memory(const Perceptron& perceptron, int64_t k, int64_t columns, bool self_loops,
                         bool edge_weights) {
  PassMemory memory = perceptron.pass_memory();
  memory.graph = GraphUse::kPattern;
  memory.self_loops = self_loops;
  memory.kept_per_node += (k + 2) * columns;
  memory.moment_per_node = std::max(memory.moment_per_node, 4 * columns);
  if (edge_weights) memory.per_entry = PassMemory::kLearnedValues;
  return memory;
}

}  // namespace qw
