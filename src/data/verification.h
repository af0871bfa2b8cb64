// Whether the files of a data set in the cache are still those that were verified.
//
// <cache>/datasets/.NAME.verified.json holds of each file its SHA-256 and what the system says of it: size,
// time of modification and time of change. A file of which the system says the same has not been written
// since and need not be read to be trusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "qw/data/card.h"

namespace qw {

// What the system says of a file; times in nanoseconds.
struct FileState {
  int64_t size = 0;
  int64_t modified = 0;
  int64_t changed = 0;
  bool operator==(const FileState&) const = default;
};

class Verification {
 public:
  explicit Verification(const DatasetCard& card);  // a record that cannot be read counts as none

  // Empty when the file is there and has the right bytes; else what is wrong with it. Reads all of it.
  std::string problem(const FileCard& file);

  // The same, but reads the file only if it has changed since it was found right.
  std::string problem_since(const FileCard& file);

  // From now on the bytes it has are the right ones: they were checked by contents.
  void accept(const FileCard& file);

  // Writes the record when there is something new. A cache that cannot be written is verified each time.
  void save() const;

 private:
  struct Verified {
    FileState state;
    std::string sha256;
  };

  std::string expected_sha256(const FileCard& file, const std::string& found) const;

  const DatasetCard& card_;
  std::map<std::string, Verified> record_;  // by name of file
  bool has_news_ = false;
};

// Throws qw::Error when a file in the cache is damaged, and says how to get it again.
void verify_cached(const DatasetCard& card);

}  // namespace qw
