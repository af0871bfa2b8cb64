#include "qw/learn/learner.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "learn/training_part.h"
#include "nn/tensor_file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::vector<SolverInfo>& registry() {
  static std::vector<SolverInfo> solvers;
  return solvers;
}

// Inverse shares, so that every class weighs the same in the mean.
at::Tensor balancing_weights(const LearnInput& input) {
  const Targets& targets = input.part ? input.part->all_targets() : input.targets;
  const std::vector<NodeId>& nodes = input.part ? input.part->all_split().train : input.split.train;
  std::vector<double> counts(targets.width, 0.0);
  for (const NodeId node : nodes) counts[targets.classes[node]] += 1.0;
  at::Tensor weights = at::ones({targets.width}, at::kDouble);
  for (int64_t c = 0; c < targets.width; ++c) {
    if (counts[c] > 0) {
      weights[c] = static_cast<double>(nodes.size()) / (static_cast<double>(targets.width) * counts[c]);
    }
  }
  return weights.to(input.graph.options());
}

// What to_label_space would make these probabilities of; values stay.
at::Tensor logits_of(Divergence kind, const Scores& scores) {
  if (kind == Divergence::kLeastSquares) return scores.sum();
  const at::Tensor chances = probabilities(kind, scores);
  return kind == Divergence::kSoftmax ? at::log(chances) : at::logit(chances);
}

// The gradients of all parts, added.
void add_over_parts(const TrainingPart& part, const std::vector<const ParameterSet*>& sets) {
  std::vector<at::Tensor> learned, mine;
  for (const ParameterSet* set : sets) {
    for (const Parameter& parameter : set->all()) {
      if (!parameter.value.grad().defined()) continue;
      learned.push_back(parameter.value);
      mine.push_back(parameter.value.grad().reshape({-1}));
    }
  }
  const at::Tensor total = part.sum(at::cat(mine));
  int64_t at = 0;
  for (const at::Tensor& each : learned) {
    each.mutable_grad() = total.narrow(0, at, each.numel()).view(each.sizes());
    at += each.numel();
  }
}

}  // namespace

const std::vector<SolverInfo>& solvers() { return registry(); }

LabelTensors labels_of(const LearnInput& input, std::span<const NodeId> nodes) {
  LabelTensors labels = label_tensors(input.targets, nodes, input.graph.options());
  if (input.part) labels.known = input.part->sum(at::scalar_tensor(labels.known, at::kLong)).item<int64_t>();
  return labels;
}

SolverRegistration::SolverRegistration(SolverInfo info) {
  auto& solvers = registry();
  const auto place = std::find_if(solvers.begin(), solvers.end(),
                                  [&](const SolverInfo& other) { return other.name > info.name; });
  solvers.insert(place, info);
}

const SolverInfo& find_solver(std::string_view name) {
  std::vector<std::string> known;
  for (const SolverInfo& info : registry()) {
    if (info.name == name) return info;
    known.push_back(info.name);
  }
  fail_usage(fmt::format("solver {}", unknown_name(name, known)));
}

std::unique_ptr<Learner> make_learner(const LearnInput& input) {
  const SolverInfo& info = find_solver(input.options.solver);
  std::unique_ptr<Learner> learner = info.make(input);
  const bool learns = !learner->model().parameters().all().empty();
  if (learns && !info.has_network)
    fail_usage(fmt::format("solver {} has no network: add --model none", info.name));
  if (!learns && info.has_network)
    fail_usage(fmt::format("model {} has nothing that solver {} could learn; use --solver label-propagation",
                           input.model, info.name));
  return learner;
}

Measured::operator double() const { return factor_ * value_.item<double>(); }

double ValidationLoss::sum() const {
  const double mean = divergence.item<double>();
  return flow_cost.defined() ? flow_cost.item<double>() + mean : mean;
}

at::Tensor Scores::sum() const { return transport.numel() == 0 ? network : network + transport; }

