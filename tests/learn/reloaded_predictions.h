// What a run that was read again predicts, as its folder has it.
#pragma once

#include "qw/learn/run.h"

namespace qw::test {

inline std::string predictions_of(const Dataset& data, const TrainRequest& request, const Reloaded& reloaded,
                                  int64_t run = 0) {
  const Targets& targets = data.targets;
  const std::optional<PredictionSets> sets(std::in_place, targets.task, targets.width, reloaded.calibration,
                                           request.coverage);
  const std::vector<NodePart> parts = parts_of(split_of(request, data, run), data.graph.num_nodes());
  return Predictions(data, targets, reloaded.scores, reloaded.calibration, sets, parts).csv();
}

}  // namespace qw::test
