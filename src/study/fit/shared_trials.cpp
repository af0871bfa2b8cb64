#include "study/fit/shared_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "qw/core/error.h"
#include "qw/core/version.h"
#include "study/data_fingerprint.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

// Not config.json, which names the data where that process had it.
constexpr std::array kKeptFiles{kManifestFile,   "summary.json",          "model.safetensors",
                                "model.json",    "flow.safetensors",      "calibration.json",
                                "metrics.jsonl", "validation.safetensors"};

// Whoever asks for something else has trials of their own: the numbers of the runs, and so their initial
// values, come from the order of the trials, which depends on how many there will be.
Json search_of(const FitBestOptions& options) {
  Json search{{"qw", build_info().version},
              {"metric", options.metric},
              {"split", options.split},
              {"seed", options.seed},
              {"scale_features", options.scale_features},
              {"coverage", options.coverage}};
  if (options.trials > 0) {
    search["trials"] = options.trials;
  } else {
    search["seconds"] = options.seconds;
  }
  return search;
}

class StoredTrials : public SharedTrials {
 public:
  StoredTrials(const Dataset& dataset, const FitBestOptions& options)
      : store_(options.store),
        data_(options.data_in_store.is_null() ? options.data : options.data_in_store),
        search_(search_of(options)) {
    store_.check_data(data_, data_fingerprint(dataset));
  }

  std::vector<std::optional<double>> scores(const std::vector<SharedTrial>& trials) override {
    const std::vector<Trial> numbered = numbers_of(trials);
    const TrialScores& known = store_.scores();
    std::vector<std::optional<double>> scores;
    for (const Trial& trial : numbered) {
      const auto found = known.find(trial);
      scores.push_back(found == known.end() ? std::nullopt : std::optional(found->second));
    }
    return scores;
  }

  std::vector<size_t> claim(const std::vector<SharedTrial>& trials, int64_t most) override {
    const std::vector<Trial> numbered = numbers_of(trials);
    std::vector<size_t> places;
    for (const Trial& ours : store_.claim(numbered, most))
      places.push_back(std::find(numbered.begin(), numbered.end(), ours) - numbered.begin());
    return places;
  }

  void put(const SharedTrial& trial, const StoredResult& result,
           const std::filesystem::path& run_folder) override {
    TrialFiles files;
    for (const char* name : kKeptFiles) {
      if (result.error.empty() && std::filesystem::exists(run_folder / name))
        files[name] = read_file(run_folder / name);
    }
    store_.put(numbers_of({trial}).front(), result, files);
  }

  void bring(const SharedTrial& trial, const std::filesystem::path& run_folder,
             const std::vector<std::string>& names) override {
    const Trial number = numbers_of({trial}).front();
    const std::string manifest = stored_file(number, kManifestFile);
    if (!Manifest::exists_in(run_folder) || read_file(run_folder / kManifestFile) != manifest) {
      std::filesystem::remove_all(run_folder);  // of the same trial, done twice
      write_file_atomically(run_folder / kManifestFile, manifest);
    }
    const Manifest files = Manifest::parse(manifest, run_folder);
    for (const std::string& name : names) {
      if (!files.lists(name)) continue;
      if (!std::filesystem::exists(run_folder / name))
        write_file_atomically(run_folder / name, stored_file(number, name));
      files.check(name);
    }
  }

 private:
  std::vector<Trial> numbers_of(const std::vector<SharedTrial>& trials) {
    std::vector<Json> missing;
    for (const SharedTrial& trial : trials) {
      if (!configs_.contains(json_text(trial.candidate))) missing.push_back(trial.candidate);
    }
    std::vector<Json> options;
    options.reserve(missing.size());
    for (const Json& candidate : missing)
      options.push_back({{"data", data_}, {"fit", search_}, {"candidate", candidate}});
    const std::vector<int64_t> configs = store_.configs_of_options(options);
    for (size_t k = 0; k < missing.size(); ++k) configs_[json_text(missing[k])] = configs[k];
    std::vector<Trial> numbered;
    numbered.reserve(trials.size());
    for (const SharedTrial& trial : trials)
      numbered.push_back({configs_.at(json_text(trial.candidate)), trial.fold});
    return numbered;
  }

  std::string stored_file(const Trial& trial, const std::string& name) {
    std::optional<std::string> contents = store_.file(trial, name);
    if (!contents) fail(fmt::format("{}: is damaged: {} of a training is gone", store_.name(), name));
    return std::move(*contents);
  }

  ResultStore store_;
  Json data_, search_;
  std::map<std::string, int64_t> configs_;  // of candidates
};

}  // namespace

std::unique_ptr<SharedTrials> open_shared_trials(const Dataset& dataset, const FitBestOptions& options) {
  return std::make_unique<StoredTrials>(dataset, options);
}

}  // namespace qw
