#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/plot_table.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "qw/report/chart.h"
#include "report/figure_json.h"
#include "report/histogram.h"

namespace qw::cli {
namespace {

struct PlotArguments {
  std::string file, out, kind = "auto", x, title, x_label, y_label;
  std::vector<std::string> y;
  bool log_x = false, log_y = false;
  int64_t bins = 30;
};

const PlotColumn& column_named(const std::vector<PlotColumn>& columns, const std::string& name,
                               const char* option) {
  std::vector<std::string> known;
  for (const PlotColumn& column : columns) {
    if (column.name == name) return column;
    known.push_back(column.name);
  }
  fail_usage(fmt::format("qw plot: {} {}", option, unknown_name(name, known)));
}

// An axis for each column, or for those of --y; the first row stands out.
Panel parallel_panel(const std::vector<PlotColumn>& columns, const PlotArguments& arguments) {
  if (!arguments.x.empty()) fail_usage("qw plot: --x has no use with --kind parallel; --y chooses its axes");
  std::vector<std::string> names = arguments.y;
  for (const PlotColumn& column : columns) {
    if (arguments.y.empty()) names.push_back(column.name);
  }
  Panel panel{.kind = PanelKind::kParallel};
  for (const std::string& name : names) {
    const PlotColumn& column = column_named(columns, name, "--y");
    Series& axis = panel.series.emplace_back(Series{.name = name, .y = column.numbers});
    for (size_t row = 0; column.is_text && row < column.text.size(); ++row) {
      const auto found = std::find(axis.names.begin(), axis.names.end(), column.text[row]);
      axis.y[row] = static_cast<double>(found - axis.names.begin());
      if (found == axis.names.end()) axis.names.push_back(column.text[row]);
    }
  }
  return panel;
}

// Columns as series, over the first one or that of --x; in a matrix, rows are series.
Panel panel_of(const std::vector<PlotColumn>& columns, const PlotArguments& arguments) {
  if (arguments.kind == "parallel") return parallel_panel(columns, arguments);
  const bool counts = arguments.kind == "histogram";
  const PlotColumn& x = arguments.x.empty() ? columns.front() : column_named(columns, arguments.x, "--x");
  std::vector<const PlotColumn*> drawn;
  for (const std::string& name : arguments.y) drawn.push_back(&column_named(columns, name, "--y"));
  for (const PlotColumn& column : columns) {
    if (arguments.y.empty() && !column.is_text && (counts || &column != &x)) drawn.push_back(&column);
  }
  for (const PlotColumn* column : drawn) {
    if (column->is_text)
      fail(fmt::format("{}: column {} has text where numbers are drawn", arguments.file,
                       in_quotes(column->name)));
  }
  if (drawn.empty())
    fail(fmt::format("{}: has no column of numbers beside {}", arguments.file, in_quotes(x.name)));
  Panel panel;
  const std::string kind = arguments.kind != "auto" ? arguments.kind : x.is_text ? "bars" : "lines";
  const auto& kinds = panel_kinds();
  panel.kind = static_cast<PanelKind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  panel.x_label = !counts ? x.name : drawn.size() == 1 ? drawn.front()->name : "";
  panel.y_label = counts ? "rows" : drawn.size() == 1 ? drawn.front()->name : "";
  if (panel.kind == PanelKind::kMatrix) {
    panel.x_label = "";
    panel.y_label = x.name;
    for (const PlotColumn* column : drawn) panel.categories.push_back(column->name);
    for (size_t row = 0; row < x.text.size(); ++row) {
      Series& series = panel.series.emplace_back(Series{.name = x.text[row]});
      for (const PlotColumn* column : drawn) series.y.push_back(column->numbers[row]);
    }
    return panel;
  }
  const bool named = panel.kind == PanelKind::kBars || panel.kind == PanelKind::kIntervals;
  if (!named && !counts && x.is_text)
    fail(fmt::format("{}: column {} has text where numbers are drawn", arguments.file, in_quotes(x.name)));
  if (named) panel.categories = x.text;
  if (panel.kind == PanelKind::kIntervals) std::swap(panel.x_label, panel.y_label);
  for (const PlotColumn* column : drawn) {
    panel.series.push_back(counts  ? histogram(column->name, column->numbers, arguments.bins)
                           : named ? Series{.name = column->name, .y = column->numbers}
                                   : Series{.name = column->name, .x = x.numbers, .y = column->numbers});
  }
  return panel;
}

Figure figure_of(const PlotArguments& arguments) {
  if (arguments.file.ends_with(".json")) {
    if (!arguments.x.empty() || !arguments.y.empty() || arguments.kind != "auto")
      fail_usage("qw plot: --kind, --x and --y are for tables; a figure in JSON says them itself");
    return figure_from_json(read_json(arguments.file), arguments.file);
  }
  Figure figure;
  figure.title = std::filesystem::path(arguments.file).filename().string();
  figure.panels.push_back(panel_of(read_plot_table(arguments.file), arguments));
  return figure;
}

void plot(const PlotArguments& arguments) {
  Figure figure = figure_of(arguments);
  if (!arguments.title.empty()) figure.title = arguments.title;
  for (Panel& panel : figure.panels) {
    if (!arguments.x_label.empty()) panel.x_label = arguments.x_label;
    if (!arguments.y_label.empty()) panel.y_label = arguments.y_label;
    panel.log_x = panel.log_x || arguments.log_x;
    panel.log_y = panel.log_y || arguments.log_y;
  }
  const std::string svg = to_svg(figure);
  if (arguments.out.empty()) return print_text(svg);
  if (arguments.out.ends_with(".svg")) return write_file_atomically(arguments.out, svg);
  if (!arguments.out.ends_with(".png"))
    fail_usage(fmt::format("qw plot: --out {} must end in .svg or .png", in_quotes(arguments.out)));
  const std::filesystem::path drawing = arguments.out + ".svg";
  write_file_atomically(drawing, svg);
  try {
    write_png(drawing, arguments.out);
  } catch (const Error&) {
    std::filesystem::remove(drawing);
    throw;
  }
  std::filesystem::remove(drawing);
}

}  // namespace

void add_plot_command(CLI::App& app, const GlobalOptions&) {
  auto arguments = std::make_shared<PlotArguments>();
  CLI::App* command = app.add_subcommand("plot", "draw a table or a figure as SVG or PNG");
  command
      ->add_option(
          "file", arguments->file,
          "a table (.csv, .tsv, .jsonl: run-0/metrics.jsonl), or a figure (.json, see docs/plots.md)")
      ->required()
      ->type_name("FILE")
      ->check(not_empty());
  FieldTable table("qw plot");
  table.add("out", arguments->out, "FILE", "where to draw it: .svg or .png; standard output otherwise");
  std::vector<std::string> kinds{"auto"};
  kinds.insert(kinds.end(), panel_kinds().begin(), panel_kinds().end());
  table.add_choice(
      "kind", arguments->kind, kinds,
      "what to draw; auto: lines over numbers, bars over names; of histograms the rows are counted");
  table.add("x", arguments->x, "COL", "the column of positions or names; default: the first");
  table.add("y", arguments->y, "COL", "columns to draw; default: all others that are numbers");
  table.add("title", arguments->title, "TEXT", "above it; default: the file's name, or the figure's own");
  table.add("x_label", arguments->x_label, "TEXT", "below the axis; default: the column's name");
  table.add("y_label", arguments->y_label, "TEXT", "beside the axis; default: the column's name");
  table.add("log_x", arguments->log_x, "a logarithmic axis");
  table.add("log_y", arguments->log_y, "a logarithmic axis");
  table.add("bins", arguments->bins, {1, 1000}, "of histograms");
  add_options(*command, table);
  command->callback([arguments] { plot(*arguments); });
}

}  // namespace qw::cli
