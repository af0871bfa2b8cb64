// The trials of one search by several processes: each is done by one of them, and kept in a store of results.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "qw/graph/dataset.h"
#include "qw/study/fit_best.h"
#include "qw/study/store.h"

namespace qw {

// A trial by what it is: races of several processes may number it differently.
struct SharedTrial {
  nlohmann::ordered_json candidate;
  int64_t fold = 0;
};

class SharedTrials {
 public:
  SharedTrials() = default;
  SharedTrials(const SharedTrials&) = delete;
  SharedTrials& operator=(const SharedTrials&) = delete;
  virtual ~SharedTrials() = default;

  // The validation metric of each; nothing: it is not done; NaN: it failed.
  virtual std::vector<std::optional<double>> scores(const std::vector<SharedTrial>& trials) = 0;
  // The places of up to `most` that nobody has done or is at work on; they are now ours.
  virtual std::vector<size_t> claim(const std::vector<SharedTrial>& trials, int64_t most) = 0;
  // The claim is over. Where somebody else was faster, result and files are theirs.
  virtual void put(const SharedTrial& trial, const StoredResult& result,
                   const std::filesystem::path& run_folder) = 0;
  // Makes these files of the run folder, and its manifest, those of whoever did the trial; a file that the
  // trial does not have is left out.
  virtual void bring(const SharedTrial& trial, const std::filesystem::path& run_folder,
                     const std::vector<std::string>& names) = 0;
};

// In options.store, for all who ask for the same of the same data; throws qw::Error where the data of this
// name was something else.
std::unique_ptr<SharedTrials> open_shared_trials(const Dataset& dataset, const FitBestOptions& options);

}  // namespace qw
