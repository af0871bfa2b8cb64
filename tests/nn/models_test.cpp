// What every model owes, walked through the registry: a new model is tested by being registered.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <fstream>
#include <set>

#include "core/file.h"
#include "nn/model_options.h"
#include "qw/graph/generators.h"
#include "qw/learn/optimizer.h"
#include "qw/nn/model_file.h"
#include "qw/ops/divergence.h"
#include "support/support.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::error_of;

Graph small_graph(bool directed = false) {
  GraphOptions options;
  options.directed = directed;
  // Node 7 is isolated, node 6 hangs on one edge.
  return Graph::build(
      test::edge_list(8, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 5}, {5, 3}, {1, 5}, {6, 0}}), options);
}

at::Tensor numbers(at::IntArrayRef shape, at::ScalarType type, double scale = 0.37) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return at::sin(at::arange(count, at::kDouble) * scale + 0.5).reshape(shape).to(type);
}

std::unique_ptr<Model> make(const std::string& name, const Graph& graph, const ModelOptions& options,
                            at::ScalarType type, uint64_t seed = 3) {
  return find_model(name).make(model_shape(graph, 5, 3), options, seed, test::options(type));
}

ModelOptions small_options() {
  ModelOptions options;
  options.hidden = 6;
  options.heads = 2;
  options.k = 3;
  return options;
}

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  at::Tensor forward(const Graph& graph, Model& model, const at::Tensor& edge_weights = {},
                     bool training = false) const {
    const at::ScalarType type = model.parameters().all().front().value.scalar_type();
    const GraphTensors tensors(graph, test::options(type));
    const NodeMatrix features(numbers({graph.num_nodes(), 5}, type));
    return model.forward({tensors, features, edge_weights, training, 11, 4});
  }
};

TEST_P(EveryModel, GivesOneFiniteRowPerNodeWithEveryOption) {
  for (const bool directed : {false, true}) {
    const Graph graph = small_graph(directed);
    for (const std::string norm : {"none", "batch", "layer"}) {
      for (const int64_t layers : {1, 2, 3}) {
        for (const bool residual : {false, true}) {
          ModelOptions options = small_options();
          options.norm = norm;
          options.layers = layers;
          options.residual = residual;
          options.dprate = 0.3;
          const auto model = make(GetParam(), graph, options, at::kFloat);
          for (const bool training : {true, false}) {
            const at::Tensor scores = forward(graph, *model, {}, training);
            EXPECT_EQ(scores.sizes(), at::IntArrayRef({8, 3}));
            EXPECT_TRUE(at::isfinite(scores).all().item<bool>()) << norm << layers << residual << training;
          }
        }
      }
    }
  }
}

TEST_P(EveryModel, EveryParameterGetsAGradientThatFiniteDifferencesConfirm) {
  const Graph graph = small_graph();
  ModelOptions options = small_options();
  options.residual = true;
  options.norm = "layer";
  const auto model = make(GetParam(), graph, options, at::kDouble);
  const at::Tensor edge_weights = (numbers({graph.num_edges()}, at::kDouble).abs() + 0.5).requires_grad_();
  const at::Tensor direction = numbers({8, 3}, at::kDouble, 1.7);
  const auto value = [&] { return (forward(graph, *model, edge_weights) * direction).sum(); };
  std::vector<at::Tensor> inputs{edge_weights};
  std::vector<std::string> names{"edge weights"};
  for (const Parameter& parameter : model->parameters().all()) {
    inputs.push_back(parameter.value);
    names.push_back(parameter.name);
  }
  const bool sees_edges = GetParam() != "mlp";
  const auto gradients = torch::autograd::grad({value()}, inputs, {}, false, false, true);
  for (size_t i = sees_edges ? 0 : 1; i < inputs.size(); ++i) {
    ASSERT_TRUE(gradients[i].defined()) << names[i];
    EXPECT_TRUE(at::isfinite(gradients[i]).all().item<bool>()) << names[i];
    // Along one direction of all its elements at once.
    const at::Tensor along = numbers(inputs[i].sizes(), at::kDouble, 0.9);
    const double expected = (gradients[i] * along).sum().item<double>();
    constexpr double kStep = 1e-6;
    const at::NoGradGuard no_gradient;
    inputs[i].add_(along, kStep);
    const double above = value().item<double>();
    inputs[i].sub_(along, 2 * kStep);
    const double below = value().item<double>();
    inputs[i].add_(along, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 1e-6 * std::max(1.0, std::abs(expected)))
        << names[i];
  }
}

