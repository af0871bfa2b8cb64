// The paper's experiments: what each trains, what the paper reports for it, and how ours compares.
//
// A table or figure is a list of cells; a cell is a request of `qw train`, made from a preset. Trainings are
// done by do_work() and kept in a ResultStore, so that cells that several experiments share are trained once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qw/report/chart.h"
#include "qw/study/presets.h"
#include "qw/study/store.h"
#include "qw/study/work.h"

namespace qw {

// As printed there. What the paper calls a standard deviation is, in the released code, the half width of a
// 95 % bootstrap interval of the mean.
struct PaperValue {
  double mean = 0;
  double plus_minus = 0;
};

struct ExperimentCell {
  std::string row, column;  // of a table; series and panel of a figure
  double x = 0;             // figures: where along the axis
  TrainRequest request;
  std::string preset;     // where the options come from; "": there was none
  bool borrowed = false;  // the preset is that of another method
  std::optional<PaperValue> paper;
};

struct Experiment {
  std::string name;  // "table1", "fig-lambda"
  std::string title;
  std::string metric = "accuracy";  // of the test nodes; "mse"; "step_ms"
  std::vector<ExperimentCell> cells;
  std::vector<std::string> notes;
  int64_t runs = 10;
  bool one_at_a_time = false;  // where time is what is measured

  bool percent() const { return metric == "accuracy"; }
  bool higher_is_better() const { return metric == "accuracy"; }
};

struct ExperimentOptions {
  std::vector<std::string> models, datasets;  // only these; empty: all
  int64_t runs = 10;
  std::vector<Preset> presets = qw::presets();
  std::string arxiv;  // a folder of OGB's ogbn-arxiv; empty: a generated graph of its size instead
};

const std::vector<std::string>& experiment_names();
// Without cells when it has none of the models and data sets. Throws qw::UsageError that lists the known
// ones.
Experiment make_experiment(const std::string& name, const ExperimentOptions& options);

// What the store lacks of it.
Lacking lacking(const Experiment& experiment, ResultStore& store, const TrialScores& scores);

struct MeasuredCell {
  const ExperimentCell* cell = nullptr;
  std::vector<int64_t> runs;   // that are there
  std::vector<double> values;  // of the metric, by run; percent where it is a share
  Summary summary;
  std::string error;      // of a run that failed
  bool complete = false;  // all runs are there, none failed
  std::optional<double>
      difference;  // of a complete one to the paper's mean, in units of its +-; above 0: better
  std::vector<StoredResult> results;
};
std::vector<MeasuredCell> measure(const Experiment& experiment, ResultStore& store);

// Ours beside the paper's, and what to know about it; the same as CSV and JSON.
std::string to_markdown(const Experiment& experiment, const std::vector<MeasuredCell>& cells);
std::string to_csv(const std::vector<MeasuredCell>& cells);
nlohmann::ordered_json to_json(const Experiment& experiment, const std::vector<MeasuredCell>& cells);
// A figure; without panels for tables, and while there is nothing to draw.
Figure to_figure(const Experiment& experiment, const std::vector<MeasuredCell>& cells);
// The same as SVG; "" where there is none.
std::string to_svg(const Experiment& experiment, const std::vector<MeasuredCell>& cells);

struct MeasuredExperiment {
  const Experiment* experiment = nullptr;
  std::vector<MeasuredCell> cells;
};
// All of them as one HTML page that needs nothing else.
std::string to_html(const std::vector<MeasuredExperiment>& experiments);

}  // namespace qw
