// By what a store knows the data of its trials again.
#pragma once

#include <nlohmann/json.hpp>

#include "qw/graph/dataset.h"

namespace qw {

// Of graph, features, labels, splits and the order of the nodes: splits are drawn by it.
nlohmann::ordered_json data_fingerprint(const Dataset& dataset);

}  // namespace qw