TEST_P(EveryModel, WeightsOfOneChangeNothing) {
  const Graph graph = small_graph();
  const auto model = make(GetParam(), graph, small_options(), at::kDouble);
  const at::Tensor plain = forward(graph, *model);
  const at::Tensor weighted = forward(graph, *model, at::ones({graph.num_edges()}, at::kDouble));
  EXPECT_LE(test::relative_error(weighted, plain), 1e-14);
}

// An undirected graph is the directed one with both arcs of every edge.
TEST_P(EveryModel, UndirectedIsBothDirections) {
  const Graph graph = small_graph();
  EdgeList both;
  both.num_nodes = graph.num_nodes();
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    for (const auto& [from, to] :
         {std::pair(graph.heads()[e], graph.tails()[e]), std::pair(graph.tails()[e], graph.heads()[e])}) {
      both.tails.push_back(from);
      both.heads.push_back(to);
    }
  }
  GraphOptions options;
  options.directed = true;
  const Graph arcs = Graph::build(both, options);
  const auto model = make(GetParam(), graph, small_options(), at::kDouble);
  EXPECT_LE(test::relative_error(forward(arcs, *model), forward(graph, *model)), 1e-14);
}

// As PyTorch Geometric's default: on one arc 0 -> 1 node 1 hears of node 0, and node 0 of nobody.
TEST(MessagePassing, GoesFromTheSourceOfAnArcToItsTarget) {
  GraphOptions directed;
  directed.directed = true;
  const Graph arc = Graph::build(test::edge_list(2, {{0, 1}}), directed);
  for (const char* name : {"gcn", "gat", "gin", "graphsage", "appnp"}) {
    const auto model = make(name, arc, small_options(), at::kDouble);
    const GraphTensors tensors(arc, test::options(at::kDouble));
    const auto scores = [&](int64_t changed_node) {
      at::Tensor features = numbers({2, 5}, at::kDouble);
      if (changed_node >= 0) features[changed_node].mul_(-3.0).add_(1.0);
      return model->forward({tensors, NodeMatrix(features), {}, false, 11, 4});
    };
    const at::Tensor plain = scores(-1), source_changed = scores(0), target_changed = scores(1);
    EXPECT_GT((source_changed[1] - plain[1]).abs().max().item<double>(), 1e-6) << name;
    EXPECT_EQ((target_changed[0] - plain[0]).abs().max().item<double>(), 0) << name;
  }
}

// Forward, loss, backward, Adam, on a graph large enough for several threads.
TEST_P(EveryModel, TrainingStepsHaveTheSameBitsForAnyNumberOfThreads) {
  const Dataset data = generate("csbm:nodes=3000,degree=12,features=40,classes=3,seed=5");
  const auto trained = [&](int threads, bool batch) {
    const test::ScopedThreads scoped(threads);
    at::set_num_threads(threads);
    ModelOptions options;
    options.hidden = 16;
    options.norm = batch ? "batch" : "layer";
    const GraphTensors graph(data.graph, test::options(at::kFloat));
    const NodeMatrix features(data.features, test::options(at::kFloat));
    const auto model = find_model(GetParam())
                           .make(model_shape(data.graph, data.features.columns, data.targets.width), options,
                                 7, test::options(at::kFloat));
    Optimizer optimizer({&model->parameters()},
                        {{ParameterRole::kBackbone, {0.01, 5e-4}}, {ParameterRole::kFilter, {0.01, 0.0}}});
    at::Tensor nodes = at::arange(0, 3000, 2, at::kInt);
    at::Tensor classes = at::empty_like(nodes);
    for (int64_t i = 0; i < 1500; ++i) classes[i] = data.targets.classes[2 * i];
    const at::Tensor none = at::empty({0});
    double loss = 0;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const at::Tensor scores = model->forward({graph, features, {}, true, 9, epoch});
      const auto [value, gradient] =
          divergence(Divergence::kSoftmax, scores.detach(), none, {nodes, classes, none, none}, 1.0 / 1500);
      scores.backward(gradient);
      optimizer.step();
      loss = value.item<double>();
    }
    std::vector<at::Tensor> result{at::scalar_tensor(loss, at::kDouble)};
    for (const Parameter& parameter : model->parameters().all()) result.push_back(parameter.value.detach());
    for (const Buffer& buffer : model->parameters().buffers()) result.push_back(buffer.value);
    return result;
  };
  for (const bool batch : {false, true}) {
    const auto one = trained(1, batch), two = trained(2, batch), five = trained(5, batch);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(at::equal(one[i], two[i])) << i;
      EXPECT_TRUE(at::equal(one[i], five[i])) << i;
    }
  }
}

