// Why a node got its prediction, with the names that people know: what explain_nodes() (qw/learn/explain.h)
// computes, and programs and reports show.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/graph/targets.h"

namespace QW_PUBLIC qw {

// A label or a prediction, of whatever task.
struct NodeAnswer {
  std::vector<std::string> names;  // the class, or the labels
  std::vector<double> values;      // NaN: not known

  // Names or numbers with blanks between them; "none" of labels where there is none.
  std::string text() const;
};

// One node of the data.
struct NamedNode {
  NodeId node = -1;     // its number in the data
  std::string id;       // by which people know it
  std::string part;     // "train", "val", "test", "new" (not in the training's data), or nothing
  bool trains = false;  // whether the training was told its label
  NodeAnswer label;     // that label; empty unless it trains
};

// What becomes of a prediction when something is left out: what is predicted without it, minus what is
// predicted with it. Computed by predicting again.
struct ScoreChange {
  double score = 0;                                               // of the sum of network and transport
  double probability = std::numeric_limits<double>::quiet_NaN();  // NaN of values
};

// A path by which transport reaches the node.
struct ExplainedPath {
  double amount = 0;               // above 0: raises the score here and lowers it at the other end
  std::vector<std::string> nodes;  // ids, from here to the other end
  NamedNode end;                   // the other end
};

// What edges to one neighbour do, in whatever direction they go.
struct NeighbourEffect {
  NamedNode neighbour;  // at the other end
  ScoreChange without;  // these edges
};

// What one column of the table of nodes does, or one feature where there is no table.
struct FeatureEffect {
  std::string name;          // of the column
  double own = 0;            // gradient of what the network says times the node's own numbers
  double neighbourhood = 0;  // the same, over all other nodes
  ScoreChange without;       // this column at any node: its numbers are 0 as the network sees them
};

// What the training label of a node does, where labels are spread over the edges.
struct LabelEffect {
  NamedNode of;         // a training node
  ScoreChange without;  // its label
};

// Counts and sums of what a list does not show.
struct NotShown {
  int64_t count = 0;    // of entries that were computed
  double sum = 0;       // of their amounts, or of gradient times input
  int64_t unknown = 0;  // of candidates that were left out of consideration, to bound the work
};

// Why one class, label or value has its score. Lists begin with the largest.
struct ColumnExplanation {
  int64_t column = 0;  // of the scores
  std::string name;    // of the class, label or value
  double brought = 0;  // by all paths
  // By which transport reaches the node, and what more there are.
  std::vector<ExplainedPath> paths;
  NotShown more_paths;
  // Of the node, in whatever direction, and what more there are.
  std::vector<NeighbourEffect> neighbours;
  NotShown more_neighbours;
  double gradient_times_input = 0;  // over all features and nodes
  // That move what the network says, and what more there are.
  std::vector<FeatureEffect> features;
  NotShown more_features;
  // That are spread over the edges, and what more there are.
  std::vector<LabelEffect> labels;
  NotShown more_labels;
};

// Scores of one class, label or value.
struct ExplainedScore {
  std::string name;                                               // of the class, label or value
  double network = 0;                                             // what the network says
  double transport = 0;                                           // what is added to it
  double sum = 0;                                                 // of both
  double probability = std::numeric_limits<double>::quiet_NaN();  // calibrated; NaN of values
};

// A node around the one that is explained.
struct DrawnNode {
  NamedNode is;          // which node it is
  NodeAnswer predicted;  // for it
  int64_t place = -1;    // of the class that it trained with or that is predicted; -1: there are no classes
  double x = 0, y = 0;   // where it is drawn, if Neighbourhood::has_positions
};

// An edge between two of them.
struct DrawnEdge {
  int64_t from = 0, to = 0;  // places in Neighbourhood::nodes
  double weight = 1;         // of all edges between the two
  double flow = 0;           // above 0: moves from `from` to `to`, of the first column that is explained
};

// Some nodes around the one that is explained, which is the first of them.
struct Neighbourhood {
  std::vector<DrawnNode> nodes;                // at most 25
  std::vector<DrawnEdge> edges;                // between them
  bool directed = false, has_weights = false;  // of the graph
  bool has_positions = false;                  // whether x and y were computed
  int64_t neighbours_left_out = 0;             // direct neighbours that are not among `nodes`
};

// Why a node got its prediction.
struct NodeExplanation {
  NamedNode node;                          // that is explained
  Task task = Task::kNone;                 // of the training
  NodeAnswer predicted;                    // for it
  std::vector<ExplainedScore> scores;      // of every class, label or value
  std::vector<ColumnExplanation> columns;  // of those that were asked for
  bool has_flow = false;                   // whether the solver has a flow
  bool has_network = false;     // no: nothing but labels and edges decides, and features do not count
  bool spreads_labels = false;  // whether training labels are spread over the edges
  bool sees_edges = false;      // no: the network does not look at edges, and nothing else does
  int64_t neighbours = 0;       // of the node
  Neighbourhood around;         // for a drawing
};

}  // namespace qw
