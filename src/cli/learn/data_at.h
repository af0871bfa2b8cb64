// --data-at of sweep, reproduce and fit: files of the data where this machine has them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"

namespace qw::cli {

inline constexpr const char* kDataAtHelp =
    "the data's own files where this machine has them: graph.csv=/scratch/graph.csv, as all workers name "
    "them";

class DataAt {
 public:
  // `command` begins errors; `pairs` are NAME=PATH.
  DataAt(std::string command, const std::vector<std::string>& pairs);

  // Refuses names that none of this data has.
  void check(const std::vector<nlohmann::ordered_json>& data) const;
  // The "data" of a request.
  Dataset load(const nlohmann::ordered_json& data) const;
  // The same data, its files where this machine has them.
  DataArguments here(DataArguments data) const;

 private:
  std::string command_;
  std::map<std::string, std::string> paths_;
};

}  // namespace qw::cli
