// Tables and figures of experiments as one page, drawn by module report.
#include <fmt/format.h>

#include "core/text.h"
#include "paper/experiment.h"
#include "qw/report/report.h"
#include "report/page.h"

namespace qw {
namespace {

std::string without_marks(std::string text) {
  for (size_t at = text.find("**"); at != std::string::npos; at = text.find("**")) text.erase(at, 2);
  return std::string(trim(text));
}

// "| a | b |"
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells = split(trim(line).substr(1), '|');
  cells.pop_back();
  return cells;
}

void add_row(PageTable& table, const std::string& line) {
  std::vector<std::string> row;
  for (const std::string& cell : cells_of(line)) {
    if (cell.find("**") != std::string::npos) table.strong.insert({table.rows.size(), row.size()});
    row.push_back(without_marks(cell));
  }
  table.rows.push_back(std::move(row));
}

// What to_markdown() says, as paragraphs and tables of the page.
void add_markdown(Page& page, const std::string& markdown) {
  PageTable table;
  const auto finish_table = [&] {
    if (!table.columns.empty()) page.table(table);
    table = {};
  };
  for (const std::string& line : split(markdown, '\n')) {
    if (!line.starts_with('|')) finish_table();
    if (line.empty() || line.starts_with("| ---")) continue;
    if (line.starts_with("## ")) {
      page.section(line.substr(3));
    } else if (!line.starts_with('|')) {
      page.paragraph(without_marks(line.starts_with("- ") ? line.substr(2) : line));
    } else if (table.columns.empty()) {
      for (const std::string& name : cells_of(line))
        table.columns.push_back(table.columns.empty() && trim(name).empty()
                                    ? PageColumn{"model and loss", false}
                                    : PageColumn{without_marks(name), !table.columns.empty()});
    } else {
      add_row(table, line);
    }
  }
  finish_table();
}

// Cells the paper has, too: on the diagonal ours is the same.
Figure beside_the_paper(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  const std::string unit = experiment.percent() ? experiment.metric + ", %" : experiment.metric;
  Panel panel{.x_label = "the paper's " + unit,
              .y_label = "our " + unit,
              .kind = PanelKind::kPoints,
              .spread_style = SpreadStyle::kWhiskers,
              .diagonal = true};
  Series with{.name = "with QW"}, without{.name = "without QW"};
  for (const MeasuredCell& measured : cells) {
    if (!measured.cell->paper || measured.values.empty()) continue;
    Series& series = find_solver(measured.cell->request.learn.solver).has_flow ? with : without;
    series.x.push_back(measured.cell->paper->mean);
    series.y.push_back(measured.summary.mean);
  }
  for (Series* series : {&without, &with}) {
    if (!series->x.empty()) panel.series.push_back(std::move(*series));
  }
  return {"Ours beside the paper's",
          "Means of all cells of the table; on the dashed line they are equal.",
          {panel},
          1};
}

}  // namespace

std::string to_html(const std::vector<MeasuredExperiment>& experiments) {
  Page page("The paper's tables and figures, reproduced");
  int64_t cells = 0, complete = 0;
  for (const MeasuredExperiment& each : experiments) {
    for (const MeasuredCell& measured : each.cells) {
      ++cells;
      complete += measured.complete ? 1 : 0;
    }
  }
  page.lead(fmt::format("{} of {} cells are complete.", complete, cells));
  for (const MeasuredExperiment& each : experiments) {
    add_markdown(page, to_markdown(*each.experiment, each.cells));
    Figure figure = to_figure(*each.experiment, each.cells);
    if (figure.panels.empty()) figure = beside_the_paper(*each.experiment, each.cells);
    if (!figure.panels.front().series.empty()) page.chart(figure);
  }
  return page.html();
}

}  // namespace qw
