// Fetching the files of a dataset card into the cache.
//
// A file comes from, in this order: DownloadOptions::mirror, the environment variable QW_DATA_MIRROR, the
// address on its card. A mirror is a folder, or an http://, https:// or file:// address, that holds <folder
// of the card>/<file> or, tried second, <file> alone.
//
// A file on its way is <cache>/datasets/<name>/<file>.part. A cut connection is taken up where it broke, by
// the same call or by a later one. A finished file is checked against the card's SHA-256 and only then
// renamed to its name; one that fails the check is deleted. A lock per data set makes concurrent calls, from
// threads or processes, take turns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/card.h"

namespace QW_PUBLIC qw {

// How far the download of one file has come.
struct Progress {
  std::string dataset;  // the card's name
  std::string file;     // the file's name on the card
  int64_t done = 0;     // bytes in the .part file, those of an earlier call included
  int64_t total = 0;    // 0: the server does not say
};

// Where to fetch from, how long to try and what to refuse.
struct DownloadOptions {
  std::string mirror;  // empty: $QW_DATA_MIRROR, else the addresses on the card
  bool quiet = false;  // draw no progress bar (there is none either when stderr is not a terminal)

  int retries = 3;                                        // per file, after failures that may pass
  std::vector<double> backoff_seconds = {0.1, 0.5, 2.0};  // before retry 1, 2, ...; the last one repeats
  int connect_seconds = 15;                               // give up connecting after this long
  int stall_seconds = 30;                                 // give up below 100 bytes a second for this long
  int64_t max_bytes = int64_t{4} << 30;                   // refuse a larger file

  // Called as bytes arrive. An exception it throws ends the download, keeps the .part file and reaches the
  // caller.
  std::function<void(const Progress&)> on_progress;

  // For files with FileCard::published_bytes_differ that came from their published address: throws qw::Error
  // unless `path`, which does not yet bear its final name, loads and has the card's counts. Without this
  // function such a file must have the card's SHA-256, like every other.
  std::function<void(const DatasetCard&, const FileCard&, const std::filesystem::path& path)> check_contents;
};

// A file that this call brought into the cache.
struct FetchedFile {
  std::string name;                  // in the data set's folder
  std::string source{};              // address or path it came from, without any password
  int64_t received_bytes = 0;        // in this call
  int64_t resumed_bytes = 0;         // found in the .part file of an earlier call and used
  bool checked_by_contents = false;  // accepted by check_contents, not by its SHA-256
};

// What a call of fetch_dataset did.
struct DownloadReport {
  std::filesystem::path folder;        // where the files are now
  std::vector<FetchedFile> fetched{};  // in the order of the card
  int64_t already_cached = 0;          // files that were there
};

// Afterwards every file of the card is in its cache folder, or qw::Error says which one is not, where it was
// looked for, why it failed and what to do; files fetched before it stay. A mirror that makes no sense is a
// qw::UsageError. Does not touch the network when everything is cached.
DownloadReport fetch_dataset(const DatasetCard& card, const DownloadOptions& options = {});

}  // namespace qw
