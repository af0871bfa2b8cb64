// One training: a network, its optimiser and, for the QW loss, a flow; and solvers, the ways to take a step.
//
// A solver is one file in src/learn/solvers: a class with step() and its registration, and what it makes of
// the scores once training is over.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/graph/split.h"
#include "qw/graph/targets.h"
#include "qw/learn/flow.h"
#include "qw/learn/labels.h"
#include "qw/learn/optimizer.h"
#include "qw/learn/options.h"
#include "qw/nn/edge_predictor.h"
#include "qw/nn/model_file.h"

namespace QW_PUBLIC qw {

class TrainingPart;

// What is learned from. Must outlive the learner.
struct LearnInput {
  const Graph& topology;       // the graph as it was built
  const Targets& targets;      // labels of all nodes that have one
  const Split& split;          // who trains, validates and tests
  const GraphTensors& graph;   // the same graph, as the network multiplies with it
  const NodeMatrix& features;  // scaled
  std::string model;           // a name of models()
  ModelOptions model_options;  // of the network
  LearnOptions options;        // of loss, solver and protocol
  uint64_t seed = 0;           // of initial values and dropouts
  std::filesystem::path
      network_from;  // a model file: its network is taken and stays as it is; only the flow is learned
  // By which values were divided before they became `targets`, column by column: metrics are in the units of
  // before. Empty: they were not.
  std::vector<double> units{};
  // Not null: the graph has other parts, which are learned from elsewhere, and all that is above is of this
  // one; `topology` is not looked at.
  const TrainingPart* part = nullptr;
};

// The labels of some of input's nodes; `known` counts those of all parts.
LabelTensors labels_of(const LearnInput& input, std::span<const NodeId> nodes);

// A number that was computed on a device and may still be there: to look at it is to wait for it.
class Measured {
 public:
  Measured() = default;
  // `value` times `factor`.
  explicit Measured(at::Tensor value, double factor = 1) : value_(std::move(value)), factor_(factor) {}
  // Waits for the device.
  operator double() const;                             // NOLINT(google-explicit-constructor): it is a number
  const at::Tensor& tensor() const { return value_; }  // [] float64, without the factor

 private:
  at::Tensor value_;
  double factor_ = 1;
};

// What a step minimised.
struct StepReport {
  Measured loss;        // what was minimised: flow cost + lambda * divergence, or the divergence alone
  Measured divergence;  // mean (or sum) over the training nodes, before the step
};

// Their sum is the loss by which epochs are compared. [] float64.
struct ValidationLoss {
  at::Tensor divergence;  // lambda times the mean over the nodes, or the mean alone
  at::Tensor flow_cost;   // undefined without a flow

  // Waits for the device.
  double sum() const;
};

// What is predicted: their sum.
struct Scores {
  at::Tensor network;    // [N, C]
  at::Tensor transport;  // [N, C], or [0] without a flow
  bool in_label_space =
      false;  // probabilities, and what transport adds to them; else logits (values are the same in both)

  // [N, C]: network plus transport, where there is any.
  at::Tensor sum() const;
};

// Logits as probabilities: softmax over classes, sigmoid for 0/1 labels; values stay.
at::Tensor to_label_space(Divergence kind, const at::Tensor& logits);
// What the scores say: a distribution over the classes, or one probability a label. In label space transport
// may lead out of [0, 1]: what does is cut off. Not for values.
at::Tensor probabilities(Divergence kind, const Scores& scores);

// The state of a training and one step of it. Solvers derive from it.
class Learner {
 public:
  // Makes the network, or takes that of input.network_from, and its optimiser.
  explicit Learner(const LearnInput& input);
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  // One step; the epoch names the random numbers of the dropouts.
  virtual StepReport step(int64_t epoch) = 0;

  virtual Scores predict();  // without dropout, and without a gradient
  // Training is over: from here on predict() gives what SolverInfo::finish makes of the scores.
  void finish() { finished_ = true; }
  // The divergence of the scores on labelled nodes, always their mean, as the loss weighs it: lambda times it
  // plus the flow's cost, or it alone.
  virtual ValidationLoss validation_loss(const Scores& scores, const LabelTensors& labels);
  // Whether more steps would change nothing that matters; only ever true without a network that learns.
  virtual bool settled() const { return false; }
  // Whether steps and predictions work on the device alone, so that they can be captured.
  virtual bool stays_on_device() const { return !network_is_fixed(); }
  // By how much the numbers that name the random numbers of dropouts grow from epoch to epoch.
  virtual int64_t draws_per_epoch() const { return 1; }

