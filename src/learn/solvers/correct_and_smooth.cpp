// Correct & Smooth (Huang et al., 2021) on top of any network: training and the choice of its epoch are those
// of ce. Then, with S = D^-1/2 A D^-1/2, the probabilities Z of the network are
//   corrected  E <- alpha S E + (1 - alpha) E_0,  E_0 = Y - Z at training nodes, 0 elsewhere;  Z' = Z + s E
//   smoothed   G <- alpha S G + (1 - alpha) G_0,  G_0 = Y at training nodes, Z' elsewhere.
// As in the published code G is cut to [0, 1] after each step. Its two ways to correct differ in more than
// the scale: with s_i = sigma / |E_i|_1, sigma the mean of |E_0|_1 over training nodes, E is cut to [-1, 1];
// with a given s, it is set back to E_0 at training nodes.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "learn/propagation.h"
#include "qw/core/error.h"
#include "qw/learn/learner.h"

namespace qw {
namespace {

constexpr double kLargestScale = 1000;  // above, the published code takes 1

// Summed in one order, whatever the number of threads.
double sum_of_sizes(const at::Tensor& matrix) {
  const at::Tensor rows = matrix.cpu();
  double sum = 0;
  for (int64_t i = 0; i < rows.numel(); ++i) sum += std::abs(rows.data_ptr<double>()[i]);
  return sum;
}

at::Tensor correction(const PropagationMatrix& matrix, const at::Tensor& errors, const at::Tensor& is_known,
                      const FinishInput& input) {
  const double alpha = input.options.correct_alpha, scale = input.options.correct_scale;
  const int64_t steps = input.options.propagation_steps;
  if (scale > 0) {
    const auto set_back = [&](const at::Tensor& x) { return at::where(is_known, errors, x); };
    return spread(matrix, errors, alpha, steps, set_back) * scale;
  }
  const auto cut = [](const at::Tensor& x) { return at::clamp(x, -1.0, 1.0); };
  const at::Tensor reached = spread(matrix, errors, alpha, steps, cut);
  const double typical = sum_of_sizes(errors) / static_cast<double>(input.labels.nodes.size(0));
  const at::Tensor scales = typical / reached.abs().sum(1, true);
  return reached * at::where(scales <= kLargestScale, scales, 1.0);
}

Scores corrected_and_smoothed(const Scores& scores, const FinishInput& input) {
  const at::Tensor predicted = to_label_space(input.kind, scores.network.to(at::kDouble));
  const LabelRows labels = label_rows(input.labels, predicted.size(0), predicted.size(1));
  const at::Tensor is_known = labels.known > 0;
  const PropagationMatrix matrix = input.graph.normalised();
  const at::Tensor errors = at::where(is_known, labels.values - predicted, 0.0);
  const at::Tensor corrected = predicted + correction(matrix, errors, is_known, input);
  const at::Tensor smoothed =
      spread(matrix, at::where(is_known, labels.values, corrected), input.options.smooth_alpha,
             input.options.propagation_steps, [](const at::Tensor& x) { return at::clamp(x, 0.0, 1.0); });
  const at::ScalarType type = scores.network.scalar_type();
  return {predicted.to(type), (smoothed - predicted).to(type), true};
}

std::unique_ptr<Learner> make(const LearnInput& input) {
  if (input.targets.task == Task::kRegression)
    fail_usage("solver correct-and-smooth corrects probabilities; the target has values, use mse");
  if (input.options.edge_weights)
    fail_usage("--edge-weights need a flow, which solver correct-and-smooth has not");
  return find_solver("ce").make(input);
}

const SolverRegistration registration(
    {.name = "correct-and-smooth",
     .summary = "as ce; at the end errors and labels of training nodes are spread over the edges",
     .make = make,
     .finish = corrected_and_smoothed,
     .options = {"propagation_steps", "correct_alpha", "correct_scale", "smooth_alpha"}});

}  // namespace
}  // namespace qw
