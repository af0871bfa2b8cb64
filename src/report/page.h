// One HTML page that needs nothing else: no network, no other file. Text is escaped, charts are inline SVG
// with a table of their values behind them, and a small script adds tooltips, hiding of series, sorting and
// filtering. Without the script everything can still be read.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qw/report/chart.h"
#include "report/neighbourhood_drawing.h"

namespace qw {

// A column of numbers is set to the right and sorted by value.
struct PageColumn {
  std::string name;
  bool is_number = false;
};

struct PageTable {
  std::string caption;
  std::vector<PageColumn> columns;
  std::vector<std::vector<std::string>> rows;    // a cell for each column
  std::set<std::pair<size_t, size_t>> strong{};  // rows and columns of cells that stand out
};

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  void lead(std::string_view text);     // the answer, large
  void warning(std::string_view text);  // set apart
  void section(std::string_view title);
  void subsection(std::string_view title);
  void paragraph(std::string_view text);
  void code(std::string_view text);  // as it is written
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  void table(const PageTable& table);
  // The figure's title and description are its text alternative.
  void chart(const Figure& figure);

  void drawing(const NeighbourhoodDrawing& drawing);

  std::string html() const;

 private:
  std::string title_, body_;
  std::vector<std::string> sections_;
  int charts_ = 0;
  bool in_section_ = false;
};

}  // namespace qw
