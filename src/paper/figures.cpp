// Figures of experiments, drawn by module report.
#include <algorithm>

#include "paper/experiment.h"

namespace qw {
namespace {

Series& series_named(Panel& panel, const std::string& name) {
  for (Series& series : panel.series) {
    if (series.name == name) return series;
  }
  panel.series.push_back({name});
  return panel.series.back();
}

Panel& panel_named(Figure& figure, const std::string& title) {
  for (Panel& panel : figure.panels) {
    if (panel.title == title) return panel;
  }
  Panel panel;
  panel.title = title;
  figure.panels.push_back(std::move(panel));
  return figure.panels.back();
}

// One panel per column, one line per row.
Figure lines(const std::vector<MeasuredCell>& cells, const std::string& x_label, bool log_x) {
  Figure figure;
  for (const MeasuredCell& measured : cells) {
    if (measured.values.empty()) continue;
    Panel& panel = panel_named(figure, measured.cell->column);
    panel.x_label = x_label;
    panel.y_label = "test accuracy (%)";
    panel.log_x = log_x;
    Series& series = series_named(panel, measured.cell->row);
    series.x.push_back(measured.cell->x);
    series.y.push_back(measured.summary.mean);
    series.spread.push_back(measured.summary.ci95);
  }
  return figure;
}

Figure bars(const std::vector<MeasuredCell>& cells) {
  Figure figure;
  figure.columns = 1;
  Panel& panel = panel_named(figure, "photo");
  panel.kind = PanelKind::kBars;
  panel.x_label = "network and loss";
  panel.y_label = "milliseconds per step";
  panel.series.push_back({"median step of a run, mean over the runs"});
  for (const MeasuredCell& measured : cells) {
    std::string label = measured.cell->row;
    std::replace(label.begin(), label.end(), ',', '\n');
    panel.categories.push_back(label);
    panel.series.front().y.push_back(measured.summary.mean);
    panel.series.front().spread.push_back(measured.summary.ci95);
  }
  return figure;
}

Figure histograms(const std::vector<MeasuredCell>& cells) {
  Figure figure;
  for (const MeasuredCell& measured : cells) {
    if (measured.results.empty() || !measured.results.front().result.flow) continue;
    const FlowHistogram& histogram = measured.results.front().result.flow->histogram;
    if (histogram.counts.empty() || histogram.limit == 0) continue;  // nothing flows
    Panel& panel = panel_named(figure, measured.cell->column);
    panel.kind = PanelKind::kHistogram;
    panel.x_label = "value of the flow";
    panel.y_label = "density";
    panel.log_y = true;
    Series series{measured.cell->row};
    double total = 0;
    for (const int64_t count : histogram.counts) total += static_cast<double>(count);
    const auto bins = static_cast<double>(histogram.counts.size());
    const double width = 2 * histogram.limit / bins;
    for (size_t i = 0; i <= histogram.counts.size(); ++i) {
      series.x.push_back(-histogram.limit + width * static_cast<double>(i));
    }
    for (const int64_t count : histogram.counts)
      series.y.push_back(static_cast<double>(count) / (total * width));
    panel.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace

Figure to_figure(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  if (!experiment.name.starts_with("fig")) return {};
  Figure figure = experiment.name == "fig-runtime"     ? bars(cells)
                  : experiment.name == "fig-histogram" ? histograms(cells)
                  : experiment.name == "fig-labels"    ? lines(cells, "labelled nodes (%)", false)
                                                       : lines(cells, "lambda", true);
  if (figure.panels.empty()) return {};
  figure.title = experiment.title;
  figure.description = experiment.title + ", made by qw reproduce " + experiment.name;
  return figure;
}

std::string to_svg(const Experiment& experiment, const std::vector<MeasuredCell>& cells) {
  const Figure figure = to_figure(experiment, cells);
  return figure.panels.empty() ? "" : to_svg(figure);
}

}  // namespace qw
