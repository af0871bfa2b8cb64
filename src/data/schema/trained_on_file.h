// What a training remembers, on disk: trained_on.safetensors (ids, edges, labels), split.csv (id, then the
// part in each run) and the schema, which stands in schema.json.
#pragma once

#include <string>

#include "qw/data/trained_on.h"

namespace qw {

inline constexpr const char* kTrainedOnFile = "trained_on.safetensors";
inline constexpr const char* kSplitFile = "split.csv";

std::string trained_on_bytes(const TrainedOn& trained_on);
std::string split_csv(const TrainedOn& trained_on);

// Throws qw::Error, naming `trained_on_file` or `split_file`, on contents that do not fit the schema or each
// other.
TrainedOn trained_on_from(const DataSchema& schema, std::string bytes, const std::string& trained_on_file,
                          const std::string& csv, const std::string& split_file);

}  // namespace qw
