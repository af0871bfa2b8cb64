// Options as a person would write them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace qw::cli {

// {"model": "gcn", "edge_weights": true} -> "--model gcn --edge-weights"; names in `without` are left out.
std::string options_text(const nlohmann::ordered_json& options, const std::vector<std::string>& without = {});

}  // namespace qw::cli
