// What is no part of a matrix is refused.
#include "ops/part_products.h"

#include <gmock/gmock.h>

#include "qw/ops/chebyshev_filter.h"
#include "qw/ops/feature_norm.h"
#include "support/sparse.h"
#include "support/support.h"

namespace qw {
namespace {

using test::refusal;
using testing::HasSubstr;

// Of a part that is alone.
class Nobody : public RowExchange {
 public:
  at::Tensor beside(const at::Tensor& own) const override { return own; }
  at::Tensor added_back(const at::Tensor& all) const override { return all; }
  at::Tensor total(const at::Tensor& mine) const override { return mine; }
};

// A path of three nodes.
SparsePattern path() {
  const at::Tensor offsets = at::tensor({0, 1, 3, 4}, at::kLong),
                   columns = at::tensor({1, 0, 2, 1}, at::kInt);
  SparsePattern pattern{offsets, columns, offsets, columns, at::empty({0}, at::kLong)};
  pattern.others = std::make_shared<Nobody>();
  pattern.transposed_values = at::ones({4});
  return pattern;
}

TEST(PartProducts, AloneAreThoseOfTheMatrix) {
  const at::Tensor x = at::randn({3, 2}), values = at::ones({4}), coefficients = at::randn({3});
  SparsePattern whole = path();
  whole.others = nullptr;
  EXPECT_TRUE(spmm(path(), values, x, x).equal(spmm(whole, values, x, x)));
  EXPECT_TRUE(chebyshev_filter(path(), values, coefficients, x)
                  .equal(chebyshev_filter(whole, values, coefficients, x)));
}

TEST(PartProducts, RefuseWhatDoesNotFit) {
  const at::Tensor values = at::ones({4});
  EXPECT_THAT(refusal([&] {
                spmm(path(), at::ones({4}).requires_grad_(), at::ones({3, 2}));
              }),
              HasSubstr("qw::spmm: values beside those of a transpose are constants"));
  EXPECT_THAT(refusal([&] {
                spmm(path(), values, at::ones({2, 2}));
              }),
              HasSubstr("qw::spmm: the part has 3 rows, its transpose 3, and 2 were given"));
  EXPECT_THAT(refusal([&] { chebyshev_filter(path(), values, at::ones({2}), at::ones({3})); }),
              HasSubstr("qw::chebyshev_filter: own rows must be [R, C], got [3]"));
  SparsePattern short_of_values = path();
  short_of_values.transposed_values = at::ones({3});
  EXPECT_THAT(refusal([&] {
                spmm(short_of_values, values, at::ones({3, 2}));
              }),
              HasSubstr("qw::spmm: every entry of the transpose needs a value"));
  SparsePattern numbered = path();
  numbered.others = nullptr;
  numbered.entry_numbers = at::zeros({3}, at::kLong);
  EXPECT_THAT(
      refusal([&] {
        spmm(numbered, values, at::ones({3, 2}));
      }),
      HasSubstr(
          "entry_numbers must be [4] of Long where the columns are, contiguous; got [3] of Long on cpu"));
  EXPECT_THAT(refusal([&] {
                batch_norm_of_parts(path().others, at::ones({1, 2}), at::ones({2}), at::ones({2}),
                                    at::zeros({2}), at::ones({2}));
              }),
              HasSubstr("qw::batch_norm: x must have two rows at least in training, got 1"));
}

}  // namespace
}  // namespace qw
