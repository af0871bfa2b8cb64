// Settings that were found by sweeps, by name: "cora/gcn/qw" is what qw found for that data set, model and
// method. They stand in share/presets.json, each with the sweep that found it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// Options for one data set, model and method.
struct Preset {
  std::string name;                // data/model/method
  nlohmann::ordered_json data;     // as in a request: a name, or {"what": ..., "load": ...}
  nlohmann::ordered_json options;  // of qw train, by name; model and solver among them
  std::string found_by;            // the sweep and its numbers, in words
};

// All of them, by name.
const std::vector<Preset>& presets();
// Those of a file that `qw sweep presets` wrote.
std::vector<Preset> read_presets(const std::filesystem::path& file);

// One of `among`; throws qw::UsageError that names what is near.
const Preset& find_preset(const std::string& name, const std::vector<Preset>& among = presets());

// QW settings for any graph and this model ("": one that suits it). The preset of a known graph if there is
// one; else a robust choice by the kind of target and the share of edges within a class; `found_by` says why.
Preset automatic_preset(const Dataset& dataset, const std::vector<NodeId>& training, const std::string& model,
                        const std::vector<Preset>& among = presets());

// As in share/presets.json: an object with a member for each preset.
nlohmann::ordered_json to_json(const std::vector<Preset>& presets);
std::string presets_text(const std::vector<Preset>& presets);  // the same, one preset a line
// The other way; throws qw::Error that begins with `file` on what is no such object.
std::vector<Preset> presets_from_json(const nlohmann::ordered_json& document, const std::string& file);

}  // namespace qw
