#include "distributed/part_graph.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <numeric>
#include <optional>
#include <vector>

#include "nn/tensors.h"
#include "ops/normalise_parts.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr EdgeId kNoEdge = -1;  // of an entry on the diagonal that no edge made

class HaloRows : public RowExchange {
 public:
  HaloRows(Comm& parts, const Part& part) : halo_(parts, halo_plan(part)) {}
  at::Tensor beside(const at::Tensor& own) const override { return halo_.beside(own); }

 private:
  Halo halo_;
};

// Rows of own nodes; entries stand in the order of their columns' new numbers, as in the whole matrix.
struct Rows {
  std::vector<int64_t> offsets;  // [own + 1]
  std::vector<NodeId> columns;   // rows of the part
  std::vector<EdgeId> edges;     // of the part
};

enum class Direction { kBoth, kIn, kOut };

// Edges stand by (head, tail): what a row gathers over edges whose tail it is has lower columns than the
// rest.
Rows rows_of(const Part& part, Direction direction) {
  const int64_t own = part.own();
  const auto for_entries = [&](const auto& put) {
    for (size_t e = 0; e < part.heads.size() && direction != Direction::kIn; ++e) {
      const bool twice = direction == Direction::kBoth && part.heads[e] == part.tails[e];
      if (part.tails[e] < own && !twice) put(part.tails[e], part.heads[e], static_cast<EdgeId>(e));
    }
    for (size_t e = 0; e < part.heads.size() && direction != Direction::kOut; ++e) {
      if (part.heads[e] < own) put(part.heads[e], part.tails[e], static_cast<EdgeId>(e));
    }
  };
  Rows rows;
  rows.offsets.assign(own + 1, 0);
  for_entries([&](NodeId row, NodeId, EdgeId) { ++rows.offsets[row + 1]; });
  std::partial_sum(rows.offsets.begin(), rows.offsets.end(), rows.offsets.begin());
  rows.columns.resize(rows.offsets.back());
  rows.edges.resize(rows.offsets.back());
  std::vector<int64_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
  for_entries([&](NodeId row, NodeId column, EdgeId edge) {
    rows.columns[next[row]] = column;
    rows.edges[next[row]++] = edge;
  });
  return rows;
}

// Where a node has no edge to itself, an entry on the diagonal.
Rows with_diagonal(const Rows& rows, const Part& part) {
  Rows result;
  result.offsets.push_back(0);
  for (int64_t row = 0; row < part.own(); ++row) {
    const int64_t number = part.begin + row;
    bool done = false;
    const auto add = [&](NodeId column, EdgeId edge) {
      result.columns.push_back(column);
      result.edges.push_back(edge);
    };
    for (int64_t at = rows.offsets[row]; at < rows.offsets[row + 1]; ++at) {
      const int64_t column = part.new_number(rows.columns[at]);
      if (!done && column > number) add(static_cast<NodeId>(row), kNoEdge);
      done = done || column >= number;
      add(rows.columns[at], rows.edges[at]);
    }
    if (!done) add(static_cast<NodeId>(row), kNoEdge);
    result.offsets.push_back(static_cast<int64_t>(result.columns.size()));
  }
  return result;
}

// One of the two matrices of a part, and the weights of its entries.
struct Entries {
  at::Tensor offsets, columns, weights;
};

class PartGraph : public GraphMatrices {
 public:
  PartGraph(Comm& parts, const Part& part, const at::TensorOptions& options)
      : GraphMatrices(options),
        part_(part),
        rows_(std::make_shared<HaloRows>(parts, part)),
        numbers_(tensor_of(part.original).to(at::kLong)) {}

  int64_t num_nodes() const override { return part_.own(); }
  int64_t num_edges() const override { return std::ssize(part_.heads); }
  at::Tensor row_numbers() const override { return numbers_; }
  at::Tensor beside(const at::Tensor& own) const override { return rows_->beside(own); }
  const IncidenceTensors& incidence() override { fail("the incidence of a part is that of its flow"); }

