// From the store to what an experiment shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/text.h"
#include "paper/experiment.h"
#include "qw/core/error.h"
#include "qw/report/paired.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

double value_of(const Experiment& experiment, const RunResult& result) {
  if (experiment.metric == "step_ms") return result.step_ms;
  const auto found = std::find_if(result.test.begin(), result.test.end(),
                                  [&](const auto& each) { return each.first == experiment.metric; });
  QW_ASSERT(found != result.test.end());
  return experiment.percent() ? 100 * found->second : found->second;
}

std::string number(const Experiment& experiment, double value) {
  return experiment.metric == "mse" ? fmt::format("{:.4f}", value) : fmt::format("{:.2f}", value);
}

std::vector<std::string> in_order(const std::vector<MeasuredCell>& cells, std::string ExperimentCell::*what) {
  std::vector<std::string> names;
  for (const MeasuredCell& measured : cells) {
    const std::string& name = measured.cell->*what;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const MeasuredCell* find(const std::vector<MeasuredCell>& cells, const std::string& row,
                         const std::string& column) {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const MeasuredCell& measured) {
    return measured.cell->row == row && measured.cell->column == column;
  });
  return found == cells.end() ? nullptr : &*found;
}

// QW without any transport, in all runs: what is left of it is the traditional loss.
bool nothing_flows(const MeasuredCell& measured) {
  return !measured.results.empty() &&
         std::all_of(measured.results.begin(), measured.results.end(), [](const StoredResult& stored) {
           return stored.result.flow && stored.result.flow->nonzeros == 0;
         });
}

std::string ours(const Experiment& experiment, const MeasuredCell& measured) {
  if (!measured.error.empty()) return "failed";
  if (measured.values.empty()) return "-";
  const std::string runs =
      measured.complete ? "" : fmt::format(" [{} of {} runs]", measured.runs.size(), experiment.runs);
  return fmt::format("{} ± {}{}{}", number(experiment, measured.summary.mean),
                     number(experiment, measured.summary.ci95), nothing_flows(measured) ? " †" : "", runs);
}

// How many numbers were learned, where the table is about that.
std::string size_text(const Experiment& experiment, const MeasuredCell& measured) {
  if (experiment.name != "table7" || measured.results.empty()) return "";
  const RunResult& result = measured.results.front().result;
  return fmt::format(
      ", {} parameters{}", with_thousands(result.parameters),
      result.flow ? fmt::format(" and a flow of {}", with_thousands(result.flow->entries)) : "");
}

std::string beside_the_paper(const Experiment& experiment, const MeasuredCell& measured) {
  std::string text = ours(experiment, measured);
  if (!measured.cell->paper) return text;
  const PaperValue& paper = *measured.cell->paper;
  text += fmt::format(" ({} ± {}", number(experiment, paper.mean), number(experiment, paper.plus_minus));
  if (measured.difference) text += fmt::format("; {:+.1f}", *measured.difference);
  return text + ")" + size_text(experiment, measured);
}

std::string rows_and_columns(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  const std::vector<std::string> columns = in_order(cells, &ExperimentCell::column);
  std::string text = "| |", line = "| --- |";
  for (const std::string& column : columns) {
    text += fmt::format(" {} |", column);
    line += " --- |";
  }
  text += "\n" + line + "\n";
  for (const std::string& row : in_order(cells, &ExperimentCell::row)) {
    text += fmt::format("| {} |", row);
    for (const std::string& column : columns) {
      const MeasuredCell* measured = find(cells, row, column);
      text += fmt::format(" {} |", measured == nullptr ? "" : beside_the_paper(experiment, *measured));
    }
    text += "\n";
  }
  return text;
}

// Figures: one line per point.
std::string points(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  std::string text = "| graph | series | x | ours |\n| --- | --- | --- | --- |\n";
  for (const MeasuredCell& measured : cells) {
    text += fmt::format("| {} | {} | {} | {} |\n", measured.cell->column, measured.cell->row,
                        measured.cell->x, ours(experiment, measured));
  }
  return text;
}

bool is_qw(const MeasuredCell& measured) { return find_solver(measured.cell->request.learn.solver).has_flow; }

// How many cells are within the paper's +- of its mean, or better.
std::string verdict(const std::vector<MeasuredCell>& cells) {
  int64_t reached[2] = {0, 0}, all[2] = {0, 0};
  for (const MeasuredCell& measured : cells) {
    if (!measured.cell->paper || !measured.complete) continue;
    ++all[is_qw(measured)];
    if (measured.difference && *measured.difference >= -1) ++reached[is_qw(measured)];
  }
  std::string text;
  for (const int qw : {1, 0}) {
    if (all[qw] == 0) continue;
    text += fmt::format("{} of {} cells {} QW are within the paper's ± of its mean, or better.\n",
                        reached[qw], all[qw], qw == 1 ? "with" : "without");
  }
  return text;
}

