// The data sets that are known by name: what they are, which files they consist of, and what they must
// contain.
//
// A card is facts only. Fetching its files is download.h, reading them is load.h. To add a data set in a
// format that is already known, add one entry to the table in card.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/load.h"

namespace QW_PUBLIC qw {

// One file of a published data set.
struct FileCard {
  std::string name{};    // in the data set's folder
  std::string sha256{};  // 64 lower-case hexadecimal digits
  std::string url{};     // where it is published; empty: nowhere we know of, so that only a mirror has it

  // The file at `url` holds the same arrays, but not, or not surely, the bytes of `sha256`. Such a copy is
  // accepted only when it loads and has the card's counts (DownloadOptions::check_contents). A mirror's copy
  // must still have the checksum.
  bool published_bytes_differ = false;
};

// A published data set that qw knows by name: where it is, how it is read and what it must contain.
struct DatasetCard {
  std::string name{};             // what one writes after --data, and its folder in the cache
  std::string title{};            // what the graph is, in words
  std::string source{};           // whom to cite, and where it is published
  std::string reader{};           // the name of the reader of its format
  std::string entry{};            // the file the reader gets; empty: the folder
  std::string folder{};           // the folder of its files in a mirror; empty: `name`
  std::vector<FileCard> files{};  // all that the reader needs

  // What a correct copy contains once it is read: edges without self-loops and duplicates, once per pair
  // unless the graph is directed.
  bool directed = false;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t features = 0;
  int64_t classes = 0;  // 0: regression

  LoadOptions options{};  // what the reader must be told: columns of a CSV, `directed`
  bool of_paper = false;  // one of the ten graphs of the paper's tables, which have a published protocol
  std::string warning{};  // one sentence for whoever reports results on it; often empty

  // `folder`, or `name` where it is empty.
  const std::string& mirror_folder() const { return folder.empty() ? name : folder; }
};

const std::vector<DatasetCard>& dataset_cards();  // in the order in which they are listed to a person

// The card of that name, or nullptr.
const DatasetCard* find_card(std::string_view name);

}  // namespace qw
