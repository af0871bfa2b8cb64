#include "cli/command.h"

namespace qw::cli {

void add_plain_commands(CLI::App& app, const GlobalOptions& global) {
  add_data_command(app, global);
  add_w1_command(app, global);
  add_compare_command(app, global);
  add_plot_command(app, global);
}

}  // namespace qw::cli
