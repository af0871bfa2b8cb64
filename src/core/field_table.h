// Options are data: one table per options struct gives the parser, the help, the documentation, the JSON and
// the error texts. A default stands once, as the initial value of the field.
//
//   FieldTable fields(CsbmOptions& o) {
//     FieldTable table("csbm");
//     table.add("nodes", o.nodes, {1, 1e9}, "number of nodes");
//     ...
//   }
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qw {

struct Range {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

struct Field {
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*>;

  std::string name;  // words joined by '_', as in C++ and JSON; '-' on the command line
  Target target;
  Range range;
  std::vector<std::string> choices;  // of a string; empty: any
  std::string help;
  std::string value_name;  // shown after the option in help; empty: by type

  // Parses and stores; throws qw::UsageError "CONTEXT: OPTION 'text' is not ...".
  void set(std::string_view text, std::string_view context, std::string_view option) const;
  std::string text() const;  // the value now, as it would be written
  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  std::string kind() const;  // "INT", "NUMBER", "TEXT", "LIST", or value_name
};

class FieldTable {
 public:
  // `context` opens error texts: "csbm", "qw data split".
  explicit FieldTable(std::string context) : context_(std::move(context)) {}

  void add(std::string name, bool& value, std::string help);
  void add(std::string name, int64_t& value, Range range, std::string help);
  void add(std::string name, double& value, Range range, std::string help);
  void add(std::string name, std::string& value, std::string value_name, std::string help);
  void add_choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help);
  void add(std::string name, std::vector<std::string>& value, std::string value_name, std::string help);

  void add(Field field) { fields_.push_back(std::move(field)); }  // of another table

  const std::vector<Field>& fields() const { return fields_; }
  const std::string& context() const { return context_; }

  // "nodes=3000,degree=10": sets fields by name; throws qw::UsageError on an unknown name, listing the known
  // ones.
  void parse_spec(std::string_view spec) const;

  std::string to_spec() const;  // what parse_spec would read back
  nlohmann::ordered_json to_json() const;
  // Sets the fields that the object names; throws qw::UsageError as parse_spec does.
  void from_json(const nlohmann::ordered_json& object) const;

 private:
  const Field& find(std::string_view name) const;

  std::string context_;
  std::vector<Field> fields_;
};

}  // namespace qw
