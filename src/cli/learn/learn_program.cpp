#include "cli/learn/learn_program.h"

#include <c10/util/Exception.h>
#include <malloc.h>

#include "cli/learn/commands.h"
#include "qw/core/error.h"

namespace qw::cli {

void add_learn_commands(CLI::App& app, const GlobalOptions& global) {
  add_fit_command(app, global);
  add_train_command(app, global);
  add_predict_command(app, global);
  add_eval_command(app, global);
  add_explain_command(app, global);
  add_report_command(app, global);
  add_bench_command(app, global);
  add_presets_command(app, global);
#if QW_SWEEP
  add_sweep_command(app, global);
  add_reproduce_command(app, global);
#else
  for (const char* name : {"sweep", "reproduce"}) {
    app.add_subcommand(name, "not in this build")->fallthrough(false)->allow_extras()->callback([name] {
      fail(std::string("qw ") + name + ": this qw was built without it (-DQW_SWEEP=OFF)");
    });
  }
#endif
}

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
}

std::string without_backtrace(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch == nullptr ? error.what() : of_torch->what_without_backtrace();
}

}  // namespace qw::cli
