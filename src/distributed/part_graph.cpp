#include "distributed/part_graph.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "comm/parts.h"
#include "nn/tensors.h"
#include "ops/normalise_parts.h"
#include "ops/part_products.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr EdgeId kNoEdge = -1;  // of an entry on the diagonal that no edge made

class HaloRows : public RowExchange {
 public:
  HaloRows(Comm& parts, const Part& part) : parts_(parts), halo_(parts, halo_plan(part)) {}
  at::Tensor beside(const at::Tensor& own) const override { return halo_.beside(own); }
  at::Tensor added_back(const at::Tensor& all) const override { return halo_.added_back(all); }
  at::Tensor total(const at::Tensor& mine) const override { return sum_in_order(parts_, mine); }

 private:
  Comm& parts_;
  Halo halo_;
};

// Rows of own nodes; entries stand in the order of their columns' new numbers, as in the whole matrix.
struct Rows {
  std::vector<int64_t> offsets;  // [own + 1]
  std::vector<NodeId> columns;   // rows of the part
  std::vector<EdgeId> edges;     // of the part; empty for who does not ask
};

enum class Direction { kBoth, kIn, kOut };

// Edges stand by (head, tail): what a row gathers over edges whose tail it is has lower columns than the
// rest.
Rows rows_of(const Part& part, Direction direction, bool with_edges) {
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
  rows.edges.resize(with_edges ? rows.columns.size() : 0);
  std::vector<int64_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
  for_entries([&](NodeId row, NodeId column, EdgeId edge) {
    if (with_edges) rows.edges[next[row]] = edge;
    rows.columns[next[row]++] = column;
  });
  return rows;
}

