// schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "qw/data/schema.h"

namespace qw {

nlohmann::ordered_json to_json(const DataSchema& schema);
// Throws qw::Error that begins with `file` on what is no schema.
DataSchema schema_from_json(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace qw
