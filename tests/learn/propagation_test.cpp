// Label propagation and Correct & Smooth against dense matrices and closed forms.
#include <ATen/Parallel.h>

#include "learn/problem.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::Problem;
using test::relative_error;
using test::small_problem;
using test::Training;

// A star of 16 leaves around node 0, a tail of 17 to 24 behind it, node 25 to 28 a square; nodes from 29 on
// are alone. Weighted.
Graph star_with_a_tail(bool directed = false) {
  EdgeList edges;
  edges.num_nodes = 45;
  const auto add = [&](NodeId from, NodeId to) {
    edges.tails.push_back(from);
    edges.heads.push_back(to);
    edges.weights.push_back(0.5 + 0.1 * static_cast<double>((from + 3 * to) % 7));
  };
  for (NodeId leaf = 1; leaf <= 16; ++leaf) add(0, leaf);
  add(0, 17);
  for (NodeId node = 17; node < 24; ++node) add(node, node + 1);
  for (const auto& [from, to] : {std::pair(25, 26), {26, 27}, {27, 28}, {25, 28}}) add(from, to);
  GraphOptions options;
  options.directed = directed;
  return Graph::build(edges, options);
}

Problem star_problem(const std::string& solver, const std::string& model, bool directed = false) {
  Problem problem = small_problem(solver);
  problem.data.graph = star_with_a_tail(directed);
  problem.split = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 25, 26, 29}, {11, 12, 17, 27, 30}, {13, 14, 18, 28, 31}};
  problem.model = model;
  problem.options.propagation_steps = 7;
  return problem;
}

// Row i gathers from the nodes with an arc into i.
at::Tensor dense_adjacency(const Graph& graph) {
  at::Tensor dense = at::zeros({graph.num_nodes(), graph.num_nodes()}, at::kDouble);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    dense[graph.heads()[e]][graph.tails()[e]] += graph.weights()[e];
    if (!graph.directed()) dense[graph.tails()[e]][graph.heads()[e]] += graph.weights()[e];
  }
  return dense;
}

at::Tensor inverse_or_zero(const at::Tensor& x) { return at::where(x > 0, 1.0 / x, at::zeros_like(x)); }

at::Tensor dense_symmetric(const Graph& graph) {
  const at::Tensor adjacency = dense_adjacency(graph);
  const at::Tensor roots = inverse_or_zero(at::sqrt(adjacency.sum(1)));
  return roots.unsqueeze(1) * adjacency * roots.unsqueeze(0);
}

at::Tensor dense_mean(const Graph& graph) {
  const at::Tensor adjacency = dense_adjacency(graph);
  return inverse_or_zero(adjacency.sum(1)).unsqueeze(1) * adjacency;
}

// What a node has of each other one after `steps`: (1 - a) sum over k < K of a^k M^k, and a^K M^K.
at::Tensor influence(const at::Tensor& matrix, double alpha, int64_t steps) {
  at::Tensor power = at::eye(matrix.size(0), at::kDouble), sum = at::zeros_like(matrix);
  for (int64_t k = 0; k < steps; ++k) {
    sum = sum + power * (1 - alpha);
    power = at::mm(matrix, power) * alpha;
  }
  return sum + power;
}

at::Tensor one_hot_rows(const Problem& problem) {
  at::Tensor rows = at::zeros({problem.data.graph.num_nodes(), problem.data.targets.width}, at::kDouble);
  for (const NodeId node : problem.split.train) rows[node][problem.data.targets.classes[node]] = 1.0;
  return rows;
}

TEST(LabelPropagation, SpreadsClassesAsTheDenseMatrixDoes) {
  for (const bool directed : {false, true}) {
    for (const double alpha : {0.0, 0.63, 1.0}) {
      Problem problem = star_problem("label-propagation", "none", directed);
      problem.options.propagation_alpha = alpha;
      const Training training(problem);
      const Scores scores = make_learner(training.input())->predict();
      const at::Tensor start = one_hot_rows(problem);
      const at::Tensor spread = at::mm(influence(dense_symmetric(problem.data.graph), alpha, 7), start);
      const at::Tensor sums = spread.sum(1, true);
      const at::Tensor shares = start.sum(0, true) / start.sum();
      EXPECT_LE(relative_error(scores.sum(), at::where(sums > 0, spread / sums, shares)), 1e-12) << alpha;
      EXPECT_TRUE(at::equal(scores.network, at::zeros_like(scores.network)));
      EXPECT_TRUE(scores.in_label_space);
      EXPECT_EQ((sums > 0).sum().item<int64_t>() < 45, true);
    }
  }
}

