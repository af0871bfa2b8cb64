#include "core/field_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::string range_text(const Range& range) {
  if (std::isinf(range.lowest) && std::isinf(range.highest)) return "";
  if (std::isinf(range.highest)) return fmt::format(" of at least {}", range.lowest);
  if (std::isinf(range.lowest)) return fmt::format(" of at most {}", range.highest);
  return fmt::format(" from {} to {}", range.lowest, range.highest);
}

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;  // clang 14 does not deduce aggregates

}  // namespace

void Field::set(std::string_view text, std::string_view context, std::string_view option) const {
  const auto refuse = [&](const std::string& expected) {
    fail_usage(fmt::format("{}: {} {} is not {}", context, option, in_quotes(text), expected));
  };
  const auto in_range = [&](double value) { return value >= range.lowest && value <= range.highest; };
  std::visit(
      Overloaded{[&](bool* value) {
                   const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
                   const bool no = text == "false" || text == "0" || text == "no" || text == "off";
                   if (!yes && !no) refuse("true or false");
                   *value = yes;
                 },
                 [&](int64_t* value) {
                   const auto parsed = parse_integer(text);
                   if (!parsed || !in_range(static_cast<double>(*parsed))) {
                     refuse("a whole number" + range_text(range));
                   }
                   *value = *parsed;
                 },
                 [&](double* value) {
                   const auto parsed = parse_number(text);
                   if (!parsed || std::isnan(*parsed) || !in_range(*parsed)) {
                     refuse("a number" + range_text(range));
                   }
                   *value = *parsed;
                 },
                 [&](std::string* value) {
                   const bool known =
                       choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
                   if (!known)
                     fail_usage(fmt::format("{}: {} {}", context, option, unknown_name(text, choices)));
                   *value = std::string(text);
                 },
                 [&](std::vector<std::string>* value) {
                   value->clear();
                   for (const std::string& part : split(text, ',')) value->emplace_back(trim(part));
                 }},
      target);
}

std::string Field::text() const {
  return std::visit(Overloaded{[](const bool* value) { return std::string(*value ? "true" : "false"); },
                               [](const int64_t* value) { return fmt::format("{}", *value); },
                               [](const double* value) { return fmt::format("{}", *value); },
                               [](const std::string* value) { return *value; },
                               [](const std::vector<std::string>* value) { return join(*value, ","); }},
                    target);
}

std::string Field::kind() const {
  if (!value_name.empty()) return value_name;
  if (!choices.empty()) return join(choices, "|");
  constexpr const char* kNames[] = {"", "INT", "NUMBER", "TEXT", "LIST"};
  return kNames[target.index()];
}

void FieldTable::add(std::string name, bool& value, std::string help) {
  fields_.push_back({std::move(name), &value, {}, {}, std::move(help), {}});
}

void FieldTable::add(std::string name, int64_t& value, Range range, std::string help) {
  fields_.push_back({std::move(name), &value, range, {}, std::move(help), {}});
}

void FieldTable::add(std::string name, double& value, Range range, std::string help) {
  fields_.push_back({std::move(name), &value, range, {}, std::move(help), {}});
}

void FieldTable::add(std::string name, std::string& value, std::string value_name, std::string help) {
  fields_.push_back({std::move(name), &value, {}, {}, std::move(help), std::move(value_name)});
}

void FieldTable::add_choice(std::string name, std::string& value, std::vector<std::string> choices,
                            std::string help) {
  fields_.push_back({std::move(name), &value, {}, std::move(choices), std::move(help), {}});
}

void FieldTable::add(std::string name, std::vector<std::string>& value, std::string value_name,
                     std::string help) {
  fields_.push_back({std::move(name), &value, {}, {}, std::move(help), std::move(value_name)});
}

const Field& FieldTable::find(std::string_view name) const {
  std::vector<std::string> known;
  for (const Field& field : fields_) {
    if (field.name == name) return field;
    known.push_back(field.name);
  }
  fail_usage(fmt::format("{}: {}", context_, unknown_name(name, known)));
}

void FieldTable::parse_spec(std::string_view spec) const {
  for (const std::string& part : split(spec, ',')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const Field& field = find(name);
    if (equals == std::string::npos && !field.is_flag()) {
      fail_usage(fmt::format("{}: '{}' needs a value: {}={}", context_, name, name, field.kind()));
    }
    field.set(equals == std::string::npos ? "true" : std::string_view(part).substr(equals + 1), context_,
              name);
  }
}

void FieldTable::from_json(const nlohmann::ordered_json& object) const {
  if (!object.is_object()) fail_usage(fmt::format("{}: expected a JSON object", context_));
  for (const auto& [name, value] : object.items()) {
    const Field& field = find(name);
    if (auto* list = std::get_if<std::vector<std::string>*>(&field.target);
        list != nullptr && value.is_array()) {
      (*list)->clear();
      for (const auto& item : value) {
        if (!item.is_string()) fail_usage(fmt::format("{}: {} is not a list of texts", context_, name));
        (*list)->push_back(item.get<std::string>());
      }
      continue;
    }
    if (value.is_structured() || value.is_null()) {
      fail_usage(fmt::format("{}: {} {} is not a single value", context_, name, in_quotes(json_text(value))));
    }
    const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
    field.set(text, context_, name);
  }
}

std::string FieldTable::to_spec() const {
  std::vector<std::string> parts;
  for (const Field& field : fields_) parts.push_back(field.name + "=" + field.text());
  return join(parts, ",");
}

nlohmann::ordered_json FieldTable::to_json() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Field& field : fields_) {
    std::visit([&](const auto* value) { json[field.name] = *value; }, field.target);
  }
  return json;
}

}  // namespace qw
