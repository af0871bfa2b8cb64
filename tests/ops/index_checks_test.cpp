#include "ops/index_checks.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "ops/edge_values_parts.h"
#include "ops/spmm_parts.h"
#include "qw/graph/generators.h"
#include "qw/ops/divergence.h"
#include "qw/ops/edge_values.h"
#include "qw/ops/flow_step.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::on_device::incidence_tensors;
using test::on_device::sparse_matrix;
using test::on_device::tensor_of;

TEST(IndexChecks, SayWhatIsWrongAndWhere) {
  const auto entries = [](const at::Tensor& index) {
    return refusal([&] { ops::check_entries("op", "columns", index, 0, 3); });
  };
  EXPECT_EQ(entries(tensor_of(std::vector<int32_t>{0, 2, 1}, at::kInt)), "not refused");
  EXPECT_EQ(entries(tensor_of(std::vector<int32_t>{0, 2, 3}, at::kInt)),
            "op: columns must be in [0, 3), got 3 at place 2");
  EXPECT_EQ(entries(tensor_of(std::vector<int64_t>{-1, 2}, at::kLong)),
            "op: columns must be in [0, 3), got -1 at place 0");
  EXPECT_EQ(entries(at::empty({0}, at::kInt)), "not refused");
  const auto offsets = [](const std::vector<int64_t>& values) {
    return refusal([&] { ops::check_offsets("op", "offsets", tensor_of(values, at::kLong), 4); });
  };
  EXPECT_EQ(offsets({0, 1, 1, 4}), "not refused");
  EXPECT_EQ(offsets({1, 4}), "op: offsets must begin with 0 and end with 4, got 1 and 4");
  EXPECT_EQ(offsets({0, 5}), "op: offsets must begin with 0 and end with 4, got 0 and 5");
  EXPECT_EQ(offsets({0, 3, 2, 4}), "op: offsets must not fall, got 3 and then 2 at place 1");
}

// What was found right is looked at again once it has changed, or when its memory belongs to another tensor.
TEST(IndexChecks, ChangesAreSeen) {
  const auto refused = [](const at::Tensor& index, int64_t high) {
    return refusal([&] { ops::check_entries("op", "columns", index, 0, high); });
  };
  const at::Tensor index = tensor_of(std::vector<int32_t>{0, 2, 1}, at::kInt);
  for (int round = 0; round < 2; ++round) EXPECT_EQ(refused(index, 3), "not refused");
  EXPECT_EQ(refused(index, 2), "op: columns must be in [0, 2), got 2 at place 1");
  EXPECT_EQ(refused(index.narrow(0, 1, 2), 3), "not refused");
  index[0] = 7;
  EXPECT_EQ(refused(index, 3), "op: columns must be in [0, 3), got 7 at place 0");
  index[0] = 1;
  EXPECT_EQ(refused(index, 3), "not refused");
  for (int32_t value = 0; value < 200; ++value) {  // each where the one before was
    const at::Tensor other = tensor_of(std::vector<int32_t>{value}, at::kInt);
    EXPECT_EQ(refused(other, 100) == "not refused", value < 100);
  }
}

TEST(IndexChecks, NobodyCountsChangesOfInferenceTensors) {
  const c10::InferenceMode inference;
  const at::Tensor index = tensor_of(std::vector<int32_t>{0, 2, 1}, at::kInt);
  ops::check_entries("op", "columns", index, 0, 3);
  index.fill_(9);
  EXPECT_EQ(refusal([&] { ops::check_entries("op", "columns", index, 0, 3); }),
            "op: columns must be in [0, 3), got 9 at place 0");
}

// As numpy's is.
TEST(IndexChecks, MemoryOfOthersIsLookedAtEveryTime) {
  std::vector<int32_t> memory{0, 2, 1};
  const at::Tensor index = ::at::from_blob(memory.data(), {3}, at::kInt);
  ops::check_entries("op", "columns", index, 0, 3);
  memory[1] = 9;
  EXPECT_EQ(refusal([&] { ops::check_entries("op", "columns", index, 0, 3); }),
            "op: columns must be in [0, 3), got 9 at place 1");
}

// Every index of every operator, one entry too far.
TEST(IndexChecks, NoOperatorReadsPastTheEnd) {
  const test::Sparse matrix = sparse_matrix(3, 3, 1.0, at::kFloat);
  const at::Tensor x = at::ones({3, 2});
  for (at::Tensor SparsePattern::*member :
       {&SparsePattern::offsets, &SparsePattern::columns, &SparsePattern::transposed_offsets,
        &SparsePattern::transposed_columns, &SparsePattern::order}) {
    SparsePattern wrong = matrix.pattern;
    wrong.*member = (wrong.*member).clone();
    (wrong.*member)[-1] += 1000;
    EXPECT_NE(refusal([&] { spmm(wrong, matrix.values, x); }), "not refused");
  }
  const IncidenceTensors graph = incidence_tensors(make_karate().graph);
  const at::Tensor flow = at::ones({graph.heads.size(0), 2});
  for (at::Tensor IncidenceTensors::*member : {&IncidenceTensors::heads, &IncidenceTensors::tails,
                                               &IncidenceTensors::offsets, &IncidenceTensors::arcs}) {
    IncidenceTensors wrong = graph;
    wrong.*member = (wrong.*member).clone();
    (wrong.*member)[-1] += 1000;
    EXPECT_NE(refusal([&] { incidence(flow, wrong); }), "not refused");
  }
  const at::Tensor edges = tensor_of(std::vector<int64_t>{0, 2}, at::kLong);
  const at::Tensor entries_of = tensor_of(std::vector<int64_t>{0, -1, 1, 2}, at::kLong).view({2, 2});
  EXPECT_EQ(refusal([&] {
              edge_values(at::ones({2}), {edges, entries_of});
            }),
            "qw::edge_values: edges must be in [-1, 2), got 2 at place 1");
  EXPECT_EQ(refusal([&] { ops::edge_values_backward(at::ones({2}), entries_of); }),
            "qw::_edge_values_backward: entries_of must be in [-1, 2), got 2 at place 3");
  const at::Tensor nodes = tensor_of(std::vector<int32_t>{0, 3}, at::kInt);
  const at::Tensor classes = tensor_of(std::vector<int32_t>{0, 2}, at::kInt);
  const auto compare = [&](const at::Tensor& where, const at::Tensor& which) {
    return refusal([&] { divergence(Divergence::kSoftmax, x, {}, {where, which, {}, {}}, 1.0); });
  };
  EXPECT_EQ(compare(nodes, nodes), "qw::divergence: nodes must be in [0, 3), got 3 at place 1");
  EXPECT_EQ(compare(classes, classes), "qw::divergence: classes must be in [0, 2), got 2 at place 1");
  at::Tensor step = at::zeros({2, 2});
  EXPECT_EQ(refusal([&] {
              flow_step_(step, at::zeros({2, 2}), at::zeros({2, 2}), x, {}, {nodes, nodes, {}}, {});
            }),
            "qw::_flow_step_: heads must be in [0, 3), got 3 at place 1");
}

}  // namespace
}  // namespace qw
