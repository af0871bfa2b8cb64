// How to learn: the loss, the solver and their numbers.
#pragma once

#include <cstdint>
#include <string>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Defaults are those of the published protocol. Ranges and texts: learn_fields() in
// src/learn/learn_options.h.
struct LearnOptions {
  std::string solver = "bregman";
  double lambda = 1.0;
  std::string reduction = "mean";
  double lr = 0.01;
  double weight_decay = 0.0005;
  double filter_lr = 0.01;
  double filter_weight_decay = 0.0;
  double flow_lr = 0.01;
  double flow_weight_decay = 0.0;
  bool edge_weights = false;
  std::string flow_start = "auto";
  bool full_flow = false;
  std::string dual = "reset";
  int64_t inner_steps = 5;
  int64_t solve_every = 0;
  double lpa_weight = 1.0;
  int64_t lpa_steps = 5;
  int64_t propagation_steps = 50;
  double propagation_alpha = 0.9;
  double correct_alpha = 0.8;
  double correct_scale = 0.0;
  double smooth_alpha = 0.8;
  bool balanced = false;
  int64_t epochs = 1000;
  int64_t patience = 200;
  std::string select = "loss";  // by what the best epoch is known: loss or metric
  std::string metric = "auto";  // the metric that counts (qw/metrics/metrics.h); auto: the task's first
};

}  // namespace qw
