#include "cli/command.h"

namespace qw::cli {

void add_data_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App* data = app.add_subcommand("data", "list, fetch, inspect, convert, split and cut graphs");
  data->require_subcommand(1);
  data->fallthrough();
  add_data_list(*data, global);
  add_data_get(*data, global);
  add_data_info(*data, global);
  add_data_convert(*data, global);
  add_data_split(*data, global);
  add_data_partition(*data, global);
}

}  // namespace qw::cli
