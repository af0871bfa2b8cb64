#include "study/swept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/json.h"
#include "qw/core/error.h"
#include "qw/study/sweep.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : json_text(value);
}

// Every option of a request by its name.
std::map<std::string, std::string> all_options(const TrainRequest& request) {
  std::map<std::string, std::string> options;
  const Json json = to_json(request);
  for (const char* section : {"request", "model_options", "learn"}) {
    for (const auto& [name, value] : json.at(section).items()) options[name] = text_of(value);
  }
  return options;
}

StoredResult found(ResultStore& store, int64_t config, int64_t run) {
  std::optional<StoredResult> stored = store.find({config, run});
  if (!stored) fail(fmt::format("{}: run {} of some options is gone", store.name(), run));
  return *stored;
}

double primary(const StoredResult& stored, Metrics RunResult::*part) {
  return stored.error.empty() ? (stored.result.*part).front().second : std::nan("");
}

double mean_score(const TrialScores& scores, int64_t config, int64_t runs) {
  double sum = 0;
  for (int64_t run = 0; run < runs; ++run) sum += scores.at({config, run});
  return sum / static_cast<double>(runs);
}

void add_configs(SweptSearch& search, ResultStore& store, const Sweep::Cell& cell,
                 const std::vector<RankedConfig>& ranking, const TrialScores& scores) {
  std::vector<std::map<std::string, std::string>> options;
  options.reserve(ranking.size());
  for (const RankedConfig& ranked : ranking) options.push_back(all_options(store.request_of(ranked.config)));
  for (const auto& [name, value] : options.front()) {
    const bool same =
        std::all_of(options.begin(), options.end(),
                    [&, name = name, value = value](const auto& each) { return each.at(name) == value; });
    if (!same) search.options.push_back(name);
  }
  for (size_t i = 0; i < ranking.size(); ++i) {
    SweptConfig& config = search.configs.emplace_back();
    for (const std::string& name : search.options) config.values.push_back(options[i].at(name));
    for (int64_t run = 0; run < ranking[i].runs; ++run) {
      const StoredResult stored = found(store, ranking[i].config, run);
      if (search.metric.empty() && stored.error.empty()) search.metric = stored.result.val.front().first;
      config.validation.push_back(primary(stored, &RunResult::val));
      config.test.push_back(primary(stored, &RunResult::test));
    }
    config.first_score = mean_score(scores, ranking[i].config, cell.rungs.front().runs);
  }
}

// Who took part in a rung has at least its runs.
void add_stages(SweptSearch& search, ResultStore& store, const Sweep::Cell& cell,
                const std::vector<RankedConfig>& ranking, const TrialScores& scores) {
  std::map<int64_t, int64_t> runs_of;
  for (const RankedConfig& ranked : ranking) runs_of[ranked.config] = ranked.runs;
  double seconds = 0;
  int64_t before = 0;
  for (const Rung& rung : cell.rungs) {
    SweptStage stage{rung.runs, {}, {}};
    for (const int64_t config : cell.configs) {
      if (runs_of[config] < rung.runs || rung.runs == before) continue;
      for (int64_t run = before; run < rung.runs; ++run) seconds += found(store, config, run).seconds;
      stage.seconds.push_back(seconds);
      stage.scores.push_back(mean_score(scores, config, rung.runs));
    }
    before = rung.runs;
    if (!stage.scores.empty()) search.stages.push_back(std::move(stage));
  }
}

}  // namespace

std::vector<SweptSearch> swept_searches(ResultStore& store) {
  const TrialScores scores = store.scores();
  std::vector<SweptSearch> searches;
  for (const auto& [study, description] : store.studies()) {
    const Sweep sweep(store, sweep_cells(description, study));
    for (const Sweep::Cell& cell : sweep.cells()) {
      const bool begun = std::any_of(cell.configs.begin(), cell.configs.end(), [&](int64_t config) {
        return scores.contains({config, 0});
      });
      if (!begun) continue;
      SweptSearch search{.sweep = study,
                         .name = cell.name,
                         .metric = "",
                         .higher_is_better = cell.higher_is_better,
                         .finished = sweep.finished(cell, scores)};
      const std::vector<RankedConfig> ranking = sweep.ranking(cell, scores);
      if (!ranking.empty()) {
        add_configs(search, store, cell, ranking, scores);
        add_stages(search, store, cell, ranking, scores);
      }
      if (search.metric.empty()) search.metric = "metric";
      searches.push_back(std::move(search));
    }
  }
  return searches;
}

}  // namespace qw
