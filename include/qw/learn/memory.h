// What a training keeps of its data in its folder, so that the folder alone is enough to predict from:
//
//   schema.json            how data becomes numbers (qw/data/schema.h), scales, fingerprint, version, command
//   split.csv              the id of every node and its part in every run
//   trained_on.safetensors ids, edges and labels (qw/data/trained_on.h)
//   manifest.json          checksums of these and of config.json
#pragma once

#include <filesystem>
#include <string>

#include "qw/core/export.h"
#include "qw/data/trained_on.h"
#include "qw/learn/scaling.h"

namespace QW_PUBLIC qw {

struct TrainRequest;

// What predictions need beside model and flow.
struct TrainingMemory {
  TrainedOn trained_on;    // graph, ids, labels and splits
  FeatureScaling scaling;  // of the features
};

// Of a training that is about to begin. With request.refit_flow schema and scales are those of the earlier
// training, and so are the parts: who trained goes on to train, validate or test as before, and nodes that
// got their label since train.
TrainingMemory make_memory(const Dataset& dataset, const TrainRequest& request);

// Whether the folder has one; folders of an older qw have not.
bool has_memory(const std::filesystem::path& folder);
// Throws qw::Error when a file is missing, is not in order, or is not the one that was written.
TrainingMemory read_memory(const std::filesystem::path& folder);
// And config.json.
void write_memory(const std::filesystem::path& folder, const TrainingMemory& memory,
                  const TrainRequest& request);

}  // namespace qw
