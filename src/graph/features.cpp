#include "qw/graph/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kGrain = 256;

void check_rows(int64_t columns, const std::vector<int64_t>& offsets, const std::vector<int32_t>& indices,
                const std::vector<float>& values) {
  if (columns < 0 || columns > std::numeric_limits<int32_t>::max()) {
    fail(fmt::format("features have 0 to {} columns, not {}", std::numeric_limits<int32_t>::max(), columns));
  }
  if (indices.size() != values.size() || offsets.empty() || offsets.front() != 0 ||
      offsets.back() != static_cast<int64_t>(indices.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    fail(fmt::format("sparse features are inconsistent: {} indices, {} values, row offsets end at {}",
                     indices.size(), values.size(), offsets.empty() ? 0 : offsets.back()));
  }
  for (const int32_t index : indices) {
    if (index < 0 || index >= columns) {
      fail(fmt::format("feature column {} is outside 0 to {}", index, columns - 1));
    }
  }
}

// Every row strictly ascending and free of zeros: what most files hold already.
bool is_canonical(const std::vector<int64_t>& offsets, const std::vector<int32_t>& indices,
                  const std::vector<float>& values) {
  std::atomic<bool> canonical{true};
  parallel_for(static_cast<int64_t>(offsets.size()) - 1, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) {
        const bool ascends = at == offsets[row] || indices[at - 1] < indices[at];
        if (!ascends || values[at] == 0.0f) canonical.store(false, std::memory_order_relaxed);
      }
    }
  });
  return canonical;
}

// Sorts each row by index, sums equal indices, drops zeros; in place.
void canonicalise(std::vector<int64_t>& offsets, std::vector<int32_t>& indices, std::vector<float>& values) {
  if (is_canonical(offsets, indices, values)) return;
  int64_t kept = 0;
  std::vector<std::pair<int32_t, float>> row;
  for (size_t r = 0; r + 1 < offsets.size(); ++r) {
    row.clear();
    for (int64_t at = offsets[r]; at < offsets[r + 1]; ++at) row.emplace_back(indices[at], values[at]);
    const auto by_index = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(row.begin(), row.end(), by_index)) std::stable_sort(row.begin(), row.end(), by_index);
    offsets[r] = kept;
    for (size_t k = 0; k < row.size();) {
      float sum = row[k].second;
      const int32_t index = row[k].first;
      for (++k; k < row.size() && row[k].first == index; ++k) sum += row[k].second;
      if (sum == 0.0f) continue;
      indices[kept] = index;
      values[kept++] = sum;
    }
  }
  offsets.back() = kept;
  indices.resize(kept);
  values.resize(kept);
}

int64_t count_nonzeros(const std::vector<float>& values) {
  std::vector<int64_t> counts(values.size() / (1 << 20) + 1, 0);
  parallel_for(static_cast<int64_t>(counts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const auto first = values.begin() + (block << 20);
      const auto last = values.begin() + std::min<int64_t>(values.size(), (block + 1) << 20);
      counts[block] = (last - first) - std::count(first, last, 0.0f);
    }
  });
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

bool prefers_sparse(int64_t nonzeros, int64_t rows, int64_t columns) {
  return static_cast<double>(nonzeros) <
         kSparseDensity * static_cast<double>(rows) * static_cast<double>(columns);
}

int64_t Features::nonzeros() const {
  return sparse ? static_cast<int64_t>(values.size()) : count_nonzeros(dense);
}

Features features_from_dense(int64_t rows, int64_t columns, std::vector<float> values) {
  QW_ASSERT(static_cast<int64_t>(values.size()) == rows * columns);
  Features features;
  features.rows = rows;
  features.columns = columns;
  const int64_t nonzeros = count_nonzeros(values);
  features.sparse = prefers_sparse(nonzeros, rows, columns);
  if (!features.sparse) {
    features.dense = std::move(values);
    return features;
  }
  features.offsets.assign(rows + 1, 0);
  const auto row_begin = [&](int64_t row) { return values.begin() + row * columns; };
  parallel_for(rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      features.offsets[row + 1] = columns - std::count(row_begin(row), row_begin(row + 1), 0.0f);
    }
  });
  std::partial_sum(features.offsets.begin(), features.offsets.end(), features.offsets.begin());
  features.indices.resize(nonzeros);
  features.values.resize(nonzeros);
  parallel_for(rows, kGrain, [&](int64_t begin, int64_t end) {
    int64_t at = features.offsets[begin];
    for (int64_t row = begin; row < end; ++row) {
      const float* source = values.data() + row * columns;
      for (int64_t column = 0; column < columns; ++column) {
        if (source[column] == 0.0f) continue;
        features.indices[at] = static_cast<int32_t>(column);
        features.values[at++] = source[column];
      }
    }
  });
  return features;
}

Features features_from_rows(int64_t columns, std::vector<int64_t> offsets, std::vector<int32_t> indices,
                            std::vector<float> values) {
  check_rows(columns, offsets, indices, values);
  canonicalise(offsets, indices, values);
  Features features;
  features.rows = static_cast<int64_t>(offsets.size()) - 1;
  features.columns = columns;
  features.sparse = prefers_sparse(static_cast<int64_t>(values.size()), features.rows, columns);
  if (features.sparse) {
    features.offsets = std::move(offsets);
    features.indices = std::move(indices);
    features.values = std::move(values);
    return features;
  }
  features.dense.assign(features.rows * columns, 0.0f);
  parallel_for(features.rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) {
        features.dense[row * columns + indices[at]] = values[at];
      }
    }
  });
  return features;
}

Features row_normalised(Features features) {
  parallel_for(features.rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* first = features.sparse ? features.values.data() + features.offsets[row]
                                     : features.dense.data() + row * features.columns;
      const int64_t count =
          features.sparse ? features.offsets[row + 1] - features.offsets[row] : features.columns;
      const double sum = std::accumulate(first, first + count, 0.0);
      const double divisor = sum < 1.0 ? 1.0 : sum;
      for (int64_t k = 0; k < count; ++k) first[k] = static_cast<float>(first[k] / divisor);
    }
  });
  return features;
}

}  // namespace qw