// QW minus CE, on average over the graphs, by model.
std::string improvements(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  std::string text;
  for (const std::string& row : in_order(cells, &ExperimentCell::row)) {
    if (!row.ends_with(", QW")) continue;
    const std::string model = row.substr(0, row.size() - 4);
    double ours_sum = 0, paper_sum = 0;
    int64_t count = 0;
    for (const MeasuredCell& qw : cells) {
      const MeasuredCell* traditional =
          find(cells, model + (experiment.percent() ? ", CE" : ", MSE"), qw.cell->column);
      const bool both = traditional != nullptr && qw.complete && traditional->complete;
      if (qw.cell->row != row || !both || !qw.cell->paper) continue;
      ours_sum += qw.summary.mean - traditional->summary.mean;
      paper_sum += qw.cell->paper->mean - traditional->cell->paper->mean;
      ++count;
    }
    if (count == 0) continue;
    const auto all = static_cast<double>(count);
    text += experiment.percent()
                ? fmt::format("{}: QW improves by {:+.2f} points on average (paper: {:+.2f}).\n", model,
                              ours_sum / all, paper_sum / all)
                : fmt::format("{}: QW changes the error by {:+.4f} on average (paper: {:+.4f}).\n", model,
                              ours_sum / all, paper_sum / all);
  }
  return text;
}

// Another method minus the traditional loss of the same model, paired over the seeds.
std::string paired_cell(const Experiment& experiment, const MeasuredCell& one,
                        const MeasuredCell& traditional) {
  if (!one.complete || !traditional.complete || experiment.runs < 2) return "";
  const PairedComparison paired =
      compare_paired(traditional.values, one.values, experiment.higher_is_better());
  const bool clear = paired.verdict != Verdict::kUndecided;
  const char* const mark = clear ? "**" : "";
  return fmt::format("{}{:+.{}f} ± {:.{}f}{} ({}/{})", mark, paired.difference, experiment.percent() ? 2 : 4,
                     paired.half_width, experiment.percent() ? 2 : 4, mark, paired.wins, paired.losses);
}

std::string paired_table(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  const std::vector<std::string> columns = in_order(cells, &ExperimentCell::column);
  std::string rows;
  for (const std::string& row : in_order(cells, &ExperimentCell::row)) {
    const std::string model = row.substr(0, row.find(','));
    const std::string traditional = model + (experiment.percent() ? ", CE" : ", MSE");
    if (row == traditional) continue;
    std::string line;
    bool any = false;
    for (const std::string& column : columns) {
      const MeasuredCell* one = find(cells, row, column);
      const MeasuredCell* other = find(cells, traditional, column);
      const std::string text =
          one == nullptr || other == nullptr ? "" : paired_cell(experiment, *one, *other);
      any = any || !text.empty();
      line += fmt::format(" {} |", text);
    }
    if (any) rows += fmt::format("| {} |{}\n", row, line);
  }
  if (rows.empty()) return "";
  return fmt::format(
             "\nDoes it help? The difference to the traditional loss of the same model over the same seeds, "
             "with its 95 % interval "
             "(Student's t), and (wins/losses); bold where the interval leaves out 0.\n\n| | {} |\n|{}\n",
             join(columns, " | "),
             [&] {
               std::string line;
               for (size_t i = 0; i <= columns.size(); ++i) line += " --- |";
               return line;
             }()) +
         rows;
}

std::string sentences_as_list(const std::string& lines) {
  std::string text;
  for (const std::string& line : split(lines, '\n')) {
    if (!line.empty()) text += "- " + line + "\n";
  }
  return text;
}

}  // namespace

Lacking lacking(const Experiment& experiment, ResultStore& store, const TrialScores& scores) {
  Lacking lacking;
  for (const ExperimentCell& cell : experiment.cells) {
    const int64_t config = store.config_of(cell.request);
    for (int64_t run = 0; run < experiment.runs; ++run) {
      if (!scores.contains({config, run})) lacking.trials.push_back({config, run});
    }
  }
  return lacking;
}