TEST_P(EveryModel, SaveLoadSaveIsTheSame) {
  const test::TemporaryFolder folder;
  const Graph graph = small_graph();
  ModelOptions options = small_options();
  options.norm = "batch";
  const ModelConfig config{GetParam(), options, model_shape(graph, 5, 3)};
  const auto model = make(GetParam(), graph, options, at::kFloat);
  forward(graph, *model, {}, true);  // moves the running means
  const auto first = folder.path() / "first.safetensors", second = folder.path() / "second.safetensors";
  save_model(first, config, *model);
  const LoadedModel loaded = load_model(first, test::options(at::kFloat));
  save_model(second, loaded.config, *loaded.model);
  for (const char* extension : {".safetensors", ".json"}) {
    EXPECT_EQ(read_file(std::filesystem::path(first).replace_extension(extension)),
              read_file(std::filesystem::path(second).replace_extension(extension)));
  }
  EXPECT_TRUE(at::equal(forward(graph, *loaded.model), forward(graph, *model)));
}

TEST_P(EveryModel, TheSeedDecidesTheStart) {
  const Graph graph = small_graph();
  const auto one = make(GetParam(), graph, small_options(), at::kFloat, 1);
  const auto again = make(GetParam(), graph, small_options(), at::kFloat, 1);
  const auto other = make(GetParam(), graph, small_options(), at::kFloat, 2);
  EXPECT_TRUE(at::equal(forward(graph, *one), forward(graph, *again)));
  EXPECT_FALSE(at::equal(forward(graph, *one), forward(graph, *other)));
}

TEST_P(EveryModel, DropoutIsANewDrawInEveryEpoch) {
  const Graph graph = small_graph();
  const GraphTensors tensors(graph, test::options(at::kFloat));
  const NodeMatrix features(numbers({8, 5}, at::kFloat));
  const auto model = make(GetParam(), graph, small_options(), at::kFloat);
  const auto scores = [&](int64_t epoch) { return model->forward({tensors, features, {}, true, 1, epoch}); };
  EXPECT_TRUE(at::equal(scores(3), scores(3)));
  EXPECT_FALSE(at::equal(scores(3), scores(4)));
}

// One layer has no dropout but that of its input, which GCN has not, as published.
TEST_P(EveryModel, DropsFeaturesAsThePublishedModelDoes) {
  const Graph graph = small_graph();
  ModelOptions options = small_options();
  options.layers = 1;
  const auto model = make(GetParam(), graph, options, at::kFloat);
  const bool drops = !at::equal(forward(graph, *model, {}, true), forward(graph, *model, {}, false));
  EXPECT_EQ(drops, GetParam() != "gcn" && GetParam() != "gcn-lpa");
}

TEST_P(EveryModel, IsDocumented) {
  const ModelInfo& info = find_model(GetParam());
  EXPECT_FALSE(info.summary.empty());
  ModelOptions options;
  std::set<std::string> known;
  const FieldTable table = model_fields(options);
  for (const Field& field : table.fields()) known.insert(field.name);
  for (const std::string& option : info.options) EXPECT_TRUE(known.contains(option)) << option;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  return names;
}

// Model none learns nothing: see none_test.cpp.
std::vector<std::string> names_of_networks() {
  std::vector<std::string> names = model_names();
  std::erase(names, "none");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(names_of_networks()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Models, AreTheEightOfThePaperMlpAndNone) {
  EXPECT_EQ(model_names(), (std::vector<std::string>{"appnp", "bernnet", "chebnetii", "gat", "gcn", "gcn-lpa",
                                                     "gin", "graphsage", "mlp", "none"}));
}

TEST(Models, UnknownNamesListTheKnown) {
  EXPECT_EQ(
      error_of([] { find_model("gnc"); }),
      "model 'gnc' is unknown; did you mean 'gcn'? known: appnp, bernnet, chebnetii, gat, gcn, gcn-lpa, "
      "gin, graphsage, mlp, none");
}

TEST(Models, ParameterNamesAreThoseOfPyTorchGeometric) {
  const auto names = [](const std::string& model) {
    std::set<std::string> all;
    const auto made = make(model, small_graph(), {}, at::kFloat);
    for (const Parameter& each : made->parameters().all()) all.insert(each.name);
    return all;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names("gcn"), (Names{"conv1.lin.weight", "conv1.bias", "conv2.lin.weight", "conv2.bias"}));
  EXPECT_EQ(names("gat"), (Names{"conv1.att_src", "conv1.att_dst", "conv1.bias", "conv1.lin.weight",
                                 "conv2.att_src", "conv2.att_dst", "conv2.bias", "conv2.lin.weight"}));
  EXPECT_EQ(names("bernnet"), (Names{"lin1.weight", "lin1.bias", "lin2.weight", "lin2.bias", "prop1.temp"}));
}

}  // namespace
}  // namespace qw
