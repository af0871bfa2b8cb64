// Searches for good options, described by a JSON file (comments allowed):
//
//   {
//     "method": "qw",                        // the last part of the names of presets
//     "each": {"data": ["cora", "texas"],    // a search of its own for every combination
//              "model": ["gcn", "gat"]},
//     "base": "ce",                          // begin with the presets of this method, "cora/gcn/ce"
//     "fixed": {"epochs": 1000},             // options of qw train, by name
//     "where": [{"if": {"model": "appnp"}, "fixed": {...}, "search": {...}}],
//     "search": {"lr": [0.001, 0.01], "lambda": {"log": [0.01, 1000]},
//                "solver": [{"solver": "bregman"}, {"solver": "badmm", "inner_steps": 2}]},
//     "include": [{"lr": 0.05, "lambda": 1}],  // tried in any case, the rest as in "fixed"
//     "strategy": "halving",                 // grid, random or halving
//     "samples": 24,      // random, halving: how many options are tried at first, beside "include"
//     "runs": 10,         // of the winner at least
//     "first_runs": 1,    // halving: runs of all
//     "keep": 0.3333,     // halving: the share that goes on, with 1 / keep times as many runs
//     "seed": 1           // of the choice
//   }
//
// A value of "search" that is an object sets several options. Numbers may be chosen from a list, or, unless
// the strategy is grid, from {"uniform": [a, b]} and {"log": [a, b]}. Options are compared by the mean of
// their validation metric (the option `metric`) alone; equal ones by their order. Options that fail are the
// last.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/study/presets.h"
#include "qw/study/store.h"
#include "qw/study/work.h"

namespace QW_PUBLIC qw {

// A stage of a search.
struct Rung {
  int64_t configs = 0;  // how many of the best take part
  int64_t runs = 0;     // of each, those of earlier rungs included
};

// One combination of "each".
struct SweepCell {
  std::string name;                   // "cora/gcn/qw"
  nlohmann::ordered_json each;        // {"data": "cora", "model": "gcn"}
  std::vector<TrainRequest> configs;  // all that the search may try, in its order
  std::vector<Rung> rungs;            // the last one has the most runs
};

// The searches of a description, or those of them whose combination of "each" is wanted. Throws
// qw::UsageError that begins with `file`.
std::vector<SweepCell> sweep_cells(
    const nlohmann::ordered_json& description, const std::string& file,
    const std::function<bool(const nlohmann::ordered_json& each)>& is_wanted = nullptr);
// A description from its text; throws qw::UsageError that names the line.
nlohmann::ordered_json parse_sweep(const std::string& text, const std::string& file);

// A search whose base there is not.
struct MissingBase {
  nlohmann::ordered_json each;  // which search
  std::string preset;           // that was looked for
};
// A description whose "base" is resolved: every search begins with the options of its preset, but for the
// model, the solver if the preset is of another method, and what "fixed" says. Searches without one begin
// with the defaults, and are added to `missing`.
nlohmann::ordered_json with_base(const nlohmann::ordered_json& description,
                                 const std::vector<Preset>& presets, const std::string& file,
                                 std::vector<MissingBase>& missing);

// A place in the ranking of a search.
struct RankedConfig {
  int64_t config = 0;  // a number of ResultStore::config_of
  int64_t runs = 0;    // by which it is compared
  double score = 0;    // mean validation metric; NaN: failed
};

// The searches of a sweep over one store: which trials they lack, and who leads.
class Sweep {
 public:
  // Numbers all configs.
  Sweep(ResultStore& store, const std::vector<SweepCell>& cells);

  // One search, its configs numbered by the store.
  struct Cell {
    std::string name;              // "cora/gcn/qw"
    std::vector<int64_t> configs;  // as in SweepCell
    std::vector<Rung> rungs;       // as in SweepCell
    bool higher_is_better = true;  // of the metric that counts
  };
  // As given to the constructor.
  const std::vector<Cell>& cells() const { return cells_; }

  // What all searches need next: the trials of the rungs that they have reached.
  Lacking lacking(const TrialScores& scores) const;
  // Best first: those that came furthest, by their score there. Empty until the first rung is complete.
  std::vector<RankedConfig> ranking(const Cell& cell, const TrialScores& scores) const;
  // Whether its last rung is complete.
  bool finished(const Cell& cell, const TrialScores& scores) const;

 private:
  std::vector<Cell> cells_;
};

}  // namespace qw