  PropagationMatrix matrix(Kind kind, const at::Tensor& edge_weights) override {
    QW_ASSERT(!edge_weights.defined() && kind != kNeighbourhood);
    std::optional<PropagationMatrix>& kept = kept_[kind];
    if (!kept) kept = make(kind);
    return *kept;
  }

 private:
  PropagationMatrix make(Kind kind) const {
    const at::NoGradGuard constant;
    const bool loops = has_loops(kind);
    const Entries in = entries(part_.directed ? Direction::kIn : Direction::kBoth, loops);
    const Entries out = part_.directed ? entries(Direction::kOut, loops) : in;
    const at::Tensor sums = kind == kAdjacency ? at::Tensor() : row_sums(in);
    PropagationMatrix made;
    made.pattern = {in.offsets, in.columns, out.offsets, out.columns, at::empty({0}, at::kLong), rows_, {}};
    made.values = in.weights;
    made.pattern.transposed_values = out.weights;
    if (kind == kMean) {  // row i of the transpose has a_ji / sum_j
      made.values = divided(in.weights, sums.index_select(0, row_of(in)));
      made.pattern.transposed_values = divided(out.weights, sums.index_select(0, out.columns));
    } else if (kind != kAdjacency) {
      const at::Tensor scales = at::where(sums <= 0, at::zeros({}, options_), 1 / at::sqrt(sums));
      made.values = scaled(in, scales);
      made.pattern.transposed_values = part_.directed ? scaled(out, scales) : made.values;
    }
    return made;
  }

  Entries entries(Direction direction, bool loops) const {
    const Rows plain = rows_of(part_, direction);
    const Rows rows = loops ? with_diagonal(plain, part_) : plain;
    at::Tensor weights = at::ones({static_cast<int64_t>(rows.columns.size())}, options_);
    if (!part_.weights.empty()) {
      std::vector<double> given;
      given.reserve(rows.edges.size());
      for (const EdgeId edge : rows.edges) given.push_back(edge == kNoEdge ? 1.0 : part_.weights[edge]);
      weights = tensor_of(given).to(options_);
    }
    return {tensor_of(rows.offsets), tensor_of(rows.columns), weights};
  }

  // Of own rows and the halo's: what a row gathers, also where the matrix is the transpose.
  at::Tensor row_sums(const Entries& in) const {
    return rows_->beside(ops::row_sums(in.offsets, in.weights).unsqueeze(1)).squeeze(1);
  }

  static at::Tensor row_of(const Entries& entries) { return at::repeat_interleave(entries.offsets.diff()); }

  static at::Tensor divided(const at::Tensor& values, const at::Tensor& sums) {
    return at::where(sums == 0, at::zeros({}, values.options()), values / sums);
  }

  // The two scales first, as normalise() does: both ends of an edge have the same bits.
  static at::Tensor scaled(const Entries& of, const at::Tensor& scales) {
    return of.weights * (scales.index_select(0, row_of(of)) * scales.index_select(0, of.columns)) + 0;
  }

  const Part part_;
  std::shared_ptr<HaloRows> rows_;
  at::Tensor numbers_;
  std::map<Kind, std::optional<PropagationMatrix>> kept_;
};

}  // namespace

HaloPlan halo_plan(const Part& part) {
  HaloPlan plan;
  plan.own = part.own();
  std::vector<int64_t> rows;
  for (int64_t other = 0; other + 1 < std::ssize(part.begins); ++other) {
    const std::span<const NodeId> sent = part.sent_to(other);
    rows.insert(rows.end(), sent.begin(), sent.end());
    plan.sent.push_back(std::ssize(sent));
    const Part::Rows received = part.received_from(other);
    plan.received.push_back(received.end - received.begin);
  }
  plan.sent_rows = tensor_of(rows);
  return plan;
}

std::shared_ptr<GraphMatrices> part_graph(Comm& parts, const Part& part, const at::TensorOptions& options) {
  return std::make_shared<PartGraph>(parts, part, options);
}

}  // namespace qw
