// The QW loss on a torch::nn module of one's own: the network gives every node a row of scores g, the flow F
// moves label mass along edges, and both learn from
//   sum over edges of cost * |F|  +  lambda * mean over labelled nodes of B(g + S F, label).
#include <torch/torch.h>

#include <iostream>

#include "qw/core.h"
#include "qw/data.h"
#include "qw/graph.h"
#include "qw/learn.h"
#include "qw/nn.h"
#include "qw/ops.h"

namespace {

constexpr double kLambda = 200;
constexpr int kEpochs = 100;

struct Network : torch::nn::Module {
  Network(int64_t features, int64_t hidden, int64_t classes)
      : first(register_module("first", torch::nn::Linear(features, hidden))),
        second(register_module("second", torch::nn::Linear(hidden, classes))) {}

  torch::Tensor forward(const torch::Tensor& features, const qw::PropagationMatrix& graph) {
    const torch::Tensor hidden = torch::relu(qw::spmm(graph.pattern, graph.values, first(features)));
    return qw::spmm(graph.pattern, graph.values, second(hidden));
  }

  torch::nn::Linear first, second;
};

double accuracy(const torch::Tensor& scores, const qw::LabelTensors& labels) {
  const torch::Tensor predicted = scores.argmax(1).index_select(0, labels.nodes);
  return predicted.eq(labels.classes).to(torch::kDouble).mean().item<double>();
}

void train(const qw::Dataset& dataset) {
  const torch::TensorOptions options = torch::kFloat;
  const qw::Split split = qw::make_split(dataset, "random:train=0.1,val=0.1", /*seed=*/1);
  const qw::LabelTensors known = qw::label_tensors(dataset.targets, split.train, options);
  const qw::LabelTensors unseen = qw::label_tensors(dataset.targets, split.test, options);
  const int64_t classes = dataset.targets.width;

  const torch::Tensor features = qw::NodeMatrix(dataset.features, options).dense();
  const qw::PropagationMatrix matrix = qw::GraphTensors(dataset.graph, options).with_self_loops();
  Network network(features.size(1), /*hidden=*/32, classes);
  torch::optim::Adam optimizer(network.parameters(), /*lr=*/0.01);

  qw::FlowOptions flow_options;
  flow_options.step.rule = qw::FlowRule::kProximal;
  qw::Flow flow(dataset.graph, split.train, classes, flow_options, options);

  const double scale = kLambda * qw::mean_scale(qw::Divergence::kSoftmax, known, classes);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    optimizer.zero_grad();
    const torch::Tensor scores = network.forward(features, matrix);
    const auto [value, gradient] =
        qw::divergence(qw::Divergence::kSoftmax, scores.detach(), flow.transported(), known, scale);
    if (epoch == 1 || epoch % 20 == 0) {
      std::cout << "epoch " << epoch << ": loss " << value.item<double>() + flow.cost() << "\n";
    }
    scores.backward(gradient);  // the same gradient moves the network and, along edges, the flow
    optimizer.step();
    flow.step(gradient);
  }

  const torch::NoGradGuard no_gradient;
  const torch::Tensor scores = network.forward(features, matrix) + flow.transported();
  std::cout << "accuracy: " << accuracy(scores, known) << " of the training nodes, "
            << accuracy(scores, unseen) << " of the test nodes\n"
            << "flow: " << flow.summary().nonzeros << " of " << flow.summary().entries
            << " entries are not zero\n";
}

}  // namespace

int main() {
  try {
    torch::manual_seed(1);
    train(qw::load_dataset("csbm:nodes=600,degree=8,homophily=0.6,features=16,classes=3,signal=0.6,seed=1"));
  } catch (const qw::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
