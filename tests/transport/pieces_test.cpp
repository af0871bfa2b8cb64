#include "transport/pieces.h"
#include "transport/verify.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "qw/core/error.h"
#include "transport/networks.h"

namespace qw::transport {
namespace {

constexpr double kNoSlack = std::numeric_limits<double>::infinity();

// Loops and repeated edges are kept, for the pieces to deal with.
Graph graph_of(int64_t nodes, const std::vector<std::pair<NodeId, NodeId>>& ends,
               std::vector<double> costs = {}, bool directed = false) {
  return test::graph_of(nodes, ends, std::move(costs), directed, EdgePolicy::kKeep);
}

std::vector<Piece> pieces(const Graph& graph, const std::vector<NodeId>& labelled, double slack = kNoSlack) {
  return pieces_of(graph, labelled, slack);
}

using Ends = std::vector<std::pair<int32_t, int32_t>>;
Ends ends_of(const Network& network) {
  Ends ends;
  for (int64_t e = 0; e < network.num_edges(); ++e) ends.emplace_back(network.sources[e], network.targets[e]);
  return ends;
}

TEST(Pieces, AWhollyLabelledGraphIsTakenAsItIs) {
  const Graph graph = graph_of(3, {{0, 1}, {1, 2}, {0, 2}}, {1, 2, 3});
  const std::vector<Piece> all = pieces(graph, {0, 1, 2});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].network.num_nodes, 3);
  EXPECT_EQ(all[0].network.ground, kNoNode);
  EXPECT_FALSE(all[0].network.directed);
  EXPECT_EQ(ends_of(all[0].network), (Ends{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(all[0].network.costs, (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(all[0].edges, (std::vector<EdgeId>{0, 1, 2}));
  EXPECT_EQ(all[0].rows, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Pieces, WithoutCostsEveryEdgeCostsOne) {
  EXPECT_EQ(pieces(graph_of(2, {{0, 1}}), {0, 1})[0].network.costs, std::vector<double>{1});
}

TEST(Pieces, RowsFollowTheOrderOfTheLabels) {
  const Graph graph = graph_of(4, {{0, 1}, {1, 2}, {2, 3}});
  const std::vector<Piece> all = pieces(graph, {3, 1, 2});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].rows, (std::vector<int64_t>{1, 2, 0})) << "nodes 1, 2, 3";
}

TEST(Pieces, UnlabelledNodesBecomeOneGroundAndItIsTheLastNode) {
  // 0 - 1, and around them the unlabelled 2, 3, 4, which are joined as well.
  const Graph graph = graph_of(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}}, {1, 2, 3, 4, 5});
  const std::vector<Piece> all = pieces(graph, {0, 1});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].network.num_nodes, 3);
  EXPECT_EQ(all[0].network.ground, 2);
  EXPECT_EQ(ends_of(all[0].network), (Ends{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(all[0].network.costs, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(all[0].edges, (std::vector<EdgeId>{0, 1, 2})) << "edges between unlabelled nodes carry nothing";
}

TEST(Pieces, OfSeveralEdgesToTheGroundTheCheapestIsKept) {
  const Graph graph = graph_of(4, {{0, 1}, {0, 2}, {0, 3}}, {3, 1, 2});
  const std::vector<Piece> all = pieces(graph, {0});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].edges, std::vector<EdgeId>{1});
  EXPECT_EQ(all[0].network.costs, std::vector<double>{1});
  EXPECT_EQ(pieces(graph_of(3, {{0, 1}, {0, 2}}, {2, 2}), {0})[0].edges, std::vector<EdgeId>{0})
      << "the first of equals";
}

TEST(Pieces, ParallelEdgesBetweenLabelledNodesAreKept) {
  const Graph graph = graph_of(2, {{0, 1}, {0, 1}}, {1, 2});
  EXPECT_EQ(pieces(graph, {0, 1})[0].edges, (std::vector<EdgeId>{0, 1}));
}

TEST(Pieces, EdgesKeepTheirDirectionWhereTheLabelledNodeIsTheTail) {
  const Graph graph = graph_of(2, {{0, 1}});
  const Piece piece = pieces(graph, {1})[0];  // the ground is the head
  EXPECT_EQ(ends_of(piece.network), (Ends{{piece.network.ground, 0}}));
}

TEST(Pieces, PartsThatMeetOnlyInUnlabelledNodesAreApartAndTheLargestComesFirst) {
  // 0 | 1 - 2 - 3 with 1 - 3, and the unlabelled 4 next to 0 and 1; 5 is alone.
  const Graph graph = graph_of(6, {{0, 4}, {1, 2}, {2, 3}, {1, 3}, {1, 4}});
  const std::vector<Piece> all = pieces(graph, {0, 1, 2, 3, 5});
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0].rows, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(all[0].network.num_edges(), 4);
  EXPECT_EQ(all[1].rows, std::vector<int64_t>{0});
  EXPECT_EQ(all[1].network.ground, 1);
  EXPECT_EQ(all[2].rows, std::vector<int64_t>{4});
  EXPECT_EQ(all[2].network.num_nodes, 1);
  EXPECT_EQ(all[2].network.ground, kNoNode);
  EXPECT_EQ(all[2].network.num_edges(), 0);
}

TEST(Pieces, SelfLoopsAreLeftOut) {
  const Graph graph = graph_of(3, {{0, 0}, {0, 1}, {1, 1}, {2, 2}});
  ASSERT_EQ(graph.num_edges(), 4);
  const std::vector<Piece> all = pieces(graph, {0, 1});
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].edges, std::vector<EdgeId>{1});
  EXPECT_EQ(all[0].network.ground, kNoNode);
}

