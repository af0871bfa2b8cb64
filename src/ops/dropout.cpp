#include "qw/ops/dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dropout.h"
#include "ops/backend.h"
#include "ops/dropout_parts.h"
#include "ops/work.h"

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

namespace {

at::Tensor dropout_backend(const at::Tensor& values, double p, int64_t seed, int64_t epoch, int64_t layer) {
  check_dropout(values, p, {seed, epoch, layer});
  const at::Tensor row_major = values.contiguous();
  at::Tensor result = at::empty(row_major.sizes(), row_major.options());
  record_work(row_major.numel(), row_major, result);
  const kernels::DropoutRule rule{p, static_cast<uint64_t>(seed), static_cast<uint32_t>(epoch),
                                  static_cast<uint32_t>(layer)};
  AT_DISPATCH_FLOATING_TYPES(row_major.scalar_type(), "qw::dropout", [&] {
    const scalar_t* from = row_major.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        row_major, [&] { kernels::dropout_cpu(rule, from, row_major.numel(), to); },
        [&](auto stream) {
          kernels::dropout_cuda(rule, draw_number(epoch), from, row_major.numel(), to, stream);
        });
  });
  return result;
}

at::Tensor dropout_meta(const at::Tensor& values, double p, int64_t seed, int64_t epoch, int64_t layer) {
  check_dropout(values, p, {seed, epoch, layer});
  return at::empty_symint(values.sym_sizes(), values.options());
}

}  // namespace

at::Tensor dropout_operator(const at::Tensor& values, double p, const DropoutKey& key) {
  return call<dropout_backend>("qw::dropout", values, p, key.seed, key.epoch, key.layer);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = M x X element by element, with a mask M of 0 and 1 / (1 - p) that depends on the key alone:
//   dL/dX = M x dL/dY,
// the operator itself on the gradient, and so differentiable again.
class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, double p,
                            const DropoutKey& key) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["p"] = p;
    context->saved_data["seed"] = key.seed;
    context->saved_data["epoch"] = key.epoch;
    context->saved_data["layer"] = key.layer;
    return dropout_operator(values, p, key);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const DropoutKey key{context->saved_data["seed"].toInt(), context->saved_data["epoch"].toInt(),
                         context->saved_data["layer"].toInt()};
    return {dropout(gradients[0], context->saved_data["p"].toDouble(), key), at::Tensor(), at::Tensor()};
  }
};

at::Tensor dropout_autograd(const at::Tensor& values, double p, int64_t seed, int64_t epoch, int64_t layer) {
  return Dropout::apply(values, p, DropoutKey{seed, epoch, layer});
}

}  // namespace

QW_BACKENDS(library) { library.impl("dropout", dropout_backend); }

QW_META(library) { library.impl("dropout", dropout_meta); }

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("dropout", dropout_autograd); }

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("dropout(Tensor values, float p, int seed=0, int epoch=0, int layer=0) -> Tensor");
}

namespace {

at::Tensor rows_dropped(const at::Tensor& values, const at::Tensor& begins, const at::Tensor& firsts,
                        double p, const DropoutKey& key) {
  const kernels::DropoutRule rule{p, static_cast<uint64_t>(key.seed), static_cast<uint32_t>(key.epoch),
                                  static_cast<uint32_t>(key.layer)};
  const at::Tensor row_major = values.contiguous();
  at::Tensor result = at::empty(row_major.sizes(), row_major.options());
  record_work(row_major.numel(), row_major, result);
  AT_DISPATCH_FLOATING_TYPES(row_major.scalar_type(), "qw::dropout", [&] {
    const auto *begin = begins.data_ptr<int64_t>(), *first = firsts.data_ptr<int64_t>();
    const scalar_t* from = row_major.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        row_major, [&] { kernels::dropout_rows_cpu(rule, begin, first, firsts.size(0), from, to); },
        [&](auto stream) {
          kernels::dropout_rows_cuda(rule, draw_number(key.epoch), begin, first, firsts.size(0), from, to,
                                     stream);
        });
  });
  return result;
}

// As Dropout, of rows.
class DropoutOfRows : public torch::autograd::Function<DropoutOfRows> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& begins,
                            const at::Tensor& firsts, double p, const DropoutKey& key) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["p"] = p;
    context->saved_data["key"] = std::vector<int64_t>{key.seed, key.epoch, key.layer};
    context->save_for_backward({begins, firsts});
    return rows_dropped(values, begins, firsts, p, key);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<int64_t> key = context->saved_data["key"].toIntVector();
    return {dropout_of_rows(gradients[0], saved[0], saved[1], context->saved_data["p"].toDouble(),
                            {key[0], key[1], key[2]}),
            at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace
}  // namespace ops

at::Tensor dropout_of_rows(const at::Tensor& values, const at::Tensor& begins, const at::Tensor& firsts,
                           double p, const DropoutKey& key) {
  ops::check_dropout(values, p, key);
  if (p == 0.0) return values;
  const int64_t rows = firsts.size(0);
  TORCH_CHECK(
      begins.device() == values.device() && firsts.device() == values.device() &&
          begins.size(0) == rows + 1 && begins.scalar_type() == at::kLong &&
          firsts.scalar_type() == at::kLong,
      "qw::dropout: rows of a longer list need begins [R + 1] and firsts [R] of Long, where they are");
  return ops::DropoutOfRows::apply(values, begins, firsts, p, key);
}

at::Tensor dropout(const at::Tensor& values, double p, const DropoutKey& key) {
  if (key.rows.defined()) {
    const int64_t count = key.rows.size(0), width = values.size(1);
    const at::Tensor begins = at::arange(0, (count + 1) * width, width, key.rows.options());
    return dropout_of_rows(values, begins, key.rows * width, p, key);
  }
  if (p != 0.0) return ops::dropout_operator(values, p, key);
  ops::check_dropout(values, p, key);
  return values;
}

}  // namespace qw
