// What stands in the files of a partition.
#pragma once

#include "core/safetensors.h"
#include "qw/data/partition.h"

namespace qw {

inline constexpr int kPartitionSchema = 1;
inline constexpr const char* kPartitionFile = "partition.json";
inline constexpr const char* kLabelsFile = "labels.safetensors";

// Of each node in each stored split.
enum class SplitMark : uint8_t { kNobody, kTrain, kVal, kTest };

// Throws qw::Error, opening with `name`, unless all of it fits together; whether it is the part that was
// written is for its checksum to say.
Part part_from(const SafetensorsFile& file, const std::string& name);

// partition.json, in and out; `name` opens errors.
std::string manifest_text(const PartitionManifest& manifest);
PartitionManifest manifest_from(std::string_view text, const std::string& name);

std::string part_file_name(int64_t number);

}  // namespace qw
