#include "report/node_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/file.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

struct Row {
  std::string id, prediction, label;
};

std::vector<Row> rows_of(const std::filesystem::path& file, const std::string& part) {
  const std::string text = read_file(file);
  CsvScanner scanner(text, file.string());
  const CsvHeader header = read_header(scanner);
  const auto place = [&](std::string_view name) {
    const auto found = std::find(header.names.begin(), header.names.end(), name);
    if (found == header.names.end())
      fail(fmt::format("{}: has no column '{}', so that nodes cannot be paired", file.string(), name));
    return static_cast<size_t>(found - header.names.begin());
  };
  const size_t id = place("id"), prediction = place("prediction"), label = place("label"),
               where = place("part");
  std::vector<Row> rows;
  std::vector<std::string_view> fields;
  while (scanner.next(fields)) {
    if (fields.size() == header.names.size() && fields[where] == part && !fields[label].empty())
      rows.push_back({std::string(fields[id]), std::string(fields[prediction]), std::string(fields[label])});
  }
  return rows;
}

double number_in(const std::string& text, const std::filesystem::path& file) {
  const std::optional<double> number = parse_number(text);
  if (!number) fail(fmt::format("{}: {} is no number", file.string(), in_quotes(text)));
  return *number;
}

}  // namespace

bool is_mean_over_nodes(const std::string& metric) {
  return metric == "accuracy" || metric == "mse" || metric == "mae" || metric == "r2";
}

NodeScores read_node_scores(const std::filesystem::path& predictions, const std::string& part,
                            const std::string& metric) {
  NodeScores found;
  std::vector<double> labels;
  for (const Row& row : rows_of(predictions, part)) {
    found.ids.push_back(row.id);
    if (metric == "accuracy") {
      found.scores.push_back(row.prediction == row.label ? 1 : 0);
      continue;
    }
    labels.push_back(number_in(row.label, predictions));
    const double off = number_in(row.prediction, predictions) - labels.back();
    found.scores.push_back(metric == "mae" ? std::fabs(off) : off * off);
  }
  if (metric != "r2") return found;
  double mean = 0, spread = 0;
  const auto count = static_cast<double>(labels.size());
  for (const double label : labels) mean += label / count;
  for (const double label : labels) spread += (label - mean) * (label - mean) / count;
  for (double& score : found.scores) score = spread > 0 ? 1 - score / spread : std::nan("");
  return found;
}

}  // namespace qw
