// predictions.csv of a run, or of all runs together, read without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "qw/data/trained_on.h"

namespace qw {

// What transport did to the predictions. A node is moved when transport adds something other than 0 to any of
// its scores; a prediction is changed when the network alone says otherwise.
struct TransportEffect {
  int64_t nodes = 0, moved = 0, changed = 0;  // of all nodes
  int64_t righted = 0, wronged = 0;           // of test nodes: changed to what is right, and to what is wrong
  double shift = 0;                           // of values: mean |transport|
  double error_without = 0, error_with = 0;   // of values: mean |error| of test nodes, NaN without any
};

struct PredictedNodes {
  // Test nodes with a label, in the order of the nodes.
  std::vector<NodeId> nodes;
  std::vector<std::string> ids;
  std::vector<std::string> predicted, labels;  // empty of values
  std::vector<double> confidence;              // empty of values
  std::vector<double> set_size;     // classes in the set, or labels that it leaves open; empty without sets
  std::vector<double> probability;  // [nodes * width] of classes and labels
  std::vector<double> value;        // [nodes * width] of values
  std::vector<double> low, high;    // [nodes * width] of values with intervals
  Split split;                      // the parts of all nodes, as the file has them
  TransportEffect transport;        // of a run with a flow
};

// Nothing where there is no such file. Throws qw::Error when its rows are not the nodes of the training.
PredictedNodes read_predictions(const std::filesystem::path& file, const TrainedOn& trained_on,
                                bool has_flow);

}  // namespace qw
