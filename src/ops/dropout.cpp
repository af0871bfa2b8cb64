#include "qw/ops/dropout.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "ops/dropout_parts.h"

namespace qw {
namespace ops {
namespace {

void check_word(const char* name, int64_t value) {
  TORCH_CHECK(value >= 0 && value <= UINT32_MAX, "qw::dropout: ", name, " must be in [0, 2^32), got ", value);
}

}  // namespace

void check_dropout(const at::Tensor& values, double p, const DropoutKey& key) {
  TORCH_CHECK(values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble,
              "qw::dropout: values must be float32 or float64, got ", values.scalar_type());
  TORCH_CHECK(p >= 0.0 && p < 1.0, "qw::dropout: p must be in [0, 1), got ", p);
  check_word("epoch", key.epoch);
  check_word("layer", key.layer);
}

at::Tensor dropout_operator(const at::Tensor& values, double p, const DropoutKey& key) {
  using Signature = at::Tensor(const at::Tensor&, double, int64_t, int64_t, int64_t);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("qw::dropout", "").typed<Signature>();
  return op.call(values, p, key.seed, key.epoch, key.layer);
}

}  // namespace ops

at::Tensor dropout(const at::Tensor& values, double p, const DropoutKey& key) {
  if (p != 0.0) return ops::dropout_operator(values, p, key);
  ops::check_dropout(values, p, key);
  return values;
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("dropout(Tensor values, float p, int seed, int epoch, int layer) -> Tensor");
}
