#include "qw/study/sweep.h"

#include <algorithm>
#include <cmath>

namespace qw {
namespace {

// The mean over its first runs; NaN when one failed.
double mean_score(const TrialScores& scores, int64_t config, int64_t runs) {
  double sum = 0;
  for (int64_t run = 0; run < runs; ++run) sum += scores.at({config, run});
  return sum / static_cast<double>(runs);
}

std::vector<Trial> missing(const TrialScores& scores, const std::vector<int64_t>& configs, int64_t runs) {
  std::vector<Trial> trials;
  for (const int64_t config : configs) {
    for (int64_t run = 0; run < runs; ++run) {
      if (!scores.contains({config, run})) trials.push_back({config, run});
    }
  }
  return trials;
}

std::vector<RankedConfig> ranked(const TrialScores& scores, const std::vector<int64_t>& configs, int64_t runs,
                                 bool higher_is_better) {
  std::vector<RankedConfig> all;
  all.reserve(configs.size());
  for (const int64_t config : configs) all.push_back({config, runs, mean_score(scores, config, runs)});
  std::stable_sort(all.begin(), all.end(), [&](const RankedConfig& a, const RankedConfig& b) {
    if (std::isnan(a.score) || std::isnan(b.score)) return !std::isnan(a.score) && std::isnan(b.score);
    return higher_is_better ? a.score > b.score : a.score < b.score;
  });
  return all;
}

std::vector<int64_t> best_of(const std::vector<RankedConfig>& ranking, int64_t count) {
  std::vector<int64_t> configs;
  for (int64_t i = 0; i < std::min<int64_t>(count, static_cast<int64_t>(ranking.size())); ++i) {
    configs.push_back(ranking[i].config);
  }
  return configs;
}

// How far a cell has come: the rung it is on, who takes part in it, and the ranking of those before.
struct Stage {
  size_t rung = 0;  // rungs.size(): all are done
  std::vector<int64_t> configs;
  std::vector<Trial> missing;
  std::vector<RankedConfig> ranking;  // best first
};

Stage stage_of(const Sweep::Cell& cell, const TrialScores& scores) {
  Stage stage;
  stage.configs = cell.configs;
  for (; stage.rung < cell.rungs.size(); ++stage.rung) {
    const Rung& rung = cell.rungs[stage.rung];
    if (stage.rung > 0) stage.configs = best_of(stage.ranking, rung.configs);
    stage.missing = missing(scores, stage.configs, rung.runs);
    if (!stage.missing.empty()) return stage;
    // Those that went on, by what they did since, before those that did not.
    const std::vector<RankedConfig> front = ranked(scores, stage.configs, rung.runs, cell.higher_is_better);
    std::vector<RankedConfig> ranking = front;
    for (size_t i = front.size(); i < stage.ranking.size(); ++i) ranking.push_back(stage.ranking[i]);
    stage.ranking = std::move(ranking);
  }
  return stage;
}

}  // namespace

Sweep::Sweep(ResultStore& store, const std::vector<SweepCell>& cells) {
  for (const SweepCell& cell : cells) {
    const bool higher = cell.configs.empty() || higher_is_better(cell.configs.front().learn.metric);
    cells_.push_back({cell.name, store.configs_of(cell.configs), cell.rungs, higher});
  }
}

Lacking Sweep::lacking(const TrialScores& scores) const {
  Lacking lacking;
  for (const Cell& cell : cells_) {
    const Stage stage = stage_of(cell, scores);
    lacking.trials.insert(lacking.trials.end(), stage.missing.begin(), stage.missing.end());
    for (size_t rung = stage.rung + 1; rung < cell.rungs.size(); ++rung) {
      lacking.later += cell.rungs[rung].configs * (cell.rungs[rung].runs - cell.rungs[rung - 1].runs);
    }
  }
  return lacking;
}

std::vector<RankedConfig> Sweep::ranking(const Cell& cell, const TrialScores& scores) const {
  return stage_of(cell, scores).ranking;
}

bool Sweep::finished(const Cell& cell, const TrialScores& scores) const {
  return stage_of(cell, scores).rung == cell.rungs.size();
}

}  // namespace qw
