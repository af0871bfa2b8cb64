#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/embedded.h"
#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"
#include "report/axis.h"
#include "report/drawn_figure.h"
#include "report/svg.h"

namespace qw {
namespace {

constexpr size_t kMostTableRows = 200;  // behind a chart; the script has them all
constexpr double kWidePanel = 480;      // from which it has a row of its own
constexpr size_t kLongWord = 30;        // bytes
constexpr size_t kManyRows = 12;        // from which a table can be filtered

std::string cell_number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : ""; }

// JSON inside <script>: nothing in it may end the element.
std::string script_json(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : without_turns(json_text(json)))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

// A row for each line across the axes.
PageTable values_of_lines(const Panel& panel) {
  PageTable table{panel.title, {}, {}};
  for (const Series& axis : panel.series) table.columns.push_back({axis.name, axis.names.empty()});
  for (size_t i = 0; i < panel.series.front().y.size() && i < kMostTableRows; ++i) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const Series& axis : panel.series) {
      const bool named = !axis.names.empty() && std::isfinite(axis.y[i]);
      row.push_back(named ? axis.names[static_cast<size_t>(axis.y[i])] : cell_number(axis.y[i]));
    }
  }
  return table;
}

// The columns of a table that hold the intervals of a panel's series.
class SpreadColumns {
 public:
  explicit SpreadColumns(const Panel& panel) {
    for (const Series& series : panel.series) {
      if (!series.spread.empty() && names_.empty()) names_ = {"±"};
      if (!series.spread_above.empty()) names_ = {"−", "+"};
    }
  }
  void add_to(PageTable& table) const {
    for (const char* name : names_) table.columns.push_back({name, true});
  }
  void add_to(std::vector<std::string>& row, const Series& series, size_t i) const {
    const std::vector<double>& above = series.spread_above.empty() ? series.spread : series.spread_above;
    if (!names_.empty()) row.push_back(series.spread.empty() ? "" : cell_number(series.spread[i]));
    if (names_.size() == 2) row.push_back(above.empty() ? "" : cell_number(above[i]));
  }

 private:
  std::vector<const char*> names_;
};

// The values of a panel: a row for each position or name, a column for each series.
PageTable values_of(const Panel& panel) {
  if (panel.kind == PanelKind::kParallel && !panel.series.empty()) return values_of_lines(panel);
  PageTable table{panel.title, {}, {}};
  const bool named = !panel.categories.empty();
  const bool matrix = panel.kind == PanelKind::kMatrix;
  table.columns.push_back({matrix ? panel.y_label : panel.x_label, !named});
  if (matrix) {
    for (const std::string& name : panel.categories) table.columns.push_back({name, true});
    for (const Series& series : panel.series) {
      std::vector<std::string>& row = table.rows.emplace_back(1, series.name);
      for (const double value : series.y) row.push_back(cell_number(value));
    }
    return table;
  }
  const bool several = panel.series.size() > 1 && !named;
  if (several) table.columns.insert(table.columns.begin(), PageColumn{"series", false});
  const SpreadColumns spreads(panel);
  if (named) {
    for (const Series& series : panel.series) {
      table.columns.push_back({series.name, true});
      spreads.add_to(table);
    }
    for (size_t c = 0; c < panel.categories.size(); ++c) {
      std::vector<std::string>& row = table.rows.emplace_back(1, panel.categories[c]);
      for (const Series& series : panel.series) {
        row.push_back(cell_number(series.y[c]));
        spreads.add_to(row, series, c);
      }
    }
    return table;
  }
  table.columns.push_back({panel.y_label, true});
  spreads.add_to(table);
  for (const Series& series : panel.series) {
    for (size_t i = 0; i < series.y.size() && table.rows.size() < kMostTableRows; ++i) {
      std::vector<std::string>& row = table.rows.emplace_back();
      if (several) row.push_back(series.name);
      row.push_back(cell_number(series.x[i]));
      row.push_back(cell_number(series.y[i]));
      spreads.add_to(row, series, i);
    }
  }
  return table;
}

// Words too long for a column are broken.
const char* cell_class(const std::string& cell, bool is_number) {
  if (is_number) return " class=\"number\"";
  size_t longest = 0;
  for (const std::string& word : split(cell, ' ')) longest = std::max(longest, word.size());
  return longest > kLongWord ? " class=\"long\"" : "";
}