  // The network.
  Model& model() { return *model_; }
  // What it takes to make the network again.
  const ModelConfig& model_config() const { return config_; }
  int64_t parameter_count() const;  // numbers in the network and its edge predictor
  // The flow, or nullptr where the solver has none.
  Flow* flow() { return flow_ ? &*flow_ : nullptr; }
  // The divergence that the task is trained with.
  Divergence kind() const { return kind_; }

  // Everything that changes: what a checkpoint saves, tensors by name and counts by name.
  virtual std::vector<Buffer> state() const;
  // Steps of the network and of the flow.
  std::vector<int64_t> counts() const;
  void set_counts(const std::vector<int64_t>& counts);
  // Throws qw::Error, naming `from`, on what is not the state of a learner like this one.
  void restore(const std::vector<Buffer>& tensors, const std::vector<int64_t>& counts,
               const std::string& from);
  // The part of it that predicts: parameters, buffers, the flow.
  std::vector<Buffer> predicting_state() const;
  // Whether it belongs to nodes or edges, so that each part of a graph has its own.
  static bool is_of_part(std::string_view state_name);

 protected:
  void use_flow(FlowRule rule);  // called by the constructors of solvers that have one
  // Scores of the network; `draw` names the random numbers of the dropouts.
  at::Tensor forward(bool training, int64_t draw);
  // One step of the network down this gradient of the scores [N, C]; none when the network is fixed.
  void descend(const at::Tensor& scores, const at::Tensor& gradient);
  // One step of the network with the gradients that backward() left, and one of the flow down this gradient
  // of the scores [N, C].
  void step_network();
  void step_flow(const at::Tensor& gradient);
  // Whether the network came from a file and stays as it is.
  bool network_is_fixed() const { return !input_.network_from.empty(); }
  virtual void restored() {}  // called after the tensors of state() were overwritten
  // weight * divergence of scores + S F, and its gradient [N, C]. The value is [] in float64, or with a flow
  // [2]: itself, and with the flow's cost added.
  std::tuple<at::Tensor, at::Tensor> weighed(const at::Tensor& scores, double weight);
  StepReport report_with_flow(const at::Tensor& weighed) const;  // of a value [2], weighed by lambda

  // As given to the constructor.
  const LearnInput input_;
  // Of the task.
  Divergence kind_;
  // Of the training nodes.
  LabelTensors labels_;
  double scale_ = 1;  // what makes the sum of divergences what `reduction` asks for
  // Of `model_`.
  ModelConfig config_;
  // The network.
  std::unique_ptr<Model> model_;
  // The edge-weight predictor and its parameters, where there is one.
  ParameterSet predictor_parameters_;
  std::optional<EdgePredictor> predictor_;
  // Of the network and the predictor.
  std::optional<Optimizer> optimizer_;
  // Made by use_flow().
  std::optional<Flow> flow_;
  // [0]: stands for a transport that is not there.
  at::Tensor none_;
  at::Tensor fixed_scores_;  // of a fixed network, once computed
  // Set by finish().
  bool finished_ = false;
};

// What a prediction can go by beside the scores of network and flow.
struct FinishInput {
  const GraphTensors& graph;    // of the data that is predicted
  const LabelTensors& labels;   // of the training nodes
  Divergence kind;              // of the task
  const LearnOptions& options;  // of the training
};

// An entry of the list of solvers.
struct SolverInfo {
  std::string name;                                     // as in LearnOptions::solver
  std::string summary;                                  // one line for --help
  std::unique_ptr<Learner> (*make)(const LearnInput&);  // the learner
  bool has_flow = false;                                // whether the loss is QW
  // What is predicted when training is over, of the scores of network and flow, and again when a folder is
  // read; null: these scores.
  Scores (*finish)(const Scores&, const FinishInput&) = nullptr;
  bool has_network = true;                // else it wants a model without parameters
  std::vector<std::string> options = {};  // the fields of LearnOptions that it heeds beyond those all heed
};
// Every solver, by name.
const std::vector<SolverInfo>& solvers();
// Throws qw::UsageError that lists the known ones.
const SolverInfo& find_solver(std::string_view name);
// The learner of options.solver; throws qw::UsageError when that is unknown or does not go with the model.
std::unique_ptr<Learner> make_learner(const LearnInput& input);

// Adds a solver to solvers(): for the last lines of its file, with make_solver.
struct SolverRegistration {
  // At program start.
  explicit SolverRegistration(SolverInfo info);
};
// SolverInfo::make of a learner class.
template <class Concrete>
std::unique_ptr<Learner> make_solver(const LearnInput& input) {
  return std::make_unique<Concrete>(input);
}

}  // namespace qw