// Where a node has no edge to itself, an entry on the diagonal.
Rows with_diagonal(const Rows& rows, const Part& part, bool with_edges) {
  Rows result;
  result.offsets.push_back(0);
  result.columns.reserve(rows.columns.size() + part.own());
  if (with_edges) result.edges.reserve(result.columns.capacity());
  for (int64_t row = 0; row < part.own(); ++row) {
    const int64_t number = part.begin + row;
    bool done = false;
    const auto add = [&](NodeId column, EdgeId edge) {
      result.columns.push_back(column);
      if (with_edges) result.edges.push_back(edge);
    };
    for (int64_t at = rows.offsets[row]; at < rows.offsets[row + 1]; ++at) {
      const int64_t column = part.new_number(rows.columns[at]);
      if (!done && column > number) add(static_cast<NodeId>(row), kNoEdge);
      done = done || column >= number;
      add(rows.columns[at], with_edges ? rows.edges[at] : kNoEdge);
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
        host_(options.device(at::kCPU)),
        parts_(parts),
        part_(part),
        rows_(std::make_shared<HaloRows>(parts, part)),
        numbers_(tensor_of(part.original).to(options.device(), at::kLong)) {}

  int64_t num_nodes() const override { return part_.own(); }
  int64_t num_edges() const override { return std::ssize(part_.heads); }
  at::Tensor row_numbers() const override { return numbers_; }
  std::shared_ptr<const RowExchange> others() const override { return rows_; }
  const IncidenceTensors& incidence() override { fail("the incidence of a part is that of its flow"); }

  PropagationMatrix matrix(Kind kind, const at::Tensor& edge_weights) override {
    if (edge_weights.defined()) return learned(kind, edge_weights);
    std::optional<PropagationMatrix>& kept = kept_[kind];
    if (!kept) kept = kind == kNeighbourhood ? neighbourhood() : make(kind);
    return *kept;
  }

 private:
  PropagationMatrix make(Kind kind) const {
    const at::NoGradGuard constant;
    const bool loops = has_loops(kind);
    const Entries in = entries(part_.directed ? Direction::kIn : Direction::kBoth, loops);
    const Entries out = part_.directed ? entries(Direction::kOut, loops) : in;
    const at::Tensor sums = kind == kAdjacency ? at::Tensor() : row_sums(in);
    at::Tensor values = in.weights, transposed_values = out.weights;
    if (kind == kMean) {  // row i of the transpose has a_ji / sum_j
      values = changed(in, sums, [](auto w, auto row, auto) { return row == 0 ? row : w / row; });
      transposed_values =
          changed(out, sums, [](auto w, auto, auto column) { return column == 0 ? column : w / column; });
    } else if (kind != kAdjacency) {
      const at::Tensor scales = at::where(sums <= 0, at::zeros({}, host_), 1 / at::sqrt(sums));
      values = scaled(in, scales);
      transposed_values = part_.directed ? scaled(out, scales) : values;
    }
    PropagationMatrix made;
    made.pattern = {there(in.offsets), there(in.columns), {}, {}, there(at::empty({0}, at::kLong)), rows_};
    made.pattern.transposed_offsets = part_.directed ? there(out.offsets) : made.pattern.offsets;
    made.pattern.transposed_columns = part_.directed ? there(out.columns) : made.pattern.columns;
    made.pattern.transposed_values = there(transposed_values);
    made.values = there(values);
    return made;
  }
  at::Tensor there(const at::Tensor& made) const { return made.to(options_.device()); }

  Rows rows(Direction direction, bool loops, bool with_edges) const {
    Rows plain = rows_of(part_, direction, with_edges);
    return loops ? with_diagonal(plain, part_, with_edges) : plain;
  }

  // Of a matrix whose entries get a gradient each: square, with the rows of the halo empty.
  struct Square {
    SparsePattern pattern;
    at::Tensor edges;  // [entries]: their places; behind the last one stands the diagonal
    at::Tensor rows;   // [entries] int64
  };
  const Square& square(bool loops) {
    std::optional<Square>& kept = squares_[loops];
    if (kept) return *kept;
    const Rows own = rows(part_.directed ? Direction::kIn : Direction::kBoth, loops, true);
    const int64_t all = part_.own() + std::ssize(part_.halo), edges = std::ssize(part_.heads);
    std::vector<int64_t> offsets = own.offsets, of_edge;
    offsets.resize(all + 1, own.offsets.back());
    for (const EdgeId edge : own.edges) of_edge.push_back(edge == kNoEdge ? edges : places()[edge]);
    std::vector<int64_t> transposed(all + 1, 0), order(own.columns.size());
    for (const NodeId column : own.columns) ++transposed[column + 1];
    std::partial_sum(transposed.begin(), transposed.end(), transposed.begin());
    std::vector<int64_t> next(transposed.begin(), transposed.end() - 1);
    std::vector<NodeId> row_of(own.columns.size());
    for (int64_t row = 0; row < part_.own(); ++row) {
      for (int64_t at = own.offsets[row]; at < own.offsets[row + 1]; ++at) {
        const int64_t to = next[own.columns[at]]++;
        order[to] = at;
        row_of[to] = static_cast<NodeId>(row);
      }
    }
    SparsePattern pattern{there(tensor_of(offsets)),    there(tensor_of(own.columns)),
                          there(tensor_of(transposed)), there(tensor_of(row_of)),
                          there(tensor_of(order)),      rows_};
    if (loops) pattern.entry_numbers = there(numbers_of(own));
    kept = Square{pattern, there(tensor_of(of_edge)),
                  there(at::repeat_interleave(tensor_of(own.offsets).diff()))};
    return *kept;
  }

  // What the entries of own rows are called in the matrix of the data: rows and columns in its order.
  at::Tensor numbers_of(const Rows& own) const {
    const at::Tensor lengths = tensor_of(own.offsets).diff();
    const at::Tensor firsts = first_of_rows(parts_, part_, lengths);
    std::vector<int64_t> numbers(own.columns.size());
    std::vector<int64_t> in_row;
    for (int64_t row = 0; row < part_.own(); ++row) {
      const int64_t begin = own.offsets[row];
      in_row.resize(own.offsets[row + 1] - begin);
      std::iota(in_row.begin(), in_row.end(), begin);
      std::stable_sort(in_row.begin(), in_row.end(), [&](int64_t a, int64_t b) {
        return original(own.columns[a]) < original(own.columns[b]);
      });
      for (size_t k = 0; k < in_row.size(); ++k)
        numbers[in_row[k]] = firsts.data_ptr<int64_t>()[row] + static_cast<int64_t>(k);
    }
    return tensor_of(numbers);
  }
  NodeId original(NodeId row) const {
    return row < part_.own() ? part_.original[row] : part_.halo_original[row - part_.own()];
  }

  // The weights of its entries, the graph's own times those given [edges of the part].
  at::Tensor weights_of(const Square& of, const at::Tensor& given) {
    at::Tensor weights = given;
    if (!part_.weights.empty()) weights = weights * given_weights();
    return at::cat({weights, at::ones({1}, options_)}).index_select(0, of.edges);
  }

  // Of each edge in the order of weights; made for who asks, since most trainings need none.
  const std::vector<EdgeId>& places() {
    if (!places_.empty()) return places_;
    places_.resize(part_.heads.size());
    const std::vector<EdgeId> order = own_edges_first(part_);
    for (size_t place = 0; place < order.size(); ++place) places_[order[place]] = static_cast<EdgeId>(place);
    return places_;
  }

  at::Tensor given_weights() {
    std::vector<double> weights(part_.weights.size());
    for (size_t e = 0; e < weights.size(); ++e) weights[places()[e]] = part_.weights[e];
    return tensor_of(weights).to(options_);
  }

  PropagationMatrix neighbourhood() {
    const Square& of = square(true);
    if (part_.weights.empty()) return {of.pattern, at::empty({0}, options_)};
    return {of.pattern, weights_of(of, at::ones({std::ssize(part_.heads)}, options_))};
  }

  PropagationMatrix learned(Kind kind, const at::Tensor& edge_weights) {
    const Square& of = square(has_loops(kind));
    const at::Tensor weights = weights_of(of, edge_weights);
    if (kind == kAdjacency || kind == kNeighbourhood) return {of.pattern, weights};
    const at::Tensor& row = of.rows;
    const at::Tensor own_sums = at::zeros({part_.own()}, options_).index_add(0, row, weights);
    if (kind == kMean) {
      const at::Tensor sums = own_sums.index_select(0, row);
      return {of.pattern, at::where(sums == 0, at::zeros({}, options_), weights / sums)};
    }
    const at::Tensor sums = ops::beside(of.pattern, own_sums.unsqueeze(1)).squeeze(1);
    const at::Tensor scales = at::where(sums <= 0, at::zeros({}, options_), 1 / at::sqrt(sums));
    const at::Tensor column = of.pattern.columns.to(at::kLong);
    return {of.pattern, weights * (scales.index_select(0, row) * scales.index_select(0, column))};
  }

  Entries entries(Direction direction, bool loops) const {
    const Rows rows = this->rows(direction, loops, !part_.weights.empty());
    at::Tensor weights = at::ones({static_cast<int64_t>(rows.columns.size())}, host_);
    if (!part_.weights.empty()) {
      std::vector<double> given;
      given.reserve(rows.edges.size());
      for (const EdgeId edge : rows.edges) given.push_back(edge == kNoEdge ? 1.0 : part_.weights[edge]);
      weights = tensor_of(given).to(host_);
    }
    return {tensor_of(rows.offsets), tensor_of(rows.columns), weights};
  }

  // Of own rows and the halo's: what a row gathers, also where the matrix is the transpose.
  at::Tensor row_sums(const Entries& in) const {
    return rows_->beside(ops::row_sums(in.offsets, in.weights).unsqueeze(1)).squeeze(1);
  }

  // The two scales first, as normalise() does: both ends of an edge have the same bits.
  static at::Tensor scaled(const Entries& of, const at::Tensor& scales) {
    return changed(of, scales, [](auto w, auto row, auto column) { return w * (row * column) + 0; });
  }

  // What `change` makes of each weight and of what its row and its column have. One by one: a list of the
  // rows of all entries would be larger than the matrix.
  template <class Change>
  static at::Tensor changed(const Entries& of, const at::Tensor& by_row, const Change& change) {
    at::Tensor result = at::empty_like(of.weights);
    const auto* offsets = of.offsets.data_ptr<int64_t>();
    const auto* column = of.columns.data_ptr<int32_t>();
    AT_DISPATCH_FLOATING_TYPES(result.scalar_type(), "changed", [&] {
      const auto *weight = of.weights.data_ptr<scalar_t>(), *has = by_row.data_ptr<scalar_t>();
      auto* out = result.data_ptr<scalar_t>();
      for (int64_t row = 0; row + 1 < of.offsets.size(0); ++row) {
        for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at)
          out[at] = change(weight[at], has[row], has[column[at]]);
      }
    });
    return result;
  }

  at::TensorOptions host_;  // where what is kept is made
  Comm& parts_;
  const Part part_;
  std::shared_ptr<HaloRows> rows_;
  at::Tensor numbers_;
  std::vector<EdgeId> places_;
  std::map<bool, std::optional<Square>> squares_;  // with a diagonal or without
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

std::vector<EdgeId> own_edges_first(const Part& part) {
  std::vector<EdgeId> order;
  for (const bool own : {true, false}) {
    for (EdgeId e = 0; e < std::ssize(part.heads); ++e) {
      if (part.owns_edge(e) == own) order.push_back(e);
    }
  }
  return order;
}

at::Tensor first_of_rows(Comm& parts, const Part& part, const at::Tensor& lengths) {
  std::vector<int64_t> rows;
  for (size_t p = 0; p + 1 < part.begins.size(); ++p) rows.push_back(part.begins[p + 1] - part.begins[p]);
  const at::Tensor own = tensor_of(part.original).to(at::kLong);
  const at::Tensor numbers = parts.gather(own, rows);
  const at::Tensor all = at::zeros({part.begins.back()}, at::kLong);
  all.index_copy_(0, numbers, parts.gather(lengths.contiguous(), rows));
  return (at::cumsum(all, 0) - all).index_select(0, own);
}

std::shared_ptr<GraphMatrices> part_graph(Comm& parts, const Part& part, const at::TensorOptions& options) {
  return std::make_shared<PartGraph>(parts, part, options);
}

}  // namespace qw