TEST(Pieces, ADirectedGroundHasAnEdgeEachWay) {
  // 0 -> 1; 0 -> 2 and 2 -> 0 with the unlabelled 2; 3 -> 1 from the unlabelled 3, twice.
  const Graph graph = graph_of(4, {{0, 1}, {0, 2}, {2, 0}, {3, 1}, {3, 1}, {0, 3}}, {1, 2, 3, 5, 4, 9}, true);
  const std::vector<Piece> all = pieces(graph, {0, 1});
  ASSERT_EQ(all.size(), 1);
  const Network& network = all[0].network;
  EXPECT_TRUE(network.directed);
  EXPECT_EQ(network.ground, 2);
  EXPECT_EQ(ends_of(network), (Ends{{1, 0}, {0, 2}, {2, 0}, {1, 2}}));  // from head to tail
  EXPECT_EQ(network.costs, (std::vector<double>{1, 3, 2, 4}));
}

TEST(Pieces, DirectedEdgesJoinWhateverTheirDirection) {
  EXPECT_EQ(pieces(graph_of(3, {{0, 1}, {2, 1}}, {}, true), {0, 1, 2}).size(), 1);
}

TEST(Pieces, SlackGroundsWhatHasNoGround) {
  const Graph graph = graph_of(5, {{0, 1}, {2, 3}}, {1, 1});
  const std::vector<Piece> all = pieces(graph, {0, 1, 2, 4}, 7);
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(ends_of(all[0].network), (Ends{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(all[0].network.costs, (std::vector<double>{1, 7, 7}));
  EXPECT_EQ(all[0].edges, (std::vector<EdgeId>{0, -1, -1}));
  EXPECT_EQ(all[1].edges, std::vector<EdgeId>{1}) << "2 has its unlabelled neighbour";
  EXPECT_EQ(all[2].edges, std::vector<EdgeId>{-1}) << "4 is alone";
  EXPECT_EQ(all[2].network.ground, 1);
}

TEST(Pieces, DirectedSlackRunsBothWaysAtEveryNode) {
  const Graph graph = graph_of(2, {{0, 1}}, {}, true);
  const Piece grounded = pieces(graph, {0}, 7)[0];  // has a ground, but no way back from it
  EXPECT_EQ(ends_of(grounded.network), (Ends{{1, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(grounded.edges, (std::vector<EdgeId>{0, -1, -1}));
  const Piece whole = pieces(graph, {0, 1}, 7)[0];
  EXPECT_EQ(ends_of(whole.network), (Ends{{1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}));
}

// Everything that the pieces say of the graph is so, and nothing is missing or there twice.
void expect_faithful(const Graph& graph, const std::vector<NodeId>& labelled) {
  std::vector<int64_t> row_of(graph.num_nodes(), -1);
  for (size_t row = 0; row < labelled.size(); ++row) row_of[labelled[row]] = static_cast<int64_t>(row);
  std::set<int64_t> rows;
  std::set<EdgeId> edges;
  std::set<std::tuple<NodeId, bool>> grounded;
  int64_t last_size = std::numeric_limits<int64_t>::max();
  for (const Piece& piece : pieces(graph, labelled)) {
    const Network& network = piece.network;
    EXPECT_LE(network.num_edges(), last_size);
    last_size = network.num_edges();
    const bool has_ground = network.ground != kNoNode;
    ASSERT_EQ(network.num_nodes, static_cast<int32_t>(piece.rows.size()) + (has_ground ? 1 : 0));
    if (has_ground) {
      EXPECT_EQ(network.ground, network.num_nodes - 1);
    }
    for (const int64_t row : piece.rows) EXPECT_TRUE(rows.insert(row).second);
    EXPECT_EQ(piece.routes.to_root.order.size() == static_cast<size_t>(network.num_nodes) || graph.directed(),
              true)
        << "connected";
    const auto row_at = [&](int32_t node) { return node == network.ground ? -1 : piece.rows[node]; };
    for (int64_t e = 0; e < network.num_edges(); ++e) {
      const EdgeId edge = piece.edges[e];
      EXPECT_TRUE(edges.insert(edge).second);
      const NodeId head = graph.heads()[edge], tail = graph.tails()[edge];
      EXPECT_EQ(row_of[head], row_at(network.sources[e]));
      EXPECT_EQ(row_of[tail], row_at(network.targets[e]));
      EXPECT_EQ(graph.costs()[edge], network.costs[e]);
      if (row_of[head] >= 0 && row_of[tail] >= 0) continue;
      const NodeId inner = row_of[head] >= 0 ? head : tail;
      EXPECT_TRUE(grounded.insert({inner, graph.directed() && inner == tail}).second);
      for (EdgeId other = 0; other < graph.num_edges(); ++other) {
        const NodeId from = graph.heads()[other], to = graph.tails()[other];
        const bool same_way =
            graph.directed()
                ? (inner == head ? from == inner && row_of[to] < 0 : to == inner && row_of[from] < 0)
                : (from == inner && row_of[to] < 0) || (to == inner && row_of[from] < 0);
        if (same_way) {
          EXPECT_GE(graph.costs()[other], network.costs[e]);
        }
      }
    }
  }
  EXPECT_EQ(rows.size(), labelled.size());
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const NodeId head = graph.heads()[e], tail = graph.tails()[e];
    if (row_of[head] >= 0 && row_of[tail] >= 0) {
      EXPECT_EQ(edges.count(e), head == tail ? 0 : 1);
    } else if (row_of[head] >= 0 || row_of[tail] >= 0) {
      const NodeId inner = row_of[head] >= 0 ? head : tail;
      EXPECT_EQ(grounded.count({inner, graph.directed() && inner == tail}), 1);
    }
  }
}

TEST(Pieces, AreFaithfulToRandomGraphs) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    detail::Draw draw(seed);
    const int64_t nodes = 2 + draw.below(20);
    std::vector<std::pair<NodeId, NodeId>> ends;
    std::vector<double> costs;
    for (int64_t e = draw.below(3 * nodes); e > 0; --e) {
      const auto head = static_cast<NodeId>(draw.below(nodes));
      ends.emplace_back(head, static_cast<NodeId>(draw.below(nodes)));
      costs.push_back(static_cast<double>(draw.below(4)));
    }
    std::vector<NodeId> labelled;
    for (NodeId v = static_cast<NodeId>(nodes); v-- > 0;) {
      if (draw.below(3) > 0) labelled.push_back(v);
    }
    if (costs.empty()) continue;
    expect_faithful(graph_of(nodes, ends, costs, seed % 2 == 0), labelled);
  }
}

TEST(Pieces, OfNothing) {
  EXPECT_TRUE(pieces(graph_of(0, {}), {}).empty());
  EXPECT_TRUE(pieces(graph_of(3, {{0, 1}}), {}).empty());
  EXPECT_TRUE(pieces(graph_of(3, {{0, 1}}), {}, 5).empty());
}

}  // namespace
}  // namespace qw::transport
