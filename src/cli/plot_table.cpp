#include "cli/plot_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/file.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "qw/core/error.h"
#include "qw/data/load.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

bool is_missing(const std::string& text) {
  const std::vector<std::string> names = LoadOptions().missing;
  return text.empty() || std::find(names.begin(), names.end(), text) != names.end();
}

void add_cell(PlotColumn& column, std::string text) {
  if (is_missing(text)) text.clear();
  const std::optional<double> number = parse_number(text);
  column.is_text = column.is_text || (!number && !text.empty());
  column.numbers.push_back(number.value_or(std::nan("")));
  column.text.push_back(std::move(text));
}

std::vector<PlotColumn> read_csv(const std::string& file, const std::string& text) {
  CsvScanner scanner(text, file);
  std::vector<PlotColumn> columns;
  for (const std::string& name : read_header(scanner).names) columns.push_back({name, {}, {}});
  std::vector<std::string_view> fields;
  while (scanner.next(fields)) {
    if (fields.size() != columns.size()) {
      fail(fmt::format("{}:{}: {} fields, the header has {}", file, scanner.line(), fields.size(),
                       columns.size()));
    }
    for (size_t c = 0; c < columns.size(); ++c) add_cell(columns[c], std::string(fields[c]));
  }
  return columns;
}

// A column for each key that has a number or a text in some line.
std::vector<PlotColumn> read_json_lines(const std::string& file, const std::string& text) {
  std::vector<PlotColumn> columns;
  size_t rows = 0;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) fail(fmt::format("{}: row {} is no JSON object", file, rows + 1));
    for (const auto& [name, value] : object.items()) {
      if (!value.is_number() && !value.is_string()) continue;
      const std::string key = name;
      auto found = std::find_if(columns.begin(), columns.end(),
                                [&](const PlotColumn& column) { return column.name == key; });
      if (found == columns.end()) found = columns.insert(columns.end(), {name, {}, {}});
      while (found->text.size() < rows) add_cell(*found, "");
      add_cell(*found, value.is_string() ? value.get<std::string>() : value.dump());
    }
    ++rows;
  }
  for (PlotColumn& column : columns) {
    while (column.text.size() < rows) add_cell(column, "");
  }
  return columns;
}

}  // namespace

std::vector<PlotColumn> read_plot_table(const std::string& file) {
  const std::string text = read_file(file);
  const bool is_json = file.ends_with(".jsonl");
  std::vector<PlotColumn> columns = is_json ? read_json_lines(file, text) : read_csv(file, text);
  if (columns.empty() || columns.front().text.empty()) fail(fmt::format("{}: has no rows to draw", file));
  return columns;
}

}  // namespace qw::cli
