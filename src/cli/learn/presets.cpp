#include <fmt/format.h>

#include <memory>

#include "cli/learn/commands.h"
#include "cli/learn/options_text.h"
#include "cli/table.h"
#include "qw/study/presets.h"

namespace qw::cli {

void add_presets_command(CLI::App& app, const GlobalOptions& global) {
  auto part = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("presets", "settings that were found by sweeps, for qw train --preset");
  command->add_option("part", *part, "only those whose name has this part: cora, gcn/qw")
      ->type_name("TEXT")
      ->check(not_empty());
  command->callback([part, &global] {
    TextTable table({"preset", "options", "found by"});
    std::vector<Preset> shown;
    for (const Preset& preset : presets()) {
      if (preset.name.find(*part) == std::string::npos) continue;
      table.add({preset.name, options_text(preset.options), preset.found_by});
      shown.push_back(preset);
    }
    if (global.json) return print_json(to_json(shown));
    print_text(table.text());
  });
}

}  // namespace qw::cli
