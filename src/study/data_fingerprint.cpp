#include "study/data_fingerprint.h"

#include "core/sha256.h"
#include "core/text.h"
#include "learn/run_files.h"

namespace qw {

nlohmann::ordered_json data_fingerprint(const Dataset& dataset) {
  nlohmann::ordered_json print = fingerprint_json(fingerprint(remember(dataset, dataset.splits, "")));
  print["default split"] = dataset.default_split;
  print["order of nodes"] = sha256_hex(join(dataset.node_ids, "\n"));
  return print;
}

}  // namespace qw