at::Tensor to_label_space(Divergence kind, const at::Tensor& logits) {
  if (kind == Divergence::kSoftmax) return at::softmax(logits, 1);
  return kind == Divergence::kBernoulli ? at::sigmoid(logits) : logits;
}

at::Tensor probabilities(Divergence kind, const Scores& scores) {
  if (!scores.in_label_space) return to_label_space(kind, scores.sum());
  constexpr double kSmallest = 1e-6;  // transport may take all that the network gave
  const at::Tensor clamped = at::clamp(scores.sum(), kSmallest, 1 - kSmallest);
  return kind == Divergence::kSoftmax ? clamped / clamped.sum(1, true) : clamped;
}

Learner::Learner(const LearnInput& input)
    : input_(input),
      kind_(divergence_for(input.targets.task)),
      labels_(labels_of(input, input.split.train)),
      predictor_parameters_(input.seed ^ 0x70726564u, input.graph.options()),
      none_(at::empty({0}, input.graph.options())) {
  const Targets& targets = input.targets;
  if ((input.part ? input.part->all_split() : input.split).train.empty())
    fail("the split has no training nodes");
  if (input.options.balanced) {
    if (targets.task != Task::kClassification) fail_usage("--balanced needs classes");
    labels_.class_weights = balancing_weights(input);
  }
  scale_ = input.options.reduction == "mean" ? mean_scale(kind_, labels_, targets.width) : 1.0;
  config_ = {input.model, input.model_options,
             input.part ? input.part->shape(input.features.columns(), targets.width)
                        : model_shape(input.topology, input.features.columns(), targets.width)};
  model_ = find_model(input.model).make(config_.shape, config_.options, input.seed, input.graph.options());
  if (network_is_fixed()) {
    if (input.options.edge_weights)
      fail_usage("a network with --edge-weights reads the flow; it cannot stay fixed");
    load_parameters(input.network_from, *model_);
  }
  if (input.options.edge_weights) {
    predictor_.emplace(predictor_parameters_, "edge_predictor", targets.width);
  }
  const Rates backbone{input.options.lr, input.options.weight_decay};
  const Rates filter{input.options.filter_lr, input.options.filter_weight_decay};
  optimizer_.emplace(std::vector<const ParameterSet*>{&model_->parameters(), &predictor_parameters_},
                     std::map<ParameterRole, Rates>{{ParameterRole::kBackbone, backbone},
                                                    {ParameterRole::kFilter, filter},
                                                    {ParameterRole::kEdgePredictor, backbone}});
}

void Learner::use_flow(FlowRule rule) {
  FlowOptions options;
  options.step.rule = rule;
  options.step.lr = input_.options.flow_lr;
  options.step.weight_decay = input_.options.flow_weight_decay;
  options.kaiming = input_.options.flow_start == "kaiming" ||
                    (input_.options.flow_start == "auto" && rule == FlowRule::kSubgradient);
  options.all_edges = input_.options.full_flow || input_.options.edge_weights;
  options.seed = input_.seed;
  flow_.emplace(input_.part ? input_.part->flow_topology(options.all_edges, input_.graph.options())
                            : flow_topology(input_.topology, input_.split.train, options.all_edges,
                                            input_.graph.options()),
                input_.targets.width, options, input_.graph.options());
  if (input_.part) flow_->forget_carriers();
  if (predictor_) flow_->require_gradient();
}

at::Tensor Learner::forward(bool training, int64_t draw) {
  if (network_is_fixed()) {
    if (!fixed_scores_.defined()) {
      const at::NoGradGuard no_gradient;
      fixed_scores_ = model_->forward({input_.graph, input_.features, {}});
    }
    return fixed_scores_;
  }
  at::Tensor edge_weights;
  if (predictor_) edge_weights = predictor_->forward(flow_->values());
  return model_->forward(
      {input_.graph, input_.features, edge_weights, training, static_cast<int64_t>(input_.seed), draw});
}

