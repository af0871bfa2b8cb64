// Small trainings for the tests of learning.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "qw/core/random.h"
#include "qw/graph/generators.h"
#include "qw/learn/trainer.h"
#include "support/device.h"
#include "support/support.h"

namespace qw::test {

// Who learns what, how. A plain value: change it, then make a Training of it.
struct Problem {
  Dataset data;
  Split split;
  at::ScalarType type = at::kDouble;
  std::string model = "gcn";
  ModelOptions model_options;
  LearnOptions options;
  uint64_t seed = 1;
};

// A block model with three classes that overlap, a third of its nodes in each part of the split.
inline Problem small_problem(const std::string& solver, int64_t nodes = 45) {
  Problem problem;
  CsbmOptions csbm;
  csbm.nodes = nodes;
  csbm.degree = 4;
  csbm.homophily = 0.6;
  csbm.features = 6;
  csbm.signal = 0.4;
  csbm.classes = 3;
  problem.data = make_csbm(csbm);
  for (NodeId node = 0; node < nodes; ++node) {
    std::vector<NodeId>* const parts[] = {&problem.split.train, &problem.split.val, &problem.split.test};
    parts[node / 3 % 3]->push_back(node);
  }
  problem.model_options.hidden = 8;
  problem.model_options.heads = 2;
  problem.options.solver = solver;
  problem.options.epochs = 12;
  return problem;
}

// The same with a model whose scores are linear in its parameters, so that the loss is convex in all that is
// learned, and two features for two thirds of the nodes, so that no parameters separate the classes.
inline Problem convex_problem(const std::string& solver) {
  Problem problem = small_problem(solver);
  Features& features = problem.data.features;
  std::vector<float> two;
  for (int64_t row = 0; row < features.rows; ++row) {
    const auto begin = features.dense.begin() + row * features.columns;
    two.insert(two.end(), begin, begin + 2);
  }
  features = {features.rows, 2, false, two, {}, {}, {}, {}};
  problem.split.train.insert(problem.split.train.end(), problem.split.val.begin(), problem.split.val.end());
  std::sort(problem.split.train.begin(), problem.split.train.end());
  problem.split.val.clear();
  problem.model_options.layers = 1;
  problem.model_options.dropout = 0;
  problem.options.weight_decay = 0;
  problem.options.flow_start = "zero";
  problem.options.lambda = 60;
  problem.options.lr = 0.05;
  problem.options.flow_lr = 0.02;
  return problem;
}

// The graph rebuilt from its own edges, with what `change` does to them.
template <class Change>
Graph rebuilt(const Graph& graph, bool directed, const Change& change) {
  EdgeList edges;
  edges.num_nodes = graph.num_nodes();
  edges.heads.assign(graph.heads().begin(), graph.heads().end());
  edges.tails.assign(graph.tails().begin(), graph.tails().end());
  change(edges);
  GraphOptions options;
  options.directed = directed;
  return Graph::build(edges, options);
}

// Values that are a smooth function of the features, one of nine missing.
inline Targets smooth_values(const Features& features, int64_t width) {
  Targets targets{Task::kRegression, width, {}, {}, {}};
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t c = 0; c < width; ++c) {
      const double x = features.dense[row * features.columns + c];
      const bool missing = width > 1 && (row * width + c) % 9 == 4;
      targets.values.push_back(missing ? NAN : 10.0 + 3.0 * x + 0.5 * std::sin(static_cast<double>(row)));
    }
  }
  return targets;
}

// Is each of the first features above 0?
inline Targets signs_of_features(const Features& features, int64_t width) {
  Targets targets{Task::kMultiLabel, width, {}, {}, {}};
  for (int64_t row = 0; row < features.rows; ++row) {
    for (int64_t c = 0; c < width; ++c) {
      targets.values.push_back(features.dense[row * features.columns + c] > 0 ? 1.0 : 0.0);
    }
  }
  return targets;
}

// A problem and the tensors it is learned from; whatever learns from input() must not outlive it.
class Training {
 public:
  explicit Training(Problem problem)
      : problem_(std::move(problem)),
        graph_(problem_.data.graph, options(problem_.type)),
        features_(problem_.data.features, options(problem_.type)) {}
  Training(Problem problem, NodeMatrix features)
      : problem_(std::move(problem)),
        graph_(problem_.data.graph, options(problem_.type)),
        features_(std::move(features)) {}
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  LearnInput input() const {
    return {problem_.data.graph, problem_.data.targets,  problem_.split,   graph_,        features_,
            problem_.model,      problem_.model_options, problem_.options, problem_.seed, {}};
  }
  const Problem& problem() const { return problem_; }
  const GraphTensors& graph() const { return graph_; }
  const NodeMatrix& features() const { return features_; }

 private:
  Problem problem_;
  GraphTensors graph_;
  NodeMatrix features_;
};

using NamedTensors = std::map<std::string, at::Tensor>;

inline NamedTensors copies_of(const std::vector<Buffer>& tensors) {
  NamedTensors copies;
  for (const Buffer& each : tensors) copies[each.name] = each.value.clone();
  return copies;
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  return a.numel() == 0 ||
         std::memcmp(a.cpu().contiguous().data_ptr(), b.cpu().contiguous().data_ptr(), a.nbytes()) == 0;
}

inline void expect_same_bits(const NamedTensors& actual, const NamedTensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_TRUE(same_bits(actual.at(name), value)) << name;
  }
}

inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

inline void expect_same_history(const std::vector<EpochRecord>& actual,
                                const std::vector<EpochRecord>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const EpochRecord &a = actual[i], &b = expected[i];
    EXPECT_TRUE(a.epoch == b.epoch && same_number(a.loss, b.loss) && same_number(a.val_loss, b.val_loss) &&
                same_number(a.train_metric, b.train_metric) && same_number(a.val_metric, b.val_metric) &&
                same_number(a.test_metric, b.test_metric))
        << "epoch " << i << ": loss " << a.loss << " and " << b.loss << ", validation loss " << a.val_loss
        << " and " << b.val_loss;
  }
}

}  // namespace qw::test
