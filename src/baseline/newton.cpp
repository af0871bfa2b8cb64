#include "baseline/newton.h"

#include <algorithm>
#include <cmath>

#include "qw/core/parallel.h"
#include "qw/metrics/calibration.h"

namespace qw {
namespace {

using Vector = std::vector<double>;

constexpr double kGradient = 1e-9;  // of its size at zero: the minimum
constexpr int kMostSteps = 200;
constexpr int64_t kGrain = 1 << 12;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

void add(Vector& to, double factor, const Vector& what) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

// Calls body(row) for each row, rows shared out among threads.
template <class Body>
void each_row(const LinearProblem& problem, const Body& body) {
  parallel_for(problem.design.rows(), std::max<int64_t>(1, kGrain / problem.width),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) body(i);
               });
}

// What the model says of each entry: probabilities, or values.
Vector responses(const LinearProblem& problem, const Vector& logits) {
  if (problem.loss == LinearLoss::kSquared) return logits;
  return problem.loss == LinearLoss::kSoftmax ? softmax_rows(logits, problem.width) : sigmoids(logits);
}

double softmax_loss(const double* logits, const double* truth, int64_t width) {
  const double most = *std::max_element(logits, logits + width);
  double sum = 0, right = 0;
  for (int64_t c = 0; c < width; ++c) {
    sum += std::exp(logits[c] - most);
    right += truth[c] * logits[c];
  }
  return std::log(sum) + most - right;
}

double entry_loss(LinearLoss loss, double logit, double truth) {
  if (std::isnan(truth)) return 0;
  if (loss == LinearLoss::kSquared) return 0.5 * (logit - truth) * (logit - truth);
  return std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit))) - truth * logit;
}

// The parameters that are penalised: all but the last row.
size_t penalised(const LinearProblem& problem) { return problem.design.columns() * problem.width; }

double objective(const LinearProblem& problem, double strength, const Vector& parameters,
                 const Vector& logits) {
  Vector losses(problem.design.rows());
  each_row(problem, [&](int64_t i) {
    const int64_t begin = i * problem.width;
    if (problem.loss == LinearLoss::kSoftmax) {
      losses[i] = softmax_loss(&logits[begin], &problem.truth[begin], problem.width);
      return;
    }
    for (int64_t at = begin; at < begin + problem.width; ++at) {
      losses[i] += entry_loss(problem.loss, logits[at], problem.truth[at]);
    }
  });
  double sum = 0, squares = 0;
  for (const double loss : losses) sum += loss;
  for (size_t at = 0; at < penalised(problem); ++at) squares += parameters[at] * parameters[at];
  return sum + 0.5 * strength * squares;
}

void add_penalty(const LinearProblem& problem, double strength, const Vector& parameters, Vector& gradient) {
  for (size_t at = 0; at < penalised(problem); ++at) gradient[at] += strength * parameters[at];
}

Vector gradient_at(const LinearProblem& problem, double strength, const Vector& parameters,
                   const Vector& response) {
  Vector residuals(response);
  each_row(problem, [&](int64_t i) {
    for (int64_t at = i * problem.width; at < (i + 1) * problem.width; ++at) {
      residuals[at] = std::isnan(problem.truth[at]) ? 0.0 : response[at] - problem.truth[at];
    }
  });
  Vector gradient = problem.design.transposed_times(residuals, problem.width);
  add_penalty(problem, strength, parameters, gradient);
  return gradient;
}

Vector hessian_times(const LinearProblem& problem, double strength, const Vector& response,
                     const Vector& direction) {
  Vector change = problem.design.times(direction, problem.width);
  each_row(problem, [&](int64_t i) {
    const int64_t begin = i * problem.width, end = begin + problem.width;
    double mean = 0;
    if (problem.loss == LinearLoss::kSoftmax) {
      for (int64_t at = begin; at < end; ++at) mean += response[at] * change[at];
    }
    for (int64_t at = begin; at < end; ++at) {
      if (problem.loss == LinearLoss::kSoftmax) change[at] = response[at] * (change[at] - mean);
      if (problem.loss == LinearLoss::kBernoulli) change[at] *= response[at] * (1 - response[at]);
      if (std::isnan(problem.truth[at])) change[at] = 0;
    }
  });
  Vector product = problem.design.transposed_times(change, problem.width);
  add_penalty(problem, strength, direction, product);
  return product;
}

// Solves Hessian * direction = -gradient until the residual is `tolerance` of the gradient. Whatever it has
// when it stops is a direction of descent.
Vector newton_direction(const LinearProblem& problem, double strength, const Vector& response,
                        const Vector& gradient, double tolerance, const Deadline& deadline) {
  Vector direction(gradient.size()), residual(gradient.size());
  add(residual, -1.0, gradient);
  Vector search(residual);
  double squares = dot(residual, residual);
  const double enough = tolerance * tolerance * squares;
  const int64_t most = 100 + 10 * (problem.design.columns() + 1);
  for (int64_t step = 0; step < most && squares > enough && !deadline.passed(); ++step) {
    const Vector product = hessian_times(problem, strength, response, search);
    const double curvature = dot(search, product);
    if (!(curvature > 0)) break;
    const double length = squares / curvature;
    add(direction, length, search);
    add(residual, -length, product);
    const double before = squares;
    squares = dot(residual, residual);
    for (size_t i = 0; i < search.size(); ++i) search[i] = residual[i] + squares / before * search[i];
  }
  return direction;
}

// Takes the longest step of 1, 1/2, 1/4, .. that lowers the objective as it should; false when none does,
// which is rounding at the minimum.
bool take_step(const LinearProblem& problem, double strength, const Vector& gradient, const Vector& direction,
               Vector& parameters, Vector& logits) {
  const double before = objective(problem, strength, parameters, logits), slope = dot(gradient, direction);
  const double rounding = 1e-14 * std::abs(before);
  const Vector change = problem.design.times(direction, problem.width);
  double length = 1;
  for (int halving = 0; halving < 40; ++halving, length /= 2) {
    Vector there(parameters), logits_there(logits);
    add(there, length, direction);
    add(logits_there, length, change);
    const double after = objective(problem, strength, there, logits_there);
    if (!(after <= before + 1e-4 * length * slope + rounding)) continue;
    parameters = std::move(there);
    logits = std::move(logits_there);
    return true;
  }
  return false;
}

}  // namespace

bool minimise(const LinearProblem& problem, double strength, const Deadline& deadline, Vector& parameters) {
  const Vector zero(parameters.size());
  const Vector response_at_zero = responses(problem, Vector(problem.truth.size()));
  const double size_at_zero = norm(gradient_at(problem, strength, zero, response_at_zero));
  Vector logits = problem.design.times(parameters, problem.width);
  for (int step = 0; step < kMostSteps; ++step) {
    const Vector response = responses(problem, logits);
    const Vector gradient = gradient_at(problem, strength, parameters, response);
    const double size = norm(gradient);
    if (size <= kGradient * size_at_zero) return true;
    // A quadratic is solved in one step; else as exactly as the step before deserves.
    const double tolerance = problem.loss == LinearLoss::kSquared
                                 ? 0.1 * kGradient * size_at_zero / size
                                 : std::min(0.1, std::sqrt(size / size_at_zero));
    const Vector direction = newton_direction(problem, strength, response, gradient, tolerance, deadline);
    if (deadline.passed()) return false;
    if (!take_step(problem, strength, gradient, direction, parameters, logits)) return true;
  }
  return false;
}

}  // namespace qw