void Learner::descend(const at::Tensor& scores, const at::Tensor& gradient) {
  if (network_is_fixed()) return;
  scores.backward(gradient);
  step_network();
}

void Learner::step_network() {
  if (input_.part)
    add_over_parts(*input_.part, {&std::as_const(*model_).parameters(), &predictor_parameters_});
  optimizer_->step();
}

void Learner::step_flow(const at::Tensor& gradient) {
  at::Tensor& through_weights = flow_->values().mutable_grad();
  if (input_.part && through_weights.defined()) through_weights = input_.part->over_edges(through_weights);
  flow_->step(input_.graph.beside(gradient));
}

std::tuple<at::Tensor, at::Tensor> Learner::weighed(const at::Tensor& scores, double weight) {
  return divergence(kind_, scores.detach(), flow_ ? flow_->transported() : none_, labels_, weight * scale_,
                    true, flow_ ? flow_->cost_tensor() : at::Tensor());
}

StepReport Learner::report_with_flow(const at::Tensor& weighed) const {
  const double lambda = input_.options.lambda;
  return {Measured(weighed[1]), Measured(weighed[0], lambda > 0 ? 1.0 / lambda : 0.0)};
}

Scores Learner::predict() {
  const at::NoGradGuard no_gradient;
  const Scores scores{forward(false, 0), flow_ ? flow_->transported() : none_};
  const auto finish = finished_ ? find_solver(input_.options.solver).finish : nullptr;
  return finish != nullptr ? finish(scores, {input_.graph, labels_, kind_, input_.options}) : scores;
}

ValidationLoss Learner::validation_loss(const Scores& scores, const LabelTensors& labels) {
  const double scale = mean_scale(kind_, labels, scores.network.size(1));
  const double weight = flow_ ? input_.options.lambda : 1.0;
  const auto [value, gradient] =
      scores.in_label_space
          ? divergence(kind_, logits_of(kind_, scores), none_, labels, weight * scale, false)
          : divergence(kind_, scores.network, scores.transport, labels, weight * scale, false);
  return {value, flow_ ? flow_->cost_tensor() : at::Tensor()};
}

int64_t Learner::parameter_count() const {
  return std::as_const(*model_).parameters().count() + predictor_parameters_.count();
}

std::vector<Buffer> Learner::predicting_state() const {
  std::vector<Buffer> state;
  for (const ParameterSet* set : {&std::as_const(*model_).parameters(), &predictor_parameters_}) {
    for (const Parameter& parameter : set->all()) state.push_back({parameter.name, parameter.value.detach()});
    for (const Buffer& buffer : set->buffers()) state.push_back(buffer);
  }
  if (flow_) {
    for (const Buffer& each : flow_->state()) state.push_back(each);
  }
  return state;
}

std::vector<Buffer> Learner::state() const {
  std::vector<Buffer> state = predicting_state();
  for (const Buffer& moment : optimizer_->state()) state.push_back(moment);
  if (flow_) {
    for (const Buffer& moment : flow_->moments()) state.push_back(moment);
  }
  return state;
}

bool Learner::is_of_part(std::string_view state_name) {
  return state_name.starts_with("flow") || state_name == "dual";
}

std::vector<int64_t> Learner::counts() const { return {optimizer_->steps(), flow_ ? flow_->steps() : 0}; }

void Learner::set_counts(const std::vector<int64_t>& counts) {
  optimizer_->set_steps(counts[0]);
  if (flow_) flow_->set_steps(counts[1]);
}

void Learner::restore(const std::vector<Buffer>& tensors, const std::vector<int64_t>& counts,
                      const std::string& from) {
  if (counts.size() != 2) fail(fmt::format("{}: does not count the steps of network and flow", from));
  copy_by_name(tensors, state(), from);
  set_counts(counts);
  if (flow_) flow_->changed(counts[1]);
  restored();
}

}  // namespace qw
