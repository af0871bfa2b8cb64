#include "ops/labelled_nodes.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

#include "ops/index_checks.h"
#include "ops/seen_tensor.h"

namespace qw::ops {
namespace {

using at::Tensor;

struct Question {
  const char* op;
  Divergence kind;
  const Tensor& predictions;
  const Tensor& labels;
  const OptionalTensor& mask;

  int64_t nodes() const { return predictions.size(0); }
  int64_t columns() const { return predictions.size(1); }
  bool by_class() const { return kind == Divergence::kSoftmax && !labels.is_floating_point(); }
};

void check_mask(const Question& asked) {
  if (!asked.mask.has_value()) return;
  const Tensor& mask = *asked.mask;
  TORCH_CHECK(mask.dim() == 1 && mask.device() == asked.predictions.device() &&
                  (mask.scalar_type() == at::kBool ? mask.size(0) == asked.nodes()
                                                   : at::isIntegralType(mask.scalar_type(), false)),
              asked.op, ": mask must be [", asked.nodes(), "] of bool, or numbers of nodes, on ",
              asked.predictions.device(), ", got ", mask.sizes(), " of ", mask.scalar_type(), " on ",
              mask.device());
}

void check(const Question& asked) {
  const Tensor &labels = asked.labels, &predictions = asked.predictions;
  TORCH_CHECK(predictions.dim() == 2, asked.op, ": predictions must be [N, C], got ", predictions.sizes());
  TORCH_CHECK(labels.device() == predictions.device(), asked.op, ": labels are on ", labels.device(),
              ", the predictions on ", predictions.device());
  if (asked.by_class()) {
    TORCH_CHECK(labels.dim() == 1 && labels.size(0) == asked.nodes() && labels.scalar_type() != at::kBool &&
                    at::isIntegralType(labels.scalar_type(), false),
                asked.op, ": labels must be [", asked.nodes(), "] of integers, a class for each node, got ",
                labels.sizes(), " of ", labels.scalar_type());
    return check_mask(asked);
  }
  const bool one_column = labels.dim() == 1 && asked.columns() == 1;
  TORCH_CHECK((one_column || (labels.dim() == 2 && labels.size(1) == asked.columns())) &&
                  labels.size(0) == asked.nodes() && labels.scalar_type() == predictions.scalar_type(),
              asked.op, ": labels must be [", asked.nodes(), ", ", asked.columns(), "] of ",
              predictions.scalar_type(), ", got ", labels.sizes(), " of ", labels.scalar_type());
  check_mask(asked);
}

Tensor known_rows(const Question& asked) {
  if (asked.by_class()) return asked.labels >= 0;
  return asked.labels.view({asked.nodes(), -1}).isnan().logical_not().any(1);
}

// Int64.
Tensor chosen_nodes(const Question& asked) {
  if (!asked.mask.has_value()) return known_rows(asked).nonzero().flatten();
  const Tensor& mask = *asked.mask;
  if (mask.scalar_type() == at::kBool) return mask.nonzero().flatten();
  Tensor nodes = mask.to(at::kLong).contiguous();
  check_entries(asked.op, "mask", nodes, 0, asked.nodes());
  const int64_t different = std::get<0>(at::_unique(nodes)).numel();
  TORCH_CHECK(different == nodes.numel(), asked.op, ": mask must name no node twice, got ", nodes.numel(),
              " numbers of ", different, " nodes");
  return nodes;
}

Tensor classes_of(const Question& asked, const Tensor& nodes) {
  const Tensor classes = asked.labels.index_select(0, nodes).to(at::kLong);
  const Tensor bad = ((classes < 0).logical_or(classes >= asked.columns())).nonzero().flatten();
  if (bad.numel() == 0) return classes.to(at::kInt);
  const Tensor first = bad.narrow(0, 0, 1);
  TORCH_CHECK(false, asked.op, ": labels must be in [0, ", asked.columns(), ") where the mask is, got ",
              classes.index_select(0, first).item<int64_t>(), " at node ",
              nodes.index_select(0, first).item<int64_t>());
}

LabelTensors find(const Question& asked) {
  const Tensor nodes = chosen_nodes(asked);
  LabelTensors found;
  found.nodes = nodes.to(at::kInt);
  if (asked.by_class()) {
    found.classes = classes_of(asked, nodes);
    found.known = nodes.numel();
    return found;
  }
  found.targets = asked.labels.view({asked.nodes(), -1}).index_select(0, nodes).detach();
  found.known = found.targets.isnan().logical_not().sum().item<int64_t>();
  if (asked.kind == Divergence::kSoftmax) found.known /= std::max<int64_t>(1, asked.columns());
  return found;
}

struct Answer {
  Divergence kind;
  int64_t columns;
  at::ScalarType type;
  SeenTensor labels, mask;
  LabelTensors found;
};

constexpr size_t kMostAnswers = 8;
thread_local std::vector<Answer> answers;  // the latest last

}  // namespace

void check_labels(const char* op, Divergence kind, const Tensor& predictions, const Tensor& labels,
                  const OptionalTensor& mask) {
  check({op, kind, predictions, labels, mask});
}

LabelTensors labelled_nodes(const char* op, Divergence kind, const Tensor& predictions, const Tensor& labels,
                            const OptionalTensor& mask) {
  const Question asked{op, kind, predictions, labels, mask};
  check(asked);
  const auto same = [&](const Answer& answer) {
    return answer.kind == kind && answer.columns == asked.columns() &&
           answer.type == predictions.scalar_type() && answer.labels.is(labels) &&
           answer.mask.is(mask.value_or(Tensor()));
  };
  const auto found = std::ranges::find_if(answers, same);
  if (found != answers.end()) {
    std::rotate(found, found + 1, answers.end());
    return answers.back().found;
  }
  LabelTensors made = find(asked);
  if (answers.size() == kMostAnswers) answers.erase(answers.begin());
  answers.push_back({kind, asked.columns(), predictions.scalar_type(), SeenTensor(labels),
                     SeenTensor(mask.value_or(Tensor())), made});
  return made;
}

}  // namespace qw::ops
