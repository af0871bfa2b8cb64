// What parts and halo are for: a network over a graph in parts has the values and gradients of the whole
// graph, and the same bits for any number of processes.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "comm/group.h"
#include "comm/halo.h"
#include "comm/parts.h"
#include "qw/core/random.h"
#include "support/support.h"

namespace qw {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kNodes = 60, kInputs = 5, kHidden = 8, kOutputs = 3;
constexpr int kParts = 4;

at::Tensor random_matrix(int64_t rows, int64_t columns, uint64_t stream) {
  const RandomStream random(7, stream);
  const at::Tensor result = at::empty({rows, columns}, at::kDouble);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data_ptr<double>()[i] = 2 * random.uniform(static_cast<uint64_t>(i)) - 1;
  return result;
}

// Symmetric, with a tenth of its entries and the diagonal.
at::Tensor random_adjacency() {
  const at::Tensor half = random_matrix(kNodes, kNodes, 1).triu(1);
  const at::Tensor some = half * (half.abs() > 0.8).to(at::kDouble);
  return some + some.t() + at::eye(kNodes, at::kDouble);
}

// The rows of a part in the matrix, with columns by own rows and halo; entries stand in the order of the
// nodes' numbers in the whole, so that a row is added in one order whoever has it.
struct PartMatrix {
  struct Entry {
    int64_t row, column;
    double value;
  };
  int64_t begin = 0, end = 0;
  std::vector<Entry> entries;
  HaloPlan plan;

  PartMatrix(const at::Tensor& matrix, int part) {
    const auto first = [](int of) { return of * kNodes / kParts; };
    const auto owner = [&](int64_t node) {
      int of = 0;
      while (first(of + 1) <= node) ++of;
      return of;
    };
    begin = first(part);
    end = first(part + 1);
    plan.own = end - begin;
    plan.sent.assign(kParts, 0);
    plan.received.assign(kParts, 0);
    const auto* value = matrix.data_ptr<double>();
    std::map<int64_t, int64_t> row_of;  // of the halo, ascending as parts are
    std::vector<int64_t> sent;
    const auto touches = [&](int64_t node, int64_t from, int64_t to) {
      for (int64_t other = from; other < to; ++other) {
        if (value[node * kNodes + other] != 0) return true;
      }
      return false;
    };
    for (int64_t node = 0; node < kNodes; ++node) {
      if ((node < begin || node >= end) && touches(node, begin, end)) {
        row_of.emplace(node, plan.own + static_cast<int64_t>(row_of.size()));
        ++plan.received[owner(node)];
      }
    }
    for (int other = 0; other < kParts; ++other) {
      for (int64_t node = begin; other != part && node < end; ++node) {
        if (!touches(node, first(other), first(other + 1))) continue;
        sent.push_back(node - begin);
        ++plan.sent[other];
      }
    }
    plan.sent_rows = at::tensor(sent, at::kLong);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t column = 0; column < kNodes; ++column) {
        const double entry = value[row * kNodes + column];
        if (entry == 0) continue;
        const bool own = column >= begin && column < end;
        entries.push_back({row - begin, own ? column - begin : row_of.at(column), entry});
      }
    }
  }

  at::Tensor times(const at::Tensor& rows) const {
    const at::Tensor result = at::zeros({plan.own, rows.size(1)}, rows.options());
    const at::Tensor from = rows.contiguous();
    const int64_t width = rows.size(1);
    for (const Entry& entry : entries) {
      for (int64_t c = 0; c < width; ++c) {
        result.data_ptr<double>()[entry.row * width + c] +=
            entry.value * from.data_ptr<double>()[entry.column * width + c];
      }
    }
    return result;
  }
};

// A X, of which each part has its rows. The gradient is A^T G: own rows of a product too, which needs the
// halo's rows of G. The adjoint of fetching rows would add what others send in an order of its own.
class Propagate : public torch::autograd::Function<Propagate> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows, const PartMatrix* matrix,
                            const Halo* halo) {
    context->saved_data["matrix"] = reinterpret_cast<int64_t>(matrix);
    context->saved_data["halo"] = reinterpret_cast<int64_t>(halo);
    return matrix->times(halo->beside(rows));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto* matrix = reinterpret_cast<const PartMatrix*>(context->saved_data["matrix"].toInt());
    const auto* halo = reinterpret_cast<const Halo*>(context->saved_data["halo"].toInt());
    return {matrix->times(halo->beside(gradients[0])), at::Tensor(), at::Tensor()};
  }
};

struct Result {
  at::Tensor scores, first, second;  // the gradients of the two weights
};

// Every part has all weights; their gradients are gathered, and added in the order of parts.
Result of_part(Comm& comm, const at::Tensor& matrix) {
  const PartMatrix part(matrix, comm.rank());
  const Halo halo(comm, part.plan);
  const at::Tensor x = random_matrix(kNodes, kInputs, 2).narrow(0, part.begin, part.plan.own);
  const at::Tensor first = random_matrix(kInputs, kHidden, 3).requires_grad_();
  const at::Tensor second = random_matrix(kHidden, kOutputs, 4).requires_grad_();
  const at::Tensor hidden = at::relu(Propagate::apply(at::mm(x, first), &part, &halo));
  const at::Tensor scores = Propagate::apply(at::mm(hidden, second), &part, &halo);
  scores.backward(2 * scores.detach());
  const auto sum = [&](const at::Tensor& gradient) {
    const at::Tensor all = comm.gather(gradient.unsqueeze(0), std::vector<int64_t>(kParts, 1));
    at::Tensor total = all[0].clone();
    for (int other = 1; other < kParts; ++other) total.add_(all[other]);
    return total;
  };
  std::vector<int64_t> rows;
  for (int other = 0; other < kParts; ++other)
    rows.push_back((other + 1) * kNodes / kParts - other * kNodes / kParts);
  return {comm.gather(scores.detach(), rows), sum(first.grad()), sum(second.grad())};
}

Result on_processes(int processes, const at::Tensor& matrix) {
  Result result;
  std::mutex one_at_a_time;
  test::Group().run(processes, [&](Comm& comm) {
    run_parts(comm, kParts, [&](Comm& part) {
      Result of = of_part(part, matrix);
      const std::lock_guard<std::mutex> lock(one_at_a_time);
      if (!result.scores.defined()) result = of;
      EXPECT_TRUE(of.first.equal(result.first) && of.second.equal(result.second));
    });
  });
  return result;
}

TEST(PropagationOverParts, IsThatOfTheWholeForAnyNumberOfProcesses) {
  const at::Tensor matrix = random_adjacency();
  const at::Tensor first = random_matrix(kInputs, kHidden, 3).requires_grad_();
  const at::Tensor second = random_matrix(kHidden, kOutputs, 4).requires_grad_();
  const at::Tensor hidden = at::relu(at::mm(matrix, at::mm(random_matrix(kNodes, kInputs, 2), first)));
  const at::Tensor scores = at::mm(matrix, at::mm(hidden, second));
  scores.backward(2 * scores.detach());
  const Result one = on_processes(1, matrix);
  EXPECT_TRUE(at::allclose(one.scores, scores.detach(), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(one.first, first.grad(), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(one.second, second.grad(), 1e-12, 1e-12));
  for (const int processes : {2, 3, 4}) {
    const Result several = on_processes(processes, matrix);
    EXPECT_TRUE(several.scores.equal(one.scores)) << processes;
    EXPECT_TRUE(several.first.equal(one.first)) << processes;
    EXPECT_TRUE(several.second.equal(one.second)) << processes;
  }
}

}  // namespace
}  // namespace qw