std::string table_html(const PageTable& table) {
  const char* many = table.rows.size() > kManyRows ? " class=\"many\"" : "";
  std::string html = fmt::format("<div class=\"scroll\"><table{}>\n", many);
  if (!table.caption.empty()) html += fmt::format("<caption>{}</caption>\n", escape_xml(table.caption));
  html += "<thead><tr>";
  for (const PageColumn& column : table.columns)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"number\"" : "",
                        escape_xml(column.name));
  html += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<std::string>& row = table.rows[r];
    QW_ASSERT(row.size() == table.columns.size());
    html += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) {
      const char* form = table.strong.contains({r, c}) ? "<td{}><strong>{}</strong></td>" : "<td{}>{}</td>";
      const bool is_number = table.columns[c].is_number;
      html += fmt::format(fmt::runtime(form), cell_class(row[c], is_number),
                          escape_xml(is_number ? with_true_minus(row[c]) : row[c]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// Entries are buttons that hide a series; without the script they do nothing.
std::string legend_html(const std::vector<LegendItem>& legend) {
  if (legend.empty()) return "";
  std::string html = "<ul class=\"legend\">\n";
  for (const LegendItem& item : legend)
    html += fmt::format(
        "<li><button type=\"button\" data-series=\"{}\" "
        "aria-pressed=\"true\">{}<span>{}</span></button></li>\n",
        item.place, item.swatch, escape_xml(item.name));
  return html + "</ul>\n";
}

std::string embedded(const char* name) { return std::string(embedded_page().at(name)); }

}  // namespace

void Page::lead(std::string_view text) {
  body_ += fmt::format("<p class=\"lead\">{}</p>\n", escape_xml(text));
}

void Page::warning(std::string_view text) {
  body_ += fmt::format("<p class=\"warning\"><strong>Note:</strong> {}</p>\n", escape_xml(text));
}

void Page::section(std::string_view title) {
  if (in_section_) body_ += "</section>\n";
  in_section_ = true;
  body_ += fmt::format("<section id=\"part-{}\">\n<h2>{}</h2>\n", sections_.size(), escape_xml(title));
  sections_.emplace_back(title);
}

void Page::subsection(std::string_view title) { body_ += fmt::format("<h3>{}</h3>\n", escape_xml(title)); }

void Page::paragraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escape_xml(text)); }

void Page::code(std::string_view text) {
  body_ += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape_xml(text));
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts)
    body_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_xml(name), escape_xml(value));
  body_ += "</dl>\n";
}

void Page::table(const PageTable& table) { body_ += table_html(table); }

void Page::chart(const Figure& figure) {
  const DrawnFigure drawn = draw_figure(figure);
  body_ += fmt::format("<figure class=\"chart\" id=\"chart-{}\">\n", charts_++);
  body_ += fmt::format("<figcaption><strong>{}</strong>{}</figcaption>\n", escape_xml(figure.title),
                       figure.description.empty() ? "" : " " + escape_xml(figure.description));
  body_ += legend_html(drawn.legend);
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  body_ += "<div class=\"panels\">\n";
  for (const DrawnPanel& panel : drawn.panels) {
    body_ += fmt::format("<div class=\"panel{}\" style=\"--width: {:.0f}\">{}</div>\n",
                         panel.width > kWidePanel ? " wide" : "", panel.width, panel.svg);
    values.push_back(panel.values);
  }
  body_ += fmt::format("</div>\n<script type=\"application/json\">{}</script>\n", script_json(values));
  body_ += "<details><summary>Values</summary>\n";
  for (const Panel& panel : figure.panels) {
    const PageTable table = values_of(panel);
    body_ += table_html(table);
    if (table.rows.size() == kMostTableRows && panel.categories.empty())
      body_ += fmt::format("<p>The first {} values.</p>\n", kMostTableRows);
  }
  body_ += "</details>\n</figure>\n";
}

void Page::drawing(const NeighbourhoodDrawing& drawing) {
  body_ += fmt::format("<figure class=\"chart drawing\">\n<figcaption><strong>{}</strong> {}</figcaption>\n",
                       escape_xml(drawing.title), escape_xml(drawing.description));
  body_ += fmt::format(
      "<div class=\"panels\"><div class=\"panel wide\" style=\"--width: {:.0f}\">{}</div></div>\n",
      kWidePanel, drawing.svg.substr(drawing.svg.find("<svg")));
  const nlohmann::ordered_json panel{{"kind", "drawing"}, {"marks", drawing.marks}};
  body_ += fmt::format("<script type=\"application/json\">[{}]</script>\n", script_json(panel));
  body_ += "<details><summary>Values</summary>\n";
  body_ += table_html({"Nodes",
                       {{"node", false}, {"part", false}, {"training label", false}, {"predicted", false}},
                       drawing.nodes});
  body_ += table_html({"Edges",
                       {{"from", false}, {"to", false}, {"weight", true}, {"transport moves", true}},
                       drawing.edges});
  body_ += "</details>\n</figure>\n";
}

std::string Page::html() const {
  std::string contents;
  for (size_t i = 0; i < sections_.size(); ++i)
    contents += fmt::format("<li><a href=\"#part-{}\">{}</a></li>\n", i, escape_xml(sections_[i]));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header><h1>{0}</h1></header>\n"
      "<nav aria-label=\"Contents\"><ul>\n{2}</ul></nav>\n<main>\n{3}{4}</main>\n"
      "<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{5}</script>\n</body>\n</html>\n",
      escape_xml(title_), embedded("page.css"), contents, body_, in_section_ ? "</section>\n" : "",
      embedded("page.js"));
}

}  // namespace qw
