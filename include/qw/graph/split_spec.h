// Splits by name, as written after --split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/graph/dataset.h"

namespace qw {

struct SplitMethod {
  std::string name;
  std::string summary;
  std::string options;  // "train=0.6,val=0.2": the defaults, as they would be written
  Split (*make)(const Dataset& dataset, std::string_view options, uint32_t seed);
};

// published, per-class, random and stored.
const std::vector<SplitMethod>& split_methods();

// "published", "per-class:train=20,val=500,test=1000", "random:train=0.5,val=0.25", "stored:index=3". Throws
// qw::UsageError on an unknown method or option, and when the data set has too few labels for what is asked.
Split make_split(const Dataset& dataset, std::string_view spec, uint32_t seed);

}  // namespace qw
