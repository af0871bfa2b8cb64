#include "study/database.h"

#include <fmt/format.h>

#include <cmath>

#include "qw/core/error.h"
#include "study/postgres.h"
#include "study/postgres_url.h"
#include "study/sqlite.h"

namespace qw {

double number_of(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? std::nan("") : *number;
}

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? std::string() : fmt::format("{}", *number);
}

std::vector<Row> Database::run(const std::string& sql, const Row& values) {
  std::vector<Row> rows;
  visit(sql, values, [&](const Row& row) { rows.push_back(row); });
  return rows;
}

void add_score(const Database& database, const Row& row, TrialScores& scores) {
  const auto* config = std::get_if<int64_t>(&row[0]);
  const auto* run = std::get_if<int64_t>(&row[1]);
  if (config == nullptr || run == nullptr)
    fail(fmt::format("{}: is damaged: a result belongs to no trial", database.name()));
  scores[{*config, *run}] = text_of(row[3]).empty() ? number_of(row[2]) : std::nan("");
}

std::unique_ptr<Database> open_database(const std::string& where) {
  if (is_postgres_url(where)) return open_postgres(where);
  check_is_no_url(where);
  return std::make_unique<SqliteDatabase>(where);
}

}  // namespace qw
