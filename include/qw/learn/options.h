// How to learn: the loss, the solver and their numbers.
#pragma once

#include <cstdint>
#include <string>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Defaults are those of the published protocol. Ranges and texts: learn_fields() in
// src/learn/learn_options.h.
struct LearnOptions {
  std::string solver = "bregman";    // how the loss is minimised; see solvers() in qw/learn/learner.h
  double lambda = 1.0;               // weight of the prediction term of the QW loss
  std::string reduction = "mean";    // of the prediction term over the labelled nodes: mean or sum
  double lr = 0.01;                  // learning rate of the network
  double weight_decay = 0.0005;      // of the network
  double filter_lr = 0.01;           // learning rate of filter coefficients
  double filter_weight_decay = 0.0;  // of filter coefficients
  double flow_lr = 0.01;             // learning rate of the flow on the edges
  double flow_weight_decay = 0.0;    // of the flow
  bool edge_weights = false;         // predict the weights of the edges from the flow, for the network to use
  std::string flow_start =
      "auto";              // first value of the flow: zero, kaiming; auto: zero for proximal, else kaiming
  bool full_flow = false;  // flow on all edges, not only on those that touch a labelled node
  std::string dual = "reset";      // of badmm: carried (paper), reset (released code), probability
  int64_t inner_steps = 5;         // of badmm, for the network and for the flow
  int64_t solve_every = 0;         // steps between solutions of exact; 0: 1 on small graphs, 10 on large ones
  double lpa_weight = 1.0;         // of label propagation in gcn-lpa
  int64_t lpa_steps = 5;           // of label propagation in gcn-lpa
  int64_t propagation_steps = 50;  // of label-propagation and of both parts of correct-and-smooth
  double propagation_alpha = 0.9;  // share of the neighbours in label-propagation
  double correct_alpha = 0.8;      // share of the neighbours when correct-and-smooth spreads errors
  double correct_scale = 0.0;      // factor of these errors; 0: as large as those of training nodes
  double smooth_alpha = 0.8;       // share of the neighbours when correct-and-smooth smooths predictions
  bool balanced = false;           // weigh classes by the inverse of their share of the training nodes
  int64_t epochs = 1000;           // at most so many
  int64_t patience = 200;          // stop when validation is worse than the mean of so many epochs; 0: never
  std::string select = "loss";     // by what the best epoch is known: loss or metric
  std::string metric = "auto";     // the metric that counts (qw/metrics/metrics.h); auto: the task's first
};

}  // namespace qw
