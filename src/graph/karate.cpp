#include <numeric>

#include "qw/graph/generators.h"

namespace qw {
namespace {

struct Friendship {
  NodeId a, b;
};

// W. W. Zachary, An information flow model for conflict and fission in small groups (1977).
constexpr Friendship kFriendships[] = {
    {0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},  {0, 11},
    {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},   {1, 7},   {1, 13},
    {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},   {2, 9},   {2, 13},  {2, 27},
    {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},   {4, 10},  {5, 6},   {5, 10},  {5, 16},
    {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},  {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33},
    {18, 32}, {18, 33}, {19, 33}, {20, 32}, {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29},
    {23, 32}, {23, 33}, {24, 25}, {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31},
    {28, 33}, {29, 32}, {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}};

// The four communities that this field uses as classes (Kipf and Welling 2017), found by clustering for
// modularity.
constexpr int32_t kCommunity[] = {1, 1, 1, 1, 3, 3, 3, 1, 0, 1, 3, 1, 1, 1, 0, 0, 3,
                                  1, 0, 1, 0, 1, 0, 0, 2, 2, 0, 0, 2, 0, 0, 2, 0, 0};

}  // namespace

Dataset make_karate() {
  constexpr int64_t kPeople = std::size(kCommunity);
  EdgeList edges;
  edges.num_nodes = kPeople;
  for (const Friendship& friendship : kFriendships) {
    edges.heads.push_back(friendship.a);
    edges.tails.push_back(friendship.b);
  }
  std::vector<int64_t> offsets(kPeople + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  std::vector<int32_t> diagonal(kPeople);
  std::iota(diagonal.begin(), diagonal.end(), 0);

  Dataset dataset;
  dataset.name = "karate";
  dataset.format = "generator";
  dataset.graph = Graph::build(std::move(edges));
  dataset.features = features_from_rows(kPeople, offsets, diagonal, std::vector<float>(kPeople, 1.0f));
  dataset.targets = class_targets({std::begin(kCommunity), std::end(kCommunity)});
  return dataset;
}

}  // namespace qw
