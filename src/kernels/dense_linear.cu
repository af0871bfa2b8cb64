#include "kernels/dense_linear.h"

#include <algorithm>

#include "kernels/column_sums.cuh"
#include "kernels/product_tile.cuh"

namespace qw::kernels {
namespace {

constexpr int64_t kFewestTerms = 64;     // of a chunk of a transposed product
constexpr int64_t kManyTerms = 1 << 15;  // that keep a GPU busy in large tiles
constexpr int64_t kSomeTerms = 1 << 10;  // or rows: ten trainings at once keep it busy in tiles of 64

// Where there is work for large tiles:
using Square128 = TileShape<128, 128, 8, 8, 8, 1>;
using Tall64 = TileShape<128, 64, 16, 8, 4, 1>;
template <class T>
using Square64 =
    std::conditional_t<sizeof(T) == 4, TileShape<64, 64, 16, 8, 4, 1>, TileShape<64, 64, 16, 4, 4, 1>>;
using Tall16 = TileShape<128, 16, 32, 4, 8, 2>;
using Tall8 = TileShape<128, 8, 32, 4, 8, 4>;
// Where one training leaves the GPU half idle and ten do not: 2,708 rows, 64 x 64, take 5.2 us alone and 10.3
// for ten; in the tiles below these, 3.5 and 16.2. With 7 columns: 2.5 and 4.6; 2.0 and 7.3.
using Narrow64 = TileShape<64, 8, 32, 4, 4, 4>;
// And where more blocks matter more:
using Few = TileShape<32, 32, 32, 4, 4, 4>;
template <class T>
using FewNarrow = TileShape<32, 8, sizeof(T) == 4 ? 64 : 32, 4, 4, 8>;

enum class Amount { kFew, kSome, kMany };  // of rows, or of terms of a transposed product

// Calls use(shape) with the tiles for a product.
template <class T, class Use>
auto with_shape(Amount amount, int64_t rows, int64_t columns, const Use& use) {
  const bool many = amount == Amount::kMany;
  if constexpr (sizeof(T) == 4) {
    if (many && columns <= 8) return use(Tall8());
    if (many && columns <= 16) return use(Tall16());
    if (many && rows <= 64) return use(Square64<T>());
    if (many && columns <= 64) return use(Tall64());
    if (many) return use(Square128());
    if (amount == Amount::kSome && columns <= 8) return use(Narrow64());
    if (amount == Amount::kSome && columns > 32) return use(Square64<T>());
  } else {
    if (many && columns > 8) return use(Square64<T>());
  }
  return columns <= 8 ? use(FewNarrow<T>()) : use(Few());
}

Amount amount_of_terms(int64_t depth) {
  return depth >= kManyTerms ? Amount::kMany : depth >= kSomeTerms ? Amount::kSome : Amount::kFew;
}

struct Chunks {
  int64_t size, count;

  template <class Shape>
  Chunks(int64_t rows, int64_t columns, int64_t depth, Shape) {
    const int64_t tiles =
        std::max<int64_t>(1, blocks_for(rows, Shape::kRows) * blocks_for(columns, Shape::kColumns));
    const int64_t most = std::max<int64_t>(1, 4 * processors() / tiles);
    const int64_t wanted = std::clamp<int64_t>(blocks_for(depth, kFewestTerms), 1, most);
    size = blocks_for(std::max<int64_t>(1, blocks_for(depth, wanted)), Shape::kDepth) * Shape::kDepth;
    count = std::max<int64_t>(1, blocks_for(depth, size));
  }
};

template <bool kTransposed, class T, class Shape>
void launch_tiles(const ProductView<T>& view, int64_t depth_per_chunk, int64_t chunks, T* result, Shape,
                  Stream stream) {
  const int64_t row_tiles = blocks_for(view.rows, Shape::kRows);
  const int64_t column_tiles = blocks_for(view.columns, Shape::kColumns);
  launch(ProductTile<T, Shape, kTransposed>{view, depth_per_chunk, static_cast<uint32_t>(row_tiles),
                                            static_cast<uint32_t>(column_tiles),
                                            view.left_stride % 4 == 0 && aligned_for_quads(view.left),
                                            view.columns % 4 == 0 && aligned_for_quads(result), result},
         row_tiles * column_tiles * chunks, stream);
}

}  // namespace

template <class T>
void product_cuda(const ProductView<T>& view, T* result, Stream stream) {
  const int64_t width = view.columns <= 64 || sizeof(T) == 8 ? 64 : 128;
  const int64_t height = sizeof(T) == 8 ? 64 : 128;
  const bool many = blocks_for(view.rows, height) * blocks_for(view.columns, width) >= processors();
  with_shape<T>(many                      ? Amount::kMany
                : view.rows >= kSomeTerms ? Amount::kSome
                                          : Amount::kFew,
                view.rows, view.columns,
                [&](auto shape) { launch_tiles<false>(view, view.depth, 1, result, shape, stream); });
}

template <class T>
int64_t transposed_product_chunks(int64_t rows, int64_t columns, int64_t depth) {
  return with_shape<T>(amount_of_terms(depth), rows, columns,
                       [&](auto shape) { return Chunks(rows, columns, depth, shape).count; });
}

template <class T>
void transposed_product_cuda(const ProductView<T>& view, T* sums, T* result, Stream stream) {
  with_shape<T>(amount_of_terms(view.depth), view.rows, view.columns, [&](auto shape) {
    const Chunks chunks(view.rows, view.columns, view.depth, shape);
    launch_tiles<true>(view, chunks.size, chunks.count, chunks.count == 1 ? result : sums, shape, stream);
    if (chunks.count > 1) column_sums(sums, chunks.count, view.rows * view.columns, result, stream);
  });
}

template void product_cuda(const ProductView<float>&, float*, Stream);
template void product_cuda(const ProductView<double>&, double*, Stream);
template int64_t transposed_product_chunks<float>(int64_t, int64_t, int64_t);
template int64_t transposed_product_chunks<double>(int64_t, int64_t, int64_t);
template void transposed_product_cuda(const ProductView<float>&, float*, float*, Stream);
template void transposed_product_cuda(const ProductView<double>&, double*, double*, Stream);

}  // namespace qw::kernels
