// Every model against values computed without it: by dense formulas of its paper (tests/golden), and by the
// published model (files under $QW_GOLDEN_DIR/models).
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "qw/ops/incidence.h"
#include "support/device.h"
#include "support/support.h"
#include "support/torch/golden_models.h"

namespace qw {
namespace {

using test::GoldenCase;
using test::relative_error;

// Numbers may differ by a share of the largest of their tensor. Some gradients are sums that cancel: to
// rounding for those of an attention (the softmax forgets what all scores of a row share), nearly for the
// predictor's last bias. What rounding leaves of them is `rounding` of the largest gradient of the loss.
struct Tolerance {
  double share;
  double rounding;
};
Tolerance tolerance_of(at::ScalarType type) {
  if (type == at::kDouble) return {1e-12, 8 * std::numeric_limits<double>::epsilon()};
  return {1e-5, 8 * std::numeric_limits<float>::epsilon()};
}

// A case in one floating-point type, its features dense or sparse, with a flow that is differentiated.
struct GoldenRun {
  GoldenRun(const GoldenCase& golden, at::ScalarType type, bool sparse)
      : graph(golden.graph(), test::options(type)),
        features(features_of(golden, type, sparse)),
        model(golden.make_model(type)),
        flow(golden.tensor("flow", type).requires_grad_()),
        predictor_parameters(1, test::options(type)),
        train(golden.tensor("train_index", at::kLong)),
        classes(golden.tensor("y", at::kLong).index_select(0, train)) {
    at::Tensor edge_weights;
    if (golden.has_predictor()) edge_weights = golden.make_predictor(predictor_parameters).forward(flow);
    logits = model->forward({graph, features, edge_weights});
    prediction = logits + incidence(flow, graph.incidence());
  }

  static NodeMatrix features_of(const GoldenCase& golden, at::ScalarType type, bool sparse) {
    const at::Tensor x = golden.tensor("x", type);
    if (!sparse) return x;
    Features rows{x.size(0), x.size(1), true, {}, {0}, {}, {}, {}};
    const at::Tensor numbers = x.cpu().to(at::kFloat).contiguous();
    for (int64_t row = 0; row < rows.rows; ++row) {
      for (int64_t column = 0; column < rows.columns; ++column) {
        rows.indices.push_back(static_cast<int32_t>(column));
        rows.values.push_back(numbers[row][column].item<float>());
      }
      rows.offsets.push_back(static_cast<int64_t>(rows.indices.size()));
    }
    return {rows, test::options(type)};
  }

  at::Tensor loss(const std::string& name, double lambda) const {
    const at::Tensor scores = (name.starts_with("qw") ? prediction : logits).index_select(0, train);
    const at::Tensor divergence =
        name == "ce" || name == "qw_kl"
            ? at::cross_entropy_loss(scores, classes)
            : at::mse_loss(scores, at::one_hot(classes, scores.size(1)).to(scores.scalar_type()));
    return name.starts_with("qw") ? flow.abs().sum() + lambda * divergence : divergence;
  }

  GraphTensors graph;
  NodeMatrix features;
  std::unique_ptr<Model> model;
  at::Tensor flow;
  ParameterSet predictor_parameters;
  at::Tensor train, classes, logits, prediction;
};

class GoldenModels : public testing::TestWithParam<std::filesystem::path> {};

void expect_gradients(const GoldenCase& golden, const GoldenRun& run, const std::string& loss) {
  std::map<std::string, at::Tensor> parameters{{golden.flow_name(), run.flow}};
  for (const Parameter& parameter : run.model->parameters().all()) {
    parameters[parameter.name] = parameter.value;
  }
  for (const Parameter& parameter : run.predictor_parameters.all()) {
    parameters[golden.predictor_name(parameter.name)] = parameter.value;
  }
  std::vector<at::Tensor> inputs;
  for (const auto& [name, value] : parameters) inputs.push_back(value);
  const auto gradients =
      torch::autograd::grad({run.loss(loss, golden.lambda())}, inputs, {}, /*retain_graph=*/true,
                            /*create_graph=*/false, /*allow_unused=*/true);
  double largest = 0;
  for (const auto& [name, value] : parameters) {
    const at::Tensor expected = golden.tensor("grad/" + loss + "/" + name, value.scalar_type());
    ASSERT_TRUE(expected.defined()) << loss << " " << name;
    largest = std::max(largest, expected.abs().max().item<double>());
  }
  const Tolerance tolerance = tolerance_of(run.flow.scalar_type());
  size_t at = 0;
  for (const auto& [name, value] : parameters) {
    const at::Tensor expected = golden.tensor("grad/" + loss + "/" + name, value.scalar_type());
    const at::Tensor& given = gradients[at++];
    const at::Tensor gradient = given.defined() ? given : at::zeros_like(value);
    const double own = expected.abs().max().item<double>();
    EXPECT_LE((gradient - expected).abs().max().item<double>(),
              tolerance.share * own + tolerance.rounding * largest)
        << golden.name() << " " << loss << " " << name << ", largest " << own << " of " << largest;
  }
}

TEST_P(GoldenModels, LogitsLossesAndGradientsAgree) {
  const GoldenCase golden(GetParam());
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const Tolerance tolerance = tolerance_of(type);
    const GoldenRun run(golden, type, false);
    EXPECT_LE(relative_error(run.logits, golden.tensor("logits", type)), tolerance.share);
    EXPECT_LE(relative_error(run.prediction, golden.tensor("pred/transductive", type)), tolerance.share);
    for (const std::string loss : {"ce", "mse", "qw_kl", "qw_ls"}) {
      EXPECT_LE(
          relative_error(run.loss(loss, golden.lambda()).reshape({1}), golden.tensor("loss/" + loss, type)),
          tolerance.share)
          << loss;
      expect_gradients(golden, run, loss);
    }
  }
}

TEST_P(GoldenModels, SparseFeaturesGiveTheSame) {
  const GoldenCase golden(GetParam());
  const GoldenRun run(golden, at::kFloat, true);
  EXPECT_LE(relative_error(run.logits, golden.tensor("logits", at::kFloat)), tolerance_of(at::kFloat).share);
  expect_gradients(golden, run, "ce");
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModels, testing::ValuesIn(test::golden_model_files()),
                         test::golden_file_name);

TEST(Golden, EveryNetworkHasOwnValues) {
  for (const ModelInfo& info : models()) {
    if (info.name == "none") continue;
    const std::filesystem::path path = test::own_golden_folder() / "models" / (info.name + ".json");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST(Golden, PublishedValuesAreHere) {
  QW_SKIP_WITHOUT(test::golden_folder() / "models");
  EXPECT_GT(test::golden_model_files().size(), test::own_golden_model_files().size());
}

}  // namespace
}  // namespace qw