TEST(LabelPropagation, EndsAtTheSolutionOfTheLinearSystem) {
  Problem problem = star_problem("label-propagation", "none");
  problem.options.propagation_alpha = 0.5;
  problem.options.propagation_steps = 60;
  const Training training(problem);
  const at::Tensor rows = make_learner(training.input())->predict().sum().cpu();
  const at::Tensor limit =
      at::mm((at::eye(45, at::kDouble) - dense_symmetric(problem.data.graph) * 0.5).cpu().inverse(),
             one_hot_rows(problem).cpu());
  for (const NodeId node : {0, 5, 11, 24, 27}) {
    EXPECT_LE(relative_error(rows[node], limit[node] / limit[node].sum()), 1e-10) << node;
  }
}

// Values are means of those that reach a node; entries that are missing reach nobody.
TEST(LabelPropagation, AveragesValuesAndLabelsColumnByColumn) {
  for (const bool labels : {false, true}) {
    Problem problem = star_problem("label-propagation", "none");
    problem.options.propagation_alpha = 0.8;
    Targets& targets = problem.data.targets;
    targets = labels ? test::signs_of_features(problem.data.features, 2)
                     : test::smooth_values(problem.data.features, 2);
    targets.values[2 * 3 + 1] = NAN;
    const Training training(problem);
    const at::Tensor predicted = make_learner(training.input())->predict().sum().cpu();
    const at::Tensor weights = influence(dense_mean(problem.data.graph), 0.8, 7).cpu();
    for (NodeId node = 0; node < 45; ++node) {
      for (int64_t c = 0; c < 2; ++c) {
        double sum = 0, weight = 0, all = 0, count = 0;
        for (const NodeId other : problem.split.train) {
          const double value = targets.values[other * 2 + c];
          if (std::isnan(value)) continue;
          sum += weights[node][other].item<double>() * value;
          weight += weights[node][other].item<double>();
          all += value;
          count += 1;
        }
        EXPECT_NEAR(predicted[node][c].item<double>(), weight > 0 ? sum / weight : all / count, 1e-11)
            << node << " " << c;
      }
    }
  }
}

TEST(LabelPropagation, KeepsAConstant) {
  Problem problem = star_problem("label-propagation", "none");
  problem.data.targets = value_targets(std::vector<double>(45, -4.25));
  const Training training(problem);
  const at::Tensor predicted = make_learner(training.input())->predict().sum();
  EXPECT_LE((predicted + 4.25).abs().max().item<double>(), 1e-14);
}

TEST(LabelPropagation, IsOneEpoch) {
  const Problem problem = star_problem("label-propagation", "none");
  const Training training(problem);
  Trainer trainer(training.input());
  EXPECT_FALSE(trainer.can_replay());
  trainer.run();
  EXPECT_TRUE(trainer.finished());
  ASSERT_EQ(trainer.history().size(), 1u);
  EXPECT_EQ(trainer.best_epoch(), 0);
  const at::Tensor rows = trainer.best().predict().sum().cpu();
  const auto loss_of = [&](const std::vector<NodeId>& nodes) {
    double loss = 0;
    for (const NodeId node : nodes) {
      const at::Tensor row = at::clamp(rows[node], 1e-6, 1 - 1e-6);
      loss -= std::log((row[problem.data.targets.classes[node]] / row.sum()).item<double>());
    }
    return loss / static_cast<double>(nodes.size());
  };
  EXPECT_NEAR(trainer.history()[0].loss, loss_of(problem.split.train), 1e-10);
  EXPECT_NEAR(trainer.history()[0].val_loss, loss_of(problem.split.val), 1e-10);
}

