// What every subcommand shares: how it is registered, its options from field tables, and where its output
// goes.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/field_table.h"
#include "qw/data/load.h"

namespace qw::cli {

// --threads, --json, --quiet: accepted before and after the subcommand.
struct GlobalOptions {
  int64_t threads = 0;  // 0: all cores
  bool json = false;
  bool quiet = false;
};

// Registers the options of `table`, whose struct must outlive `app`. Flags for bools, of which
// "--full-flow=false" takes back what a preset says, "--edge-cost COL" for others; defaults and errors come
// from the table.
void add_options(CLI::App& app, const FieldTable& table);

// For arguments that no table describes, whose empty values are usage errors too: ->check(not_empty()).
CLI::Validator not_empty();

// The data to work on, as every command takes it: --data X or the first argument, and the options of a
// person's own CSV.
struct DataArguments {
  std::string what;
  LoadOptions load;
};
void add_data_options(CLI::App& app, DataArguments& arguments);
Dataset load(const DataArguments& arguments);
// Parts that a file or a column names, and a --split that draws others, are a usage error of `command`.
void refuse_two_splits(const std::string& command, const LoadOptions& load, const std::string& split);

// A remark for a person, on stderr, unless --quiet.
void say(const std::string& line);

// Results: one JSON document (--json) or text, on stdout.
void print_json(const nlohmann::ordered_json& document);
// One line of JSON; bytes that are no UTF-8 become U+FFFD.
std::string json_line(const nlohmann::ordered_json& document);
void print_text(const std::string& text);

// One function per subcommand, each in its own file: adds it to `app`; its callback does the work.
void add_data_command(CLI::App& app, const GlobalOptions& global);
void add_data_list(CLI::App& data, const GlobalOptions& global);
void add_data_get(CLI::App& data, const GlobalOptions& global);
void add_data_info(CLI::App& data, const GlobalOptions& global);
void add_data_convert(CLI::App& data, const GlobalOptions& global);
void add_data_split(CLI::App& data, const GlobalOptions& global);
void add_data_partition(CLI::App& data, const GlobalOptions& global);
void add_w1_command(CLI::App& app, const GlobalOptions& global);
void add_compare_command(CLI::App& app, const GlobalOptions& global);
void add_plot_command(CLI::App& app, const GlobalOptions& global);
void add_plain_commands(CLI::App& app, const GlobalOptions& global);  // these four

}  // namespace qw::cli
