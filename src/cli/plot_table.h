// Tables that are drawn: CSV, and JSON lines as metrics.jsonl has them.
#pragma once

#include <string>
#include <vector>

namespace qw::cli {

struct PlotColumn {
  std::string name;
  std::vector<std::string> text;  // [rows]
  std::vector<double> numbers;    // [rows]; NaN where there is none
  bool is_text = false;           // some cell that is not empty is no number
};

// Throws qw::Error that begins with the file's name.
std::vector<PlotColumn> read_plot_table(const std::string& file);

}  // namespace qw::cli