// From probabilities `said`: labels where they are known (NaN elsewhere), the published code line by line.
at::Tensor corrected_and_smoothed(const at::Tensor& said, const at::Tensor& labels, const at::Tensor& matrix,
                                  double training_nodes, const LearnOptions& options) {
  const at::Tensor known = at::isfinite(labels);
  const at::Tensor errors = at::where(known, labels - said, at::zeros_like(said));
  at::Tensor spread = errors;
  for (int64_t k = 0; k < options.propagation_steps; ++k) {
    spread = at::mm(matrix, spread) * options.correct_alpha + errors * (1 - options.correct_alpha);
    spread = options.correct_scale > 0 ? at::where(known, errors, spread) : at::clamp(spread, -1.0, 1.0);
  }
  at::Tensor scale = at::full({said.size(0), 1}, options.correct_scale, at::kDouble);
  if (options.correct_scale == 0) {
    for (int64_t node = 0; node < said.size(0); ++node) {
      const double ratio =
          errors.abs().sum().item<double>() / training_nodes / spread[node].abs().sum().item<double>();
      scale[node] = ratio > 1000 || !std::isfinite(ratio) ? 1.0 : ratio;
    }
  }
  const at::Tensor start = at::where(known, labels, said + spread * scale);
  at::Tensor smoothed = start;
  for (int64_t k = 0; k < options.propagation_steps; ++k) {
    smoothed = at::mm(matrix, smoothed) * options.smooth_alpha + start * (1 - options.smooth_alpha);
    smoothed = at::clamp(smoothed, 0.0, 1.0);
  }
  return smoothed;
}

at::Tensor rows_or_nan(const Problem& problem) {
  const Targets& targets = problem.data.targets;
  at::Tensor rows = at::full({problem.data.graph.num_nodes(), targets.width}, NAN, at::kDouble);
  for (const NodeId node : problem.split.train) {
    for (int64_t c = 0; c < targets.width; ++c) {
      rows[node][c] = targets.task == Task::kClassification ? (targets.classes[node] == c ? 1.0 : 0.0)
                                                            : targets.values[node * targets.width + c];
    }
  }
  return rows;
}

TEST(CorrectAndSmooth, IsThePublishedAlgorithmOnceTrainingIsOver) {
  for (const bool labels : {false, true}) {
    for (const double scale : {0.0, 1.7}) {
      Problem problem = star_problem("correct-and-smooth", "mlp");
      if (labels) {
        problem.data.targets = test::signs_of_features(problem.data.features, 2);
        problem.data.targets.values[2 * 3 + 1] = NAN;
      }
      problem.options.correct_alpha = 0.71;
      problem.options.smooth_alpha = 0.36;
      problem.options.correct_scale = scale;
      const Training training(problem);
      Trainer trainer(training.input());
      trainer.run();
      Problem plain = problem;
      plain.options.solver = "ce";
      const Training of_network(plain);
      Trainer network(of_network.input());
      network.run();
      const at::Tensor logits = network.best().predict().network;
      const at::Tensor said = labels ? at::sigmoid(logits) : at::softmax(logits, 1);
      const at::Tensor expected =
          corrected_and_smoothed(said, rows_or_nan(problem), dense_symmetric(problem.data.graph),
                                 static_cast<double>(problem.split.train.size()), problem.options);
      const Scores scores = trainer.best().predict();
      EXPECT_TRUE(scores.in_label_space);
      EXPECT_LE(relative_error(scores.network, said), 1e-14);
      EXPECT_LE(relative_error(scores.sum(), expected), 1e-12) << labels << scale;
      EXPECT_GT((scores.transport.abs() > 0.01).sum().item<int64_t>(), 20);
    }
  }
}

// With a large share of the neighbours the hub gets more than 1; with a small one, errors that reach the tail
// are less than a thousandth of the typical one, and those that do not are 0.
TEST(CorrectAndSmooth, CutsWhatIsTooLarge) {
  for (const double alpha : {0.95, 0.05}) {
    Problem problem = star_problem("correct-and-smooth", "mlp");
    problem.data.targets = class_targets(std::vector<int32_t>(45, 0), {"a", "b", "c"});
    problem.options.correct_alpha = alpha;
    problem.options.smooth_alpha = 0.9;
    const Training training(problem);
    const auto learner = make_learner(training.input());
    const at::Tensor said = at::softmax(learner->predict().network, 1);
    const at::Tensor matrix = dense_symmetric(problem.data.graph), labels = rows_or_nan(problem);
    const at::Tensor errors = at::where(at::isfinite(labels), labels - said, at::zeros_like(said));
    const double typical = errors.abs().sum().item<double>() / 13;
    if (alpha > 0.5) {
      EXPECT_GT((at::mm(matrix, errors) * alpha)[0].abs().max().item<double>(), 1.0);
    } else {
      const at::Tensor sizes = at::mm(influence(matrix, alpha, 7), errors).abs().sum(1);
      EXPECT_GT(((sizes > 0) & (sizes * 1000 < typical)).sum().item<int64_t>(), 1);
      EXPECT_GT((sizes == 0).sum().item<int64_t>(), 1);
    }
    learner->finish();
    EXPECT_LE(relative_error(learner->predict().sum(),
                             corrected_and_smoothed(said, labels, matrix, 13, problem.options)),
              1e-12);
  }
}

