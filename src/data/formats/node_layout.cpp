#include "data/formats/node_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "qw/core/error.h"

namespace qw {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "a,b,c" names three columns, unless it is the name of one.
std::vector<std::string> target_names(const CsvHeader& header, const std::string& option) {
  if (option.empty() || contains(header.names, option))
    return option.empty() ? std::vector<std::string>{} : std::vector{option};
  std::vector<std::string> names;
  for (const std::string& part : split(option, ',')) names.emplace_back(trim(part));
  return names;
}

}  // namespace

NodeLayout::NodeLayout(CsvHeader names, const LoadOptions& options) : header(std::move(names)) {
  asked_for.assign(header.names.size(), false);
  dropped.assign(header.names.size(), false);
  for (const std::string& name : options.features) asked_for[header.column(name, "--features")] = true;
  for (const std::string& name : options.drop) dropped[header.column(name, "--drop")] = true;
  take_special_columns(options);
  for (size_t column = 0; column < header.names.size(); ++column) {
    if (asked_for[column] && dropped[column]) {
      fail_usage(fmt::format("{}: column {} stands in --features and in --drop", header.label,
                             in_quotes(header.names[column])));
    }
    const bool special = column == id || column == split || is_target(column);
    const bool wanted = options.features.empty() ? !dropped[column] : asked_for[column];
    if (wanted && !special) features.push_back(column);
  }
}

bool NodeLayout::is_target(size_t column) const {
  return std::find(targets.begin(), targets.end(), column) != targets.end();
}

void NodeLayout::take_special_columns(const LoadOptions& options) {
  std::vector<const char*> taken_by(header.names.size(), nullptr);
  const auto take = [&](const std::string& name, const char* option) {
    const size_t column = header.column(name, option);
    const char* other = taken_by[column] != nullptr ? taken_by[column]
                        : asked_for[column]         ? "--features"
                        : dropped[column]           ? "--drop"
                                                    : nullptr;
    if (other != nullptr) {
      fail_usage(fmt::format("{}: column {} stands in {} and in {}", header.label, in_quotes(name), other,
                             other == option ? "it again" : option));
    }
    taken_by[column] = option;
    return column;
  };
  if (!options.id.empty()) id = take(options.id, "--id");
  for (const std::string& name : target_names(header, options.target))
    targets.push_back(take(name, "--target"));
  if (!options.split_column.empty()) split = take(options.split_column, "--split-column");
}

void fail_on_row_length(const NodeLayout& layout, size_t found, int64_t line) {
  fail_at_line(layout.header.label, line,
               fmt::format("{} fields, expected {} as in the header", found, layout.header.names.size()));
}

}  // namespace qw
