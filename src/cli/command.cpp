#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/text.h"
#include "data/load_fields.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

std::string option_name(const Field& field) {
  std::string name = "--" + field.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_list(const Field& field) { return std::holds_alternative<std::vector<std::string>*>(field.target); }

void write_all(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail("cannot write to standard output: " + reason_of(errno));
  }
}

}  // namespace

void add_options(CLI::App& app, const FieldTable& table) {
  for (const Field& field : table.fields()) {
    const std::string option = option_name(field);
    const bool may_be_empty = is_list(field) && !field.text().empty();  // no item is not the same as left out
    const auto set = [field, context = table.context(), option, may_be_empty](const std::string& text) {
      if (text.empty() && !may_be_empty) fail_usage(fmt::format("{}: {} is empty", context, option));
      field.set(text, context, option);
    };
    CLI::Option* added = nullptr;
    if (is_list(field)) {  // --drop a --drop b is --drop a,b
      added = app.add_option_function<std::vector<std::string>>(
          option, [set](const std::vector<std::string>& texts) { set(join(texts, ",")); }, field.help);
      added->allow_extra_args(false);
    } else {
      added = app.add_option_function<std::string>(option, set, field.help)->take_last();
    }
    added->type_name(field.kind());
    if (field.is_flag()) {
      added->expected(0);  // --flag is --flag=true
    } else if (!field.text().empty()) {
      added->default_str(field.text());
    }
  }
}

CLI::Validator not_empty() {
  return {[](const std::string& value) { return std::string(value.empty() ? "is empty" : ""); }, ""};
}

void add_data_options(CLI::App& app, DataArguments& arguments) {
  app.add_option(
         "data,--data", arguments.what,
         "a data set (see qw data list), a file or folder, or a generator such as csbm:nodes=3000,degree=10")
      ->type_name("DATA")
      ->check(not_empty());
  add_options(app, load_fields(arguments.load, "qw"));
}

Dataset load(const DataArguments& arguments) {
  Dataset dataset = load_dataset(arguments.what, arguments.load);
  for (const std::string& note : dataset.notes) say(fmt::format("{}: {}", dataset.name, note));
  return dataset;
}

void refuse_two_splits(const std::string& command, const LoadOptions& load, const std::string& split) {
  if (split == "auto" || split.starts_with("stored")) return;
  for (const auto& [option, value] :
       {std::pair{"--split-file", &load.split_file}, std::pair{"--split-column", &load.split_column}}) {
    if (value->empty()) continue;
    fail_usage(
        fmt::format("{}: {} says who trains: leave --split out, or give --split stored", command, option));
  }
}

void say(const std::string& line) {
  if (!quiet()) fmt::print(stderr, "{}\n", line);
}

void print_json(const nlohmann::ordered_json& document) { write_all(json_text(document, 2) + "\n"); }

std::string json_line(const nlohmann::ordered_json& document) { return json_text(document) + "\n"; }

void print_text(const std::string& text) { write_all(text); }

}  // namespace qw::cli