TEST(CorrectAndSmooth, TrainsAsCrossEntropyDoes) {
  Problem problem = small_problem("correct-and-smooth");
  const Training training(problem);
  Trainer trainer(training.input());
  trainer.run();
  problem.options.solver = "ce";
  const Training of_network(problem);
  Trainer network(of_network.input());
  network.run();
  test::expect_same_history(trainer.history(), network.history());
  EXPECT_EQ(trainer.best_epoch(), network.best_epoch());
  test::expect_same_bits(test::copies_of(trainer.best().state()), test::copies_of(network.best().state()));
}

TEST(Propagation, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto& [solver, model] :
       {std::pair("label-propagation", "none"), std::pair("correct-and-smooth", "mlp")}) {
    Problem problem = small_problem(solver, 30000);
    problem.type = at::kFloat;
    problem.model = model;
    problem.options.epochs = 1;
    const int of_torch = at::get_num_threads();
    at::Tensor first;
    for (const int threads : {1, 2, 5}) {
      const test::ScopedThreads scope(threads);
      at::set_num_threads(threads);
      const Training training(problem);
      Trainer trainer(training.input());
      trainer.run();
      const at::Tensor predicted = trainer.best().predict().sum();
      if (!first.defined()) first = predicted;
      EXPECT_TRUE(test::same_bits(predicted, first)) << solver << threads;
    }
    at::set_num_threads(of_torch);
  }
}

std::string refusal_of(const Problem& problem, const std::string& network_from = {}) {
  const Training training(problem);
  const LearnInput input = training.input();
  return test::error_of([&] {
    make_learner({input.topology, input.targets, input.split, input.graph, input.features, input.model,
                  input.model_options, input.options, input.seed, network_from});
  });
}

TEST(Propagation, SaysWhatItCannotDo) {
  EXPECT_EQ(refusal_of(star_problem("label-propagation", "gcn")),
            "solver label-propagation has no network: add --model none");
  for (const char* solver : {"ce", "bregman", "exact", "correct-and-smooth"}) {
    EXPECT_EQ(refusal_of(star_problem(solver, "none")), std::string("model none has nothing that solver ") +
                                                            solver +
                                                            " could learn; use --solver label-propagation");
  }
  Problem problem = star_problem("label-propagation", "none");
  problem.options.balanced = true;
  EXPECT_EQ(refusal_of(problem), "--balanced weighs a loss, which solver label-propagation has not");
  problem = star_problem("label-propagation", "none");
  problem.options.edge_weights = true;
  EXPECT_EQ(refusal_of(problem), "--edge-weights need a flow, which solver label-propagation has not");
  problem = star_problem("correct-and-smooth", "gcn");
  problem.options.edge_weights = true;
  EXPECT_EQ(refusal_of(problem), "--edge-weights need a flow, which solver correct-and-smooth has not");
  problem = star_problem("correct-and-smooth", "gcn");
  problem.data.targets = test::smooth_values(problem.data.features, 1);
  EXPECT_EQ(refusal_of(problem),
            "solver correct-and-smooth corrects probabilities; the target has values, use mse");
}

TEST(Propagation, FitsNoFlowToANetwork) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "model.safetensors";
  for (const auto& [solver, model] :
       {std::pair("label-propagation", "none"), std::pair("correct-and-smooth", "mlp")}) {
    const Problem problem = star_problem(solver, model);
    const Training training(problem);
    const auto learner = make_learner(training.input());
    save_model(file, learner->model_config(), learner->model());
    EXPECT_EQ(refusal_of(problem, file),
              std::string("solver ") + solver + " has no flow to fit; use proximal or exact");
  }
}

}  // namespace
}  // namespace qw
