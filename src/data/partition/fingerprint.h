// What data is, in one number that no way of cutting changes.
#pragma once

#include <string>

#include "core/sha256.h"
#include "data/partition/source.h"

namespace qw {

class DataHash {
 public:
  // Blocks in the order of the original graph and its nodes, however they are cut.
  void add(const EdgeBlock& block);
  void add(const Features& block);
  // Once, with all else that the source has.
  std::string hex(const PartitionSource& source);

 private:
  Sha256 heads_, tails_, costs_, weights_, dense_, row_lengths_, indices_, values_;
};

// Of the fingerprint of the data and of how it was cut.
std::string partition_id(const std::string& fingerprint, const std::string& method, const Cut& cut);

}  // namespace qw