std::vector<MeasuredCell> measure(const Experiment& experiment, ResultStore& store) {
  std::vector<MeasuredCell> cells;
  for (const ExperimentCell& cell : experiment.cells) {
    MeasuredCell measured;
    measured.cell = &cell;
    const int64_t config = store.config_of(cell.request);
    for (int64_t run = 0; run < experiment.runs; ++run) {
      std::optional<StoredResult> stored = store.find({config, run});
      if (!stored) continue;
      if (!stored->error.empty()) {
        measured.error = stored->error;
        continue;
      }
      measured.runs.push_back(run);
      measured.values.push_back(value_of(experiment, stored->result));
      measured.results.push_back(std::move(*stored));
    }
    measured.summary = summarise(measured.values);
    measured.complete = static_cast<int64_t>(measured.runs.size()) == experiment.runs;
    if (cell.paper && measured.complete) {
      const double better = experiment.higher_is_better() ? 1 : -1;
      measured.difference = better * (measured.summary.mean - cell.paper->mean) / cell.paper->plus_minus;
    }
    cells.push_back(std::move(measured));
  }
  return cells;
}

std::string to_markdown(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  const bool is_table = !experiment.name.starts_with("fig");
  std::string text = fmt::format("## {}: {}\n\n", experiment.name, experiment.title);
  if (is_table) {
    text += fmt::format(
        "Ours, mean ± half width of a 95 % bootstrap interval over {} runs; in parentheses the paper's, and "
        "the difference in units of its ± (such a half width, too), above 0 where ours is better.\n\n",
        experiment.runs);
  }
  text += is_table ? rows_and_columns(experiment, cells) + paired_table(experiment, cells)
                   : points(experiment, cells);
  std::string remarks = verdict(cells) + improvements(experiment, cells);
  for (const std::string& note : experiment.notes) remarks += note + "\n";
  if (std::any_of(cells.begin(), cells.end(), nothing_flows)) {
    remarks +=
        "†: validation chose a flow that is zero everywhere, so that QW is the traditional loss there, "
        "but for the one weight of all edges that --edge-weights learns.\n";
  }
  const auto has_copies = [](const MeasuredCell& measured) {
    return measured.cell->column == "squirrel" || measured.cell->column == "chameleon";
  };
  if (std::any_of(cells.begin(), cells.end(), has_copies)) {
    remarks +=
        "Squirrel and Chameleon contain copies of nodes that leak from train to test: compare results on "
        "them only with others "
        "on the same data.\n";
  }
  return text + (remarks.empty() ? "" : "\n" + sentences_as_list(remarks));
}

std::string to_csv(const std::vector<MeasuredCell>& cells) {
  std::string text =
      "row,column,x,runs,mean,ci95,std,paper_mean,paper_plus_minus,difference_in_paper_plus_minus,preset,"
      "options,error\n";
  for (const MeasuredCell& measured : cells) {
    const ExperimentCell& cell = *measured.cell;
    const auto optional = [](bool there, double value) {
      return there ? fmt::format("{:.6g}", value) : std::string();
    };
    text += fmt::format(
        "{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{},{},{},{}\n", csv_field(cell.row), csv_field(cell.column),
        cell.x, measured.values.size(), measured.summary.mean, measured.summary.ci95, measured.summary.std,
        optional(cell.paper.has_value(), cell.paper.value_or(PaperValue{}).mean),
        optional(cell.paper.has_value(), cell.paper.value_or(PaperValue{}).plus_minus),
        optional(measured.difference.has_value(), measured.difference.value_or(0)), csv_field(cell.preset),
        csv_field(json_text(options_json(cell.request))), csv_field(measured.error));
  }
  return text;
}

nlohmann::ordered_json to_json(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  Json rows = Json::array();
  for (const MeasuredCell& measured : cells) {
    const ExperimentCell& cell = *measured.cell;
    Json row{{"row", cell.row},
             {"column", cell.column},
             {"x", cell.x},
             {"values", measured.values},
             {"mean", measured.summary.mean},
             {"ci95", measured.summary.ci95},
             {"std", measured.summary.std}};
    if (cell.paper) row["paper"] = {{"mean", cell.paper->mean}, {"plus_minus", cell.paper->plus_minus}};
    if (measured.difference) row["difference_in_paper_plus_minus"] = *measured.difference;
    row["preset"] = cell.preset;
    row["data"] = cell.request.data;
    row["options"] = options_json(cell.request);
    if (!measured.error.empty()) row["error"] = measured.error;
    rows.push_back(std::move(row));
  }
  return {{"name", experiment.name}, {"title", experiment.title}, {"metric", experiment.metric},
          {"runs", experiment.runs}, {"notes", experiment.notes}, {"cells", rows}};
}

}  // namespace qw
