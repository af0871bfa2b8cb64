#include "kernels/spmm.h"

#include "kernels/row_teams.cuh"
#include "kernels/row_windows.cuh"

namespace qw::kernels {
namespace {

template <class T>
struct CsrEntries : CsrView<T> {
  using Source = int32_t;

  template <int kCount>
  __device__ void read(const int64_t (&entry)[kCount], Source (&source)[kCount], T (&value)[kCount]) const {
    int64_t place[kCount];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      source[u] = this->columns[entry[u]];
      place[u] = entry[u];
    }
    if (this->order != nullptr) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) place[u] = this->order[entry[u]];
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) value[u] = this->values[place[u]];
  }
};

// The lanes of a group have the columns between them, and each entry has one group.
template <class T, int kVector>
struct SampledProducts {
  static constexpr int kThreads = kTeamThreads;
  static constexpr int kAtOnce = 4;
  const int64_t* offsets;
  const int32_t* columns;
  int64_t row_count;
  SampledTerms<T> sum;
  int64_t width;
  T* result;
  RowSplit rows;
  int lanes;

  __device__ void operator()() const {
    const auto length = [&](int64_t row) { return offsets[row + 1] - offsets[row]; };
    for_rows_of_block(rows, blockIdx.x, row_count, INT64_MAX, length,
                      [&](const auto& team, int64_t row) { products_of_row(team, row); });
  }

 private:
  template <class Team>
  __device__ void products_of_row(const Team& team, int64_t row) const {
    const int64_t end = row < 0 ? 0 : offsets[row + 1];
    const int64_t stride = team.size / lanes;
    int64_t k = row < 0 ? 0 : offsets[row] + team.rank / lanes;
    // Whole warps go on until all of their groups are done: they add up together.
    for (; __any_sync(kWholeWarp, k < end) != 0; k += kAtOnce * stride) {
      int64_t column[kAtOnce];
      T products[kAtOnce] = {};
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) column[u] = k + u * stride < end ? columns[k + u * stride] : -1;
      if (k < end) add_terms(row, column, products);
      combine_lanes(products, lanes, 1, Add{});
      if (team.rank % lanes != 0) continue;
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (column[u] < 0) continue;
        T* to = result + k + u * stride;
        *to = sum.accumulate ? *to + products[u] : products[u];
      }
    }
  }

  __device__ void add_terms(int64_t row, const int64_t (&column)[kAtOnce], T (&products)[kAtOnce]) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    for (int64_t term = 0; term < sum.terms; ++term) {
      T scale = term == 0 ? sum.first_scale : sum.scale;
      const T* left = sum.left + term * sum.left_size;
      if (term == sum.terms - 1) {
        if (sum.last_left != nullptr) left = sum.last_left;
        if (sum.last_times != nullptr) scale *= *sum.last_times;
      }
      const T* right = sum.right + term * sum.right_size;
      for (int64_t c = int64_t{lane} * kVector; c < width; c += lanes * kVector) {
        Pack<T, kVector> packs[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
          packs[u] = {};
          if (column[u] >= 0) packs[u] = load_pack<T, kVector>(right + column[u] * width + c);
        }
        const Pack<T, kVector> own = load_pack<T, kVector>(left + row * width + c);
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          const T scaled = scale * own.at[v];
#pragma unroll
          for (int u = 0; u < kAtOnce; ++u) products[u] += scaled * packs[u].at[v];
        }
      }
    }
  }
};

}  // namespace

template <class T>
void spmm_cuda(const CsrView<T>& matrix, int64_t entries, const T* dense, int64_t width, T* result,
               const DeviceUpdate<T>& update, Stream stream) {
  window_sums(CsrEntries<T>{matrix}, entries, dense, width, result, update, stream);
}

template <class T>
void sampled_products_cuda(const CsrView<T>& pattern, int64_t entries, const SampledTerms<T>& sum,
                           int64_t width, T* result, Stream stream) {
  constexpr int kWide = kWideVector<T>;
  if (entries == 0) return;
  const bool wide = width % kWide == 0 && sum.left_size % kWide == 0 && sum.right_size % kWide == 0 &&
                    is_aligned(sum.left) && is_aligned(sum.right) && is_aligned(sum.last_left);
  const int64_t packs = std::max<int64_t>(1, blocks_for(width, wide ? kWide : 1));
  const int lanes = std::min(kWarp, power_of_two_from(packs));
  const RowSplit rows = split_rows(pattern.rows, entries, lanes);
  const auto run = [&]<int kVector>() {
    launch(SampledProducts<T, kVector>{pattern.offsets, pattern.columns, pattern.rows, sum, width, result,
                                       rows, lanes},
           rows.blocks(pattern.rows), stream);
  };
  wide ? run.template operator()<kWide>() : run.template operator()<1>();
}

template void spmm_cuda(const CsrView<float>&, int64_t, const float*, int64_t, float*,
                        const DeviceUpdate<float>&, Stream);
template void spmm_cuda(const CsrView<double>&, int64_t, const double*, int64_t, double*,
                        const DeviceUpdate<double>&, Stream);
template void sampled_products_cuda(const CsrView<float>&, int64_t, const SampledTerms<float>&, int64_t,
                                    float*, Stream);
template void sampled_products_cuda(const CsrView<double>&, int64_t, const SampledTerms<double>&, int64_t,
                                    double*, Stream);

}  // namespace qw::kernels
