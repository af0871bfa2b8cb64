#include "baseline/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kGrain = 1 << 14;  // multiplications worth a thread

int64_t grain_of(int64_t work_each) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work_each)); }

// Mean, spread and range of a column.
struct Column {
  double sum = 0, squares = 0;
  float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();

  void see(float value) {
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // By the range: rounding gives a constant column a deviation that is not quite 0.
  double scale(int64_t rows) const {
    return least < most ? 1 / std::sqrt(squares / static_cast<double>(rows)) : 0.0;
  }
};

void add_row(double* sums, double factor, const double* row, int64_t width) {
  for (int64_t c = 0; c < width; ++c) sums[c] += factor * row[c];
}

}  // namespace

Design::Design(const Features& features, std::vector<NodeId> rows)
    : features_(features), nodes_(std::move(rows)), centre_(features.columns), scale_(features.columns) {
  if (features_.sparse) {
    transpose_sparse();
    measure_sparse();
  } else {
    measure_dense();
  }
  for (int64_t j = 0; j < columns(); ++j) {
    if (std::isfinite(centre_[j]) && std::isfinite(scale_[j])) continue;
    fail(fmt::format("linear model: feature {} of a training node is not a finite number", j));
  }
}

void Design::measure_dense() {
  parallel_for(columns(), grain_of(rows()), [&](int64_t begin, int64_t end) {
    std::vector<Column> found(end - begin);
    const auto each = [&](const auto& visit) {
      for (const NodeId node : nodes_) {
        const float* row = features_.dense.data() + static_cast<int64_t>(node) * columns();
        for (int64_t j = begin; j < end; ++j) visit(j, row[j]);
      }
    };
    each([&](int64_t j, float value) { found[j - begin].see(value); });
    for (int64_t j = begin; j < end; ++j) centre_[j] = found[j - begin].sum / static_cast<double>(rows());
    each([&](int64_t j, float value) {
      found[j - begin].squares += (value - centre_[j]) * (value - centre_[j]);
    });
    for (int64_t j = begin; j < end; ++j) scale_[j] = found[j - begin].scale(rows());
  });
}

void Design::measure_sparse() {
  parallel_rows(offsets_, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      Column column;
      for (int64_t at = offsets_[j]; at < offsets_[j + 1]; ++at) column.see(entries_[at]);
      const int64_t zeros = rows() - (offsets_[j + 1] - offsets_[j]);
      if (zeros > 0) column.see(0);
      const double mean = column.sum / static_cast<double>(rows());
      column.squares = static_cast<double>(zeros) * mean * mean;
      for (int64_t at = offsets_[j]; at < offsets_[j + 1]; ++at) {
        column.squares += (entries_[at] - mean) * (entries_[at] - mean);
      }
      scale_[j] = std::isfinite(mean) ? column.scale(rows()) : mean;
    }
  });
}

void Design::transpose_sparse() {
  offsets_.assign(columns() + 1, 0);
  const auto each = [&](const auto& visit) {
    for (int64_t i = 0; i < rows(); ++i) {
      const int64_t end = features_.offsets[nodes_[i] + 1];
      for (int64_t at = features_.offsets[nodes_[i]]; at < end; ++at) visit(i, features_.indices[at], at);
    }
  };
  each([&](int64_t, int32_t column, int64_t) { ++offsets_[column + 1]; });
  for (int64_t j = 0; j < columns(); ++j) offsets_[j + 1] += offsets_[j];
  std::vector<int64_t> next(offsets_.begin(), offsets_.end() - 1);
  entry_rows_.resize(offsets_.back());
  entries_.resize(offsets_.back());
  each([&](int64_t i, int32_t column, int64_t at) {
    entry_rows_[next[column]] = static_cast<int32_t>(i);
    entries_[next[column]++] = features_.values[at];
  });
}

std::vector<double> Design::times(const std::vector<double>& parameters, int64_t width) const {
  std::vector<double> scaled(parameters), out(rows() * width);
  for (int64_t j = 0; j < columns(); ++j) {
    for (int64_t c = 0; c < width; ++c) scaled[j * width + c] *= scale_[j];
  }
  const double* intercept = &scaled[columns() * width];
  const int64_t each =
      features_.sparse ? static_cast<int64_t>(entries_.size()) / std::max<int64_t>(1, rows()) : columns();
  parallel_for(rows(), grain_of(each * width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* sums = &out[i * width];
      std::copy(intercept, intercept + width, sums);
      const int64_t node = nodes_[i];
      if (features_.sparse) {
        for (int64_t at = features_.offsets[node]; at < features_.offsets[node + 1]; ++at) {
          add_row(sums, features_.values[at], &scaled[features_.indices[at] * width], width);
        }
      } else {
        const float* row = features_.dense.data() + node * columns();
        for (int64_t j = 0; j < columns(); ++j) add_row(sums, row[j] - centre_[j], &scaled[j * width], width);
      }
    }
  });
  return out;
}

std::vector<double> Design::transposed_times(const std::vector<double>& residuals, int64_t width) const {
  std::vector<double> sums((columns() + 1) * width);
  if (features_.sparse) {
    transposed_sparse(residuals, width, sums);
  } else {
    transposed_dense(residuals, width, sums);
  }
  for (int64_t i = 0; i < rows(); ++i) add_row(&sums[columns() * width], 1.0, &residuals[i * width], width);
  return sums;
}

void Design::transposed_dense(const std::vector<double>& residuals, int64_t width,
                              std::vector<double>& sums) const {
  parallel_for(columns(), grain_of(rows() * width), [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows(); ++i) {
      const float* row = features_.dense.data() + static_cast<int64_t>(nodes_[i]) * columns();
      for (int64_t j = begin; j < end; ++j) {
        add_row(&sums[j * width], row[j] - centre_[j], &residuals[i * width], width);
      }
    }
    for (int64_t at = begin * width; at < end * width; ++at) sums[at] *= scale_[at / width];
  });
}

void Design::transposed_sparse(const std::vector<double>& residuals, int64_t width,
                               std::vector<double>& sums) const {
  parallel_rows(offsets_, grain_of(width), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t at = offsets_[j]; at < offsets_[j + 1]; ++at) {
        add_row(&sums[j * width], entries_[at], &residuals[entry_rows_[at] * width], width);
      }
    }
    for (int64_t at = begin * width; at < end * width; ++at) sums[at] *= scale_[at / width];
  });
}

std::vector<double> Design::unscaled(std::vector<double> parameters, int64_t width) const {
  for (int64_t j = 0; j < columns(); ++j) {
    for (int64_t c = 0; c < width; ++c) {
      double& weight = parameters[j * width + c];
      weight *= scale_[j];
      parameters[columns() * width + c] -= centre_[j] * weight;
    }
  }
  return parameters;
}

}  // namespace qw
